// Stacks by number, each kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etwpipe::facts {

/// The number of a stack in its pool.
using StackId = uint32_t;
constexpr StackId kNoStack = 0xFFFFFFFF;

/// All frames in one array. Bounded: a hostile file cannot make it grow past `max_frames` (8 bytes each).
class StackPool {
 public:
  explicit StackPool(size_t max_frames = size_t{1} << 26) : max_frames_(max_frames) {}

  /// The number of a stack, leaf first; kNoStack when the pool is full.
  StackId Intern(std::span<const uint64_t> frames);
  /// Valid until the next Intern().
  std::span<const uint64_t> frames(StackId id) const {
    return std::span(frames_).subspan(begins_[id], begins_[id + 1] - begins_[id]);
  }
  size_t stacks() const { return begins_.size() - 1; }
  size_t total_frames() const { return frames_.size(); }
  /// Frees what only Intern() needs; the pool takes no more stacks.
  void Freeze();

 private:
  void Grow();

  size_t max_frames_;
  std::vector<uint64_t> frames_;
  std::vector<uint64_t> begins_ = {0};  // where each stack begins, and the end
  std::vector<StackId> slots_;          // open addressing, a power of two, at most half full
};

}  // namespace etwpipe::facts

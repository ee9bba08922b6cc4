// Texts that many records share, kept once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace etwpipe::facts {

/// Number of a text in a StringPool; 0 is the empty text.
using StringId = uint32_t;

/// Intern() from one thread; Get() from any thread once nothing is added any more. Views live as long as the pool,
/// which does not move its characters.
class StringPool {
 public:
  /// A bound for hostile files: texts beyond it become the empty text, and are counted.
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

  explicit StringPool(uint64_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) { views_.emplace_back(); }

  /// The number of `text`, the same for equal texts.
  StringId Intern(std::string_view text);
  std::string_view Get(StringId id) const { return views_[id]; }

  /// How often a text found no room.
  uint64_t refused() const { return refused_; }

  /// Drops what only Intern() needs; nothing may be added afterwards.
  void Freeze();
  /// Bytes of memory in use.
  uint64_t memory() const;

 private:
  std::string_view Copy(std::string_view text);
  void Grow();

  static constexpr size_t kChunkBytes = 256 * 1024;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;  // place in the newest chunk of the usual size
  size_t free_bytes_ = 0;
  uint64_t max_bytes_;
  uint64_t bytes_ = 0;  // of all chunks
  uint64_t refused_ = 0;
  std::vector<std::string_view> views_;
  std::vector<StringId> slots_;  // open addressing, a power of two; 0 is free
};

}  // namespace etwpipe::facts

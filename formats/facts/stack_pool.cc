#include "formats/facts/stack_pool.h"

#include <algorithm>

namespace etwpipe::facts {
namespace {

// Bytes that a stack takes beside its frames count as frames too, so that many short stacks are bounded.
constexpr size_t kStackCost = 2;

size_t HashOf(std::span<const uint64_t> frames) {
  uint64_t hash = frames.size();
  for (const uint64_t frame : frames) {
    hash = (hash ^ frame) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

}  // namespace

StackId StackPool::Intern(std::span<const uint64_t> frames) {
  if (slots_.size() < 2 * (stacks() + 1)) Grow();
  const size_t mask = slots_.size() - 1;
  size_t at = HashOf(frames) & mask;
  for (; slots_[at] != kNoStack; at = (at + 1) & mask) {
    const auto known = this->frames(slots_[at]);
    if (std::equal(known.begin(), known.end(), frames.begin(), frames.end())) return slots_[at];
  }
  if (frames_.size() + frames.size() + kStackCost * (stacks() + 1) > max_frames_) return kNoStack;
  const auto id = static_cast<StackId>(stacks());
  slots_[at] = id;
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  begins_.push_back(frames_.size());
  return id;
}

void StackPool::Grow() {
  slots_.assign(std::max<size_t>(1024, slots_.size() * 2), kNoStack);
  const size_t mask = slots_.size() - 1;
  for (StackId id = 0; id < stacks(); ++id) {
    size_t at = HashOf(frames(id)) & mask;
    while (slots_[at] != kNoStack) at = (at + 1) & mask;
    slots_[at] = id;
  }
}

void StackPool::Freeze() {
  max_frames_ = 0;
  slots_ = {};
  frames_.shrink_to_fit();
  begins_.shrink_to_fit();
}

}  // namespace etwpipe::facts

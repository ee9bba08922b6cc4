#include "formats/facts/sorted_keys.h"

#include <algorithm>
#include <bit>

namespace etwpipe::facts {

SortedKeys::SortedKeys(std::span<const uint64_t> ascending) {
  constexpr uint64_t kGap = 1 << 20;  // bytes; heaps and images are seldom nearer to each other
  const auto count = static_cast<uint32_t>(ascending.size());
  std::vector<uint32_t> begins;
  for (uint32_t i = 0; i < count; ++i) {
    if (i == 0 || ascending[i] - ascending[i - 1] >= kGap) begins.push_back(i);
  }
  if (begins.empty()) return;
  keys_.reserve(count + kFew);
  keys_.assign(ascending.begin(), ascending.end());
  keys_.resize(count + kFew, ~uint64_t{0});
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto end = i + 1 < begins.size() ? begins[i + 1] : count;
    segments_.push_back(MakeSegment(keys_, begins[i], end));
    lows_.push_back(keys_[begins[i]]);
  }
  top_ = MakeSegment(lows_, 0, static_cast<uint32_t>(lows_.size()));
  lows_.resize(lows_.size() + kFew, ~uint64_t{0});
  buckets_.shrink_to_fit();
  segments_.shrink_to_fit();
  lows_.shrink_to_fit();
}

SortedKeys::Segment SortedKeys::MakeSegment(const std::vector<uint64_t>& numbers, uint32_t begin, uint32_t end) {
  Segment segment;
  segment.low = numbers[begin];
  segment.end = end;
  segment.first_bucket = static_cast<uint32_t>(buckets_.size());
  const uint64_t width = numbers[end - 1] - segment.low;
  const auto width_bits = static_cast<int>(std::bit_width(width));
  segment.shift = static_cast<uint32_t>(std::max(0, width_bits - static_cast<int>(std::bit_width(end - begin))));
  segment.buckets = static_cast<uint32_t>(width >> segment.shift) + 1;
  uint32_t index = begin;
  for (uint64_t bucket = 0; bucket <= segment.buckets; ++bucket) {
    while (index < end && (numbers[index] - segment.low) >> segment.shift < bucket) ++index;
    buckets_.push_back(index);
  }
  return segment;
}

}  // namespace etwpipe::facts

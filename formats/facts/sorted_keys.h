// A search over ascending addresses that never change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace etwpipe::facts {

/// Code stands in heaps and images with wide gaps between them, evenly inside. So the addresses are cut at the gaps
/// into segments, and the range of a segment into about as many equal buckets as it has addresses: a table leads to the
/// first address of a bucket, and a binary search goes through the bucket. The segment itself is found in the same way.
/// Where addresses do not stand evenly an answer takes the steps of a binary search, never more.
class SortedKeys {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  SortedKeys() = default;
  explicit SortedKeys(std::span<const uint64_t> ascending);

  /// The index of the last one that is at most `key`; kNone if there is none. `near(i)` is called with an index just
  /// below the answer, where they stand evenly, before they are read.
  template <typename Near>
  uint32_t LastAtMost(uint64_t key, const Near& near) const {
    if (segments_.empty() || key < lows_.front()) return kNone;
    const uint32_t segment = Search(top_, lows_, key, [](uint32_t) {});
    return Search(segments_[segment], keys_, key, near);
  }

  uint64_t memory() const {
    return keys_.capacity() * sizeof(keys_[0]) + buckets_.capacity() * sizeof(buckets_[0]) +
           segments_.capacity() * (sizeof(segments_[0]) + sizeof(lows_[0]));
  }

 private:
  // Some numbers that follow each other, and where their buckets are.
  struct Segment {
    uint64_t low = 0;           // the first of them
    uint32_t end = 0;           // index behind the last
    uint32_t first_bucket = 0;  // in buckets_
    uint32_t buckets = 0;       // and one more entry: the end
    uint32_t shift = 0;
  };

  static constexpr uint32_t kFew = 4;  // numbers a search looks at in the end, also behind the last

  Segment MakeSegment(const std::vector<uint64_t>& numbers, uint32_t begin, uint32_t end);

  template <typename Near>
  uint32_t Search(const Segment& segment, const std::vector<uint64_t>& numbers, uint64_t key, const Near& near) const {
    const uint64_t bucket = (key - segment.low) >> segment.shift;
    if (bucket >= segment.buckets) return segment.end - 1;
    const uint32_t* table = buckets_.data() + segment.first_bucket + bucket;
    uint32_t begin = table[0];
    near(begin);
    uint32_t left = table[1] - begin;
    while (left > kFew) {
      const uint32_t half = left / 2;
      if (numbers[begin + half] <= key) {
        begin += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    // Without jumps: a wrong guess behind a cache miss would cost more than all of this. What stands behind the bucket
    // is greater than `key`; only the fill at the end may equal it.
    const uint64_t* few = numbers.data() + begin;
    const auto is_at_most = [&](uint32_t i) { return uint32_t{few[i] <= key}; };
    const uint32_t at_most = is_at_most(0) + is_at_most(1) + is_at_most(2) + is_at_most(3);
    return std::min(begin + at_most, segment.end) - 1;
  }

  std::vector<uint64_t> keys_;     // kFew more than there are, as lows_
  std::vector<uint32_t> buckets_;  // index of the first number of each bucket
  std::vector<Segment> segments_;  // of keys_
  std::vector<uint64_t> lows_;     // the first key of each segment
  Segment top_;                    // of lows_
};

}  // namespace etwpipe::facts

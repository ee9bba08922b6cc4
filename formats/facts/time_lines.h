// Which of several things is to be taken at a time: lives on a time line, cut so that one search answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/facts/lookup_outcome.h"

namespace etwpipe::facts {

/// Many time lines in few arrays. Each is made of lives and then never changes. An answer takes one binary search,
/// however many lives overlap.
class TimeLines {
 public:
  /// [from, to], both inclusive, raw ticks: the record that ends a life is part of it.
  struct Life {
    int64_t from = 0;
    int64_t to = 0;
    uint32_t item = 0;      ///< what lives
    uint64_t identity = 0;  ///< lives of equal identity are the same to whoever asks
  };
  /// A time line; one of a single life takes no room.
  using Line = uint32_t;

  struct Pick {
    uint32_t item = 0;
    LookupOutcome outcome = LookupOutcome::kUnknown;
  };

  /// Takes at least one life; reorders them. Items are below 2^31.
  Line Add(std::span<Life> lives);

  /// What is alive at `time`: of several the one that began last, then the one of the highest number; kAmbiguous if
  /// they differ in identity. Otherwise the one that begins next, otherwise the one that ended last. `life_of(item)`
  /// has members from and to.
  template <typename LifeOf>
  Pick Find(Line line, int64_t time, const LifeOf& life_of) const {
    if ((line & kMany) == 0) return Judge(line, false, time, life_of);
    const auto [first, count] = lines_[line & ~kMany];
    const Moment* begin = moments_.data() + first;
    const Moment* end = begin + count;
    const Moment* after = begin;
    for (size_t left = count; left != 0;) {
      const size_t half = left / 2;
      if (after[half].from <= time) {
        after += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    if (after == begin) return {begin->item, LookupOutcome::kBackfilled};
    const Moment& now = after[-1];
    const Pick pick = Judge(now.item, now.ambiguous, time, life_of);
    if (pick.outcome != LookupOutcome::kStale || after == end) return pick;
    return {after->item, LookupOutcome::kBackfilled};
  }

  uint64_t memory() const { return moments_.capacity() * sizeof(moments_[0]) + lines_.capacity() * sizeof(lines_[0]); }

 private:
  void Sweep(std::span<const Life> lives);

  static constexpr Line kMany = 0x80000000;
  // From here on `item` is the one to take, up to the next moment or its own end.
  struct Moment {
    int64_t from = 0;
    uint32_t item = 0;
    bool ambiguous = false;
  };
  struct Range {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  template <typename LifeOf>
  static Pick Judge(uint32_t item, bool ambiguous, int64_t time, const LifeOf& life_of) {
    const auto& life = life_of(item);
    if (time < life.from) return {item, LookupOutcome::kBackfilled};
    if (time > life.to) return {item, LookupOutcome::kStale};
    return {item, ambiguous ? LookupOutcome::kAmbiguous : LookupOutcome::kExact};
  }

  std::vector<Moment> moments_;
  std::vector<Range> lines_;
};

}  // namespace etwpipe::facts

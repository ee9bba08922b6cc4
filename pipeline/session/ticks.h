// Ticks of a session clock as nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "pipeline/clock.h"

namespace etwpipe::session {

/// Nanoseconds of `ticks`, cut towards zero: ticks / f * 1e9 + ticks % f * 1e9 / f (semantics.md 1.2), with products of
/// 128 bits, so that any frequency works. What exceeds 64 bits is clamped; 0 for a frequency that is not positive.
constexpr int64_t TicksToNanoseconds(int64_t ticks, int64_t frequency) {
  constexpr int64_t kPerSecond = 1'000'000'000;
  if (frequency <= 0) return 0;
  const Int128 whole = Int128{ticks / frequency} * kPerSecond + Int128{ticks % frequency} * kPerSecond / frequency;
  if (whole > std::numeric_limits<int64_t>::max()) return std::numeric_limits<int64_t>::max();
  if (whole < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(whole);
}

/// The same as a duration.
constexpr std::chrono::nanoseconds TicksToDuration(int64_t ticks, int64_t frequency) {
  return std::chrono::nanoseconds(TicksToNanoseconds(ticks, frequency));
}

/// later - earlier; 0 where that is negative, clamped where it exceeds 64 bits.
constexpr int64_t TickDifference(int64_t later, int64_t earlier) {
  if (later <= earlier) return 0;
  const Int128 difference = Int128{later} - earlier;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return difference > kMax ? kMax : static_cast<int64_t>(difference);
}

}  // namespace etwpipe::session

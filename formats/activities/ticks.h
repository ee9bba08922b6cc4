// Fractions of ticks, exactly.
#pragma once

#include <cstdint>

namespace etwpipe::activities {

/// A number of ticks with 64 binary digits behind the point (semantics.md 2.3: int64 whole, uint64 fraction).
struct FixedTicks {
  int64_t whole = 0;
  uint64_t fraction = 0;

  friend bool operator==(const FixedTicks&, const FixedTicks&) = default;

  FixedTicks& operator+=(const FixedTicks& other) {
    const uint64_t sum = fraction + other.fraction;
    whole += other.whole + (sum < fraction ? 1 : 0);
    fraction = sum;
    return *this;
  }
  FixedTicks& operator-=(const FixedTicks& other) {
    whole -= other.whole + (fraction < other.fraction ? 1 : 0);
    fraction -= other.fraction;
    return *this;
  }
  friend FixedTicks operator+(FixedTicks left, const FixedTicks& right) { return left += right; }
  friend FixedTicks operator-(FixedTicks left, const FixedTicks& right) { return left -= right; }
};

/// `ticks` / `parts`, cut off behind the 64th digit. `parts` is not 0; a negative number is not expected.
inline FixedTicks Divide(FixedTicks ticks, uint32_t parts) {
  const uint64_t whole = static_cast<uint64_t>(ticks.whole);
  const uint64_t rest = whole % parts;
  // Two steps of 32 digits each: no intermediate value has more than 64.
  const uint64_t high = rest << 32 | ticks.fraction >> 32;
  const uint64_t low = high % parts << 32 | (ticks.fraction & 0xFFFFFFFF);
  return {static_cast<int64_t>(whole / parts), (high / parts) << 32 | low / parts};
}

}  // namespace etwpipe::activities

// A range of time as people write it: FROM..TO.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "pipeline/clock.h"
#include "pipeline/status.h"

namespace etwpipe {

/// One end of a range.
struct TimeBound {
  enum class Unit : uint8_t {
    kNanoseconds,  ///< since StartTime
    kFileTime,     ///< 100 ns since 1601 UTC
    kTicks,        ///< raw ticks of the session clock
  };
  Unit unit = Unit::kNanoseconds;
  int64_t value = 0;

  /// The first tick at or after the bound.
  int64_t FirstTick(const Clock& clock) const;
};

/// Ticks that lie in a range, both ends included; first > last when none does.
struct TickRange {
  int64_t first = std::numeric_limits<int64_t>::min();
  int64_t last = std::numeric_limits<int64_t>::max();

  bool Contains(int64_t tick) const { return tick >= first && tick <= last; }
};

/// `from` included, `to` excluded; an end that is missing is open.
struct TimeRange {
  std::optional<TimeBound> from;
  std::optional<TimeBound> to;

  /// Reads `FROM..TO`, `FROM..` or `..TO`. Each end is one of: seconds since StartTime (10, 1.5, -2), a duration since
  /// StartTime (10s, 1.5s, 250ms, 3us, 10ns, with - before StartTime), an ISO time (2020-07-29T00:07:00.5Z, UTC without
  /// a zone), raw ticks (ticks:1942608875). An error says what was found and what is allowed.
  static Result<TimeRange> Parse(std::string_view text);

  /// The ticks of the range; an error when it ends before it begins.
  Result<TickRange> Resolve(const Clock& clock) const;
};

}  // namespace etwpipe

// Raw ticks of a session to UTC, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etwpipe {

/// Wide enough for products of two 64-bit numbers.
__extension__ using Int128 = __int128;

/// The clock of a session (etl-format.md section 3).
enum class ClockType : uint8_t {
  kQpc = 1,         ///< performance counter
  kSystemTime = 2,  ///< FILETIME, 100 ns since 1601-01-01 UTC
  kCycles = 3,      ///< CPU cycle counter
};

/// "qpc", "system" or "cycles".
std::string_view ToString(ClockType type);

/// Converts between raw ticks and FILETIME (100 ns since 1601). Exact integer arithmetic with 128-bit products:
/// every 64-bit tick works at any frequency. Results outside 64 bits are clamped.
struct Clock {
  ClockType type = ClockType::kQpc;
  int64_t frequency = 10'000'000;  ///< ticks per second; positive
  int64_t base_ticks = 0;          ///< timestamp of the header record
  int64_t start_time = 0;          ///< FILETIME at base_ticks

  /// FILETIME of a raw timestamp, rounded down. Source: etl-format.md section 3.
  int64_t ToFileTime(int64_t ticks) const;
  /// Nanoseconds from StartTime, rounded down; negative before it.
  int64_t ToNanoseconds(int64_t ticks) const;
  /// The first raw timestamp at or after `nanoseconds` from StartTime.
  int64_t FromNanoseconds(int64_t nanoseconds) const;
  /// The first raw timestamp at or after that FILETIME.
  int64_t FromFileTime(int64_t filetime) const;
  /// The first timestamp at or after `nanoseconds` past 1601-01-01 UTC (128 bits: such counts exceed 64).
  int64_t FromAbsoluteNanoseconds(Int128 nanoseconds) const;
};

/// ISO 8601 UTC with 7 fractional digits: 2020-07-29T00:07:00.6236167Z. Negative or absurd values are clamped to years
/// 1601..9999. `bias_minutes` (UTC = local + bias) shifts to local time and writes its offset instead of Z.
std::string FormatFileTime(int64_t filetime, std::optional<int32_t> bias_minutes = std::nullopt);

/// Reads what FormatFileTime writes; also with fewer or no fractional digits (at most 9 are read, beyond 100 ns cut
/// off), a blank instead of T, and without the time. Z or no zone is UTC; +hh:mm is honoured. nullopt if it is no time.
std::optional<int64_t> ParseFileTime(std::string_view text);

}  // namespace etwpipe

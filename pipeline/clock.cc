#include "pipeline/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace etwpipe {
namespace {

constexpr int64_t kFileTimePerSecond = 10'000'000;
constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kSecondsPerDay = 86'400;
// Days from 1601-01-01 to 1970-01-01, the epoch of the civil-date formulas below.
constexpr int64_t kDaysToUnixEpoch = 134'774;
constexpr int64_t kMaxFileTime = 2'650'467'743'999'999'999;  // 9999-12-31T23:59:59.9999999Z

Int128 FloorDivide(Int128 value, Int128 divisor) {
  const Int128 quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

Int128 CeilDivide(Int128 value, Int128 divisor) { return -FloorDivide(-value, divisor); }

int64_t Clamp(Int128 value) {
  constexpr Int128 kLowest = std::numeric_limits<int64_t>::min();
  constexpr Int128 kHighest = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(value, kLowest, kHighest));
}

struct CivilDate {
  int64_t year;
  unsigned month;
  unsigned day;
};

// Proleptic Gregorian calendar with years starting in March, so that the leap day is the last of its year.
CivilDate CivilFromDays(int64_t days_since_1970) {
  const int64_t z = days_since_1970 + 719'468;
  const int64_t era = (z >= 0 ? z : z - 146'096) / 146'097;
  const auto day_of_era = static_cast<unsigned>(z - era * 146'097);
  const unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned shifted_month = (5 * day_of_year + 2) / 153;
  const unsigned day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  const unsigned month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  return {static_cast<int64_t>(year_of_era) + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

int64_t DaysFromCivil(int64_t year, unsigned month, unsigned day) {
  year -= month <= 2 ? 1 : 0;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto year_of_era = static_cast<unsigned>(year - era * 400);
  const unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + static_cast<int64_t>(day_of_era) - 719'468;
}

// Exactly `digits` decimal digits off the front of `text`.
std::optional<unsigned> TakeNumber(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  unsigned value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool TakeChar(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool IsLeap(unsigned year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

unsigned DaysInMonth(unsigned year, unsigned month) {
  static constexpr unsigned kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeap(year) ? 29 : kDays[month - 1];
}

}  // namespace

std::string_view ToString(ClockType type) {
  switch (type) {
    case ClockType::kQpc: return "qpc";
    case ClockType::kSystemTime: return "system";
    case ClockType::kCycles: return "cycles";
  }
  return "qpc";
}

int64_t Clock::ToFileTime(int64_t ticks) const {
  if (type == ClockType::kSystemTime) return ticks;
  const Int128 elapsed = static_cast<Int128>(ticks) - base_ticks;
  return Clamp(start_time + FloorDivide(elapsed * kFileTimePerSecond, frequency));
}

int64_t Clock::ToNanoseconds(int64_t ticks) const {
  if (type == ClockType::kSystemTime) return Clamp((static_cast<Int128>(ticks) - start_time) * 100);
  const Int128 elapsed = static_cast<Int128>(ticks) - base_ticks;
  return Clamp(FloorDivide(elapsed * kNanosecondsPerSecond, frequency));
}

int64_t Clock::FromNanoseconds(int64_t nanoseconds) const {
  if (type == ClockType::kSystemTime) return Clamp(start_time + CeilDivide(nanoseconds, 100));
  return Clamp(base_ticks + CeilDivide(static_cast<Int128>(nanoseconds) * frequency, kNanosecondsPerSecond));
}

int64_t Clock::FromFileTime(int64_t filetime) const {
  if (type == ClockType::kSystemTime) return filetime;
  const Int128 elapsed = static_cast<Int128>(filetime) - start_time;
  return Clamp(base_ticks + CeilDivide(elapsed * frequency, kFileTimePerSecond));
}

int64_t Clock::FromAbsoluteNanoseconds(Int128 nanoseconds) const {
  if (type == ClockType::kSystemTime) return Clamp(CeilDivide(nanoseconds, 100));
  const Int128 elapsed = nanoseconds - static_cast<Int128>(start_time) * 100;
  return Clamp(base_ticks + CeilDivide(elapsed * frequency, kNanosecondsPerSecond));
}

std::string FormatFileTime(int64_t filetime, std::optional<int32_t> bias_minutes) {
  const int64_t bias = bias_minutes.value_or(0);
  const Int128 shifted = static_cast<Int128>(filetime) - static_cast<Int128>(bias) * 60 * kFileTimePerSecond;
  const int64_t local = static_cast<int64_t>(std::clamp<Int128>(shifted, 0, kMaxFileTime));
  const int64_t seconds = local / kFileTimePerSecond;
  const int64_t of_day = seconds % kSecondsPerDay;
  const CivilDate date = CivilFromDays(seconds / kSecondsPerDay - kDaysToUnixEpoch);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}", date.year, date.month, date.day,
                                 of_day / 3600, of_day / 60 % 60, of_day % 60, local % kFileTimePerSecond);
  if (!bias_minutes) return text + 'Z';
  const int64_t east = -bias;
  const int64_t magnitude = east < 0 ? -east : east;
  return text + fmt::format("{}{:02}:{:02}", east < 0 ? '-' : '+', magnitude / 60, magnitude % 60);
}

std::optional<int64_t> ParseFileTime(std::string_view text) {
  const auto year = TakeNumber(text, 4);
  if (!year || *year < 1601 || !TakeChar(text, '-')) return std::nullopt;
  const auto month = TakeNumber(text, 2);
  if (!month || *month < 1 || *month > 12 || !TakeChar(text, '-')) return std::nullopt;
  const auto day = TakeNumber(text, 2);
  if (!day || *day < 1 || *day > DaysInMonth(*year, *month)) return std::nullopt;
  int64_t seconds = (DaysFromCivil(*year, *month, *day) + kDaysToUnixEpoch) * kSecondsPerDay;
  if (text.empty()) return seconds * kFileTimePerSecond;
  if (!TakeChar(text, 'T') && !TakeChar(text, ' ')) return std::nullopt;
  const auto hour = TakeNumber(text, 2);
  if (!hour || *hour > 23 || !TakeChar(text, ':')) return std::nullopt;
  const auto minute = TakeNumber(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  seconds += *hour * 3600 + *minute * 60;
  int64_t fraction = 0;
  if (TakeChar(text, ':')) {
    const auto second = TakeNumber(text, 2);
    if (!second || *second > 59) return std::nullopt;
    seconds += *second;
    if (TakeChar(text, '.')) {
      size_t digits = 0;
      for (; digits < 9 && !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits) {
        if (digits < 7) fraction = fraction * 10 + (text.front() - '0');
        text.remove_prefix(1);
      }
      if (digits == 0) return std::nullopt;
      for (; digits < 7; ++digits) fraction *= 10;
    }
  }
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    const int64_t sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
    const auto zone_hours = TakeNumber(text, 2);
    if (!zone_hours || !TakeChar(text, ':')) return std::nullopt;
    const auto zone_minutes = TakeNumber(text, 2);
    if (!zone_minutes || *zone_hours > 14 || *zone_minutes > 59) return std::nullopt;
    seconds -= sign * (static_cast<int64_t>(*zone_hours) * 3600 + *zone_minutes * 60);
  } else {
    (void)TakeChar(text, 'Z');
  }
  if (!text.empty()) return std::nullopt;
  return seconds * kFileTimePerSecond + fraction;
}

}  // namespace etwpipe

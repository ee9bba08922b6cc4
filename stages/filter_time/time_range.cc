#include "stages/filter_time/time_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "stages/duration.h"

namespace etwpipe {
namespace {

constexpr std::string_view kTicksPrefix = "ticks:";
constexpr std::string_view kAllowed =
    "a bound is seconds or a duration since the start (10, 1.5, 10s, 250ms), an ISO time (2020-07-29T00:07:00.5Z) or "
    "ticks:N";
constexpr std::string_view kDates =
    "write 2020-07-29, 2020-07-29T00:07 or 2020-07-29T00:07:00.5, in UTC or with an offset such as +02:00 at its end";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

Result<TimeBound> ParseBound(std::string_view text) {
  if (text.starts_with(kTicksPrefix)) {
    const std::string_view number = text.substr(kTicksPrefix.size());
    int64_t ticks = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ticks);
    if (error == std::errc() && end == number.data() + number.size()) {
      return TimeBound{TimeBound::Unit::kTicks, ticks};
    }
    return Status::InvalidArgument(fmt::format("'{}' is not a 64-bit number of ticks", number));
  }
  if (const auto time = ParseFileTime(text)) return TimeBound{TimeBound::Unit::kFileTime, *time};
  // A sign may stand before a duration only.
  const std::string_view unsigned_text = text.substr(std::min(text.find_first_not_of('-'), text.size()));
  if (unsigned_text.find_first_of("-:/") != std::string_view::npos) {
    return Status::InvalidArgument(fmt::format("'{}' is not a date with or without a time; {}", text, kDates));
  }
  const bool negative = text.starts_with('-');
  const std::string_view magnitude = text.substr(negative ? 1 : 0);
  const bool has_unit = !magnitude.empty() && (magnitude.back() < '0' || magnitude.back() > '9');
  std::string reason;
  const auto nanoseconds = has_unit ? ParseDuration(magnitude, &reason) : ParseSeconds(magnitude, &reason);
  if (nanoseconds) return TimeBound{TimeBound::Unit::kNanoseconds, negative ? -*nanoseconds : *nanoseconds};
  return Status::InvalidArgument(fmt::format("{}; {}", reason, kAllowed));
}

}  // namespace

int64_t TimeBound::FirstTick(const Clock& clock) const {
  switch (unit) {
    case Unit::kNanoseconds: return clock.FromNanoseconds(value);
    case Unit::kFileTime: return clock.FromFileTime(value);
    case Unit::kTicks: break;
  }
  return value;
}

Result<TimeRange> TimeRange::Parse(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return Status::InvalidArgument(fmt::format("'{}' is not a range; write FROM..TO, FROM.. or ..TO", text));
  }
  const std::string_view from = Trimmed(text.substr(0, dots));
  const std::string_view to = Trimmed(text.substr(dots + 2));
  if (from.empty() && to.empty()) return Status::InvalidArgument("'..' has no bound; write FROM..TO, FROM.. or ..TO");
  TimeRange range;
  if (!from.empty()) {
    const auto bound = ParseBound(from);
    if (!bound.ok()) return bound.status();
    range.from = *bound;
  }
  if (!to.empty()) {
    const auto bound = ParseBound(to);
    if (!bound.ok()) return bound.status();
    range.to = *bound;
  }
  return range;
}

Result<TickRange> TimeRange::Resolve(const Clock& clock) const {
  TickRange ticks;
  if (from) ticks.first = from->FirstTick(clock);
  if (!to) return ticks;
  const int64_t end = to->FirstTick(clock);
  if (end < ticks.first) {
    return Status::InvalidArgument(fmt::format("the range ends before it begins: from {} to {}",
                                               FormatFileTime(clock.ToFileTime(ticks.first)),
                                               FormatFileTime(clock.ToFileTime(end))));
  }
  if (end == std::numeric_limits<int64_t>::min()) return TickRange{0, -1};
  ticks.last = end - 1;
  return ticks;
}

}  // namespace etwpipe

#include "tools/time_text.h"

namespace etwpipe {
namespace {

constexpr int64_t kSecond = 10'000'000;  // in FILETIME units
constexpr size_t kFractionAt = 20;       // behind "2020-07-29T00:07:00."
constexpr size_t kFractionDigits = 7;

// Times this far inside the years 1601..9999 are never clamped, whatever the time zone.
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kFirstSafe = 2 * kDay;
constexpr int64_t kLastSafe = 2'650'467'743'999'999'999 - 2 * kDay;

}  // namespace

std::string_view TimeText::Format(int64_t ticks) {
  const int64_t filetime = clock_.ToFileTime(ticks);
  const bool safe = filetime >= kFirstSafe && filetime <= kLastSafe;
  const int64_t fraction = safe ? filetime % kSecond : 0;
  if (!safe || second_ != filetime - fraction) {
    second_ = safe ? std::optional(filetime - fraction) : std::nullopt;
    text_ = FormatFileTime(filetime, bias_minutes_);
    return text_;
  }
  int64_t rest = fraction;
  for (size_t digit = kFractionDigits; digit-- > 0; rest /= 10) {
    text_[kFractionAt + digit] = static_cast<char>('0' + rest % 10);
  }
  return text_;
}

}  // namespace etwpipe

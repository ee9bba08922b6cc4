#include "stages/duration.h"

#include <fmt/format.h>

#include <limits>

namespace etwpipe {
namespace {

struct Unit {
  std::string_view name;
  uint64_t nanoseconds;
};
constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// `number` (digits, optionally a point and digits) times `scale`, a power of ten.
std::optional<int64_t> Scaled(std::string_view number, uint64_t scale, std::string* reason) {
  uint64_t whole = 0;
  size_t at = 0;
  for (; at < number.size() && IsDigit(number[at]); ++at) {
    const auto digit = static_cast<uint64_t>(number[at] - '0');
    if (whole > (kLargest - digit) / 10) {
      *reason = fmt::format("'{}' is too long a time for 64 bits of nanoseconds", number);
      return std::nullopt;
    }
    whole = whole * 10 + digit;
  }
  uint64_t fraction = 0;
  if (at < number.size()) {
    uint64_t place = scale;
    for (++at; at < number.size(); ++at) {
      place /= 10;
      if (place == 0 && number[at] != '0') {
        *reason = fmt::format("'{}' is finer than a nanosecond", number);
        return std::nullopt;
      }
      fraction += place * static_cast<uint64_t>(number[at] - '0');
    }
  }
  if (whole > (kLargest - fraction) / scale) {
    *reason = fmt::format("'{}' is too long a time for 64 bits of nanoseconds", number);
    return std::nullopt;
  }
  return static_cast<int64_t>(whole * scale + fraction);
}

// Length of the number that `text` begins with: digits, optionally a point and digits. 0 if there is none.
size_t NumberLength(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && IsDigit(text[at])) ++at;
  if (at == 0 || at == text.size() || text[at] != '.') return at;
  const size_t point = at++;
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at == point + 1 ? point : at;
}

}  // namespace

std::optional<int64_t> ParseDuration(std::string_view text, std::string* reason) {
  const size_t length = NumberLength(text);
  if (length == 0) {
    *reason = fmt::format("'{}' is not a duration such as 10s, 1.5s, 5ms, 3us or 10ns", text);
    return std::nullopt;
  }
  const std::string_view unit_name = text.substr(length);
  for (const Unit& unit : kUnits) {
    if (unit.name == unit_name) return Scaled(text.substr(0, length), unit.nanoseconds, reason);
  }
  *reason = unit_name.empty() ? fmt::format("'{}' needs a unit: s, ms, us or ns", text)
                              : fmt::format("'{}' is not a unit of time; the units are s, ms, us and ns", unit_name);
  return std::nullopt;
}

std::optional<int64_t> ParseSeconds(std::string_view text, std::string* reason) {
  if (text.empty() || NumberLength(text) != text.size()) {
    *reason = fmt::format("'{}' is not a number of seconds", text);
    return std::nullopt;
  }
  return Scaled(text, 1'000'000'000, reason);
}

}  // namespace etwpipe

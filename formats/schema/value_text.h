// What the bytes of a value mean: a number, a text, or a text form of something else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/schema/property.h"

namespace etwpipe::schema {

enum class ValueKind : uint8_t {
  kNull,
  kUnsigned,
  kSigned,
  kHex,  ///< an unsigned number that people read as hex: pointers, HexInt types, out-types hex, status codes
  kReal,
  kBool,
  kText,  ///< a string of the event
  kForm,  ///< text in a form of ours: GUID, SID, time, address, bytes as hex
};

/// A value ready to be shown or compared. `text` is valid until the next ReadValue() into the same object.
struct Value {
  ValueKind kind = ValueKind::kNull;
  uint64_t bits = 0;    ///< kUnsigned, kHex, kBool: the number; kSigned: its two's complement
  double real = 0;      ///< kReal
  bool single = false;  ///< kReal: was a float, whose shortest text has fewer digits
  std::string text;     ///< kText, kForm; valid UTF-8 whatever the bytes are

  int64_t integer() const { return static_cast<int64_t>(bits); }
};

/// Reads the value bytes of one element of `property` as Decode() gave them. Forms: GUID lower case; FILETIME ISO 8601
/// UTC with seven digits, SYSTEMTIME with three; SID S-1-..; binary hex; IPv4 dotted, IPv6 compressed, ports in host
/// order; UTF-16 with lone surrogates and narrow text that is not UTF-8 are repaired (semantic source: the in- and
/// out-types of etl-format.md 7.1).
void ReadValue(const Property& property, std::span<const std::byte> bytes, Value& value);

/// Appends the value as `dump --format text` shows it, without quotes: numbers decimal, kHex as 0x..., reals shortest.
void AppendText(const Value& value, std::string& out);

}  // namespace etwpipe::schema

// Text of records: UTF-16LE in the file, UTF-8 in the program.
#pragma once

#include <utf8.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "pipeline/byte_reader.h"

namespace etwpipe::schema {

constexpr char32_t kReplacementCharacter = 0xFFFD;

constexpr bool IsHighSurrogate(uint16_t unit) { return (unit & 0xFC00) == 0xD800; }
constexpr bool IsLowSurrogate(uint16_t unit) { return (unit & 0xFC00) == 0xDC00; }

/// UTF-8 of the UTF-16LE text at the start of `bytes`, up to a NUL or the end; a lone surrogate becomes U+FFFD.
/// `used`, if given, gets the bytes the text takes, the NUL included.
inline std::string Utf16ToUtf8(std::span<const std::byte> bytes, size_t* used = nullptr) {
  std::string text;
  size_t at = 0;
  while (at + 2 <= bytes.size()) {
    const auto unit = LoadAt<uint16_t>(bytes.data(), at);
    at += 2;
    if (unit == 0) break;
    uint32_t code_point = unit;
    if (IsHighSurrogate(unit) && at + 2 <= bytes.size() && IsLowSurrogate(LoadAt<uint16_t>(bytes.data(), at))) {
      code_point = 0x10000 + ((unit & 0x3FFu) << 10 | (LoadAt<uint16_t>(bytes.data(), at) & 0x3FFu));
      at += 2;
    } else if (IsHighSurrogate(unit) || IsLowSurrogate(unit)) {
      code_point = kReplacementCharacter;
    }
    utf8::unchecked::append(code_point, std::back_inserter(text));
  }
  if (used != nullptr) *used = at;
  return text;
}

/// UTF-16 of UTF-8 text, cut to `max_units` without splitting a surrogate pair; no NUL. Broken UTF-8 becomes U+FFFD.
inline std::u16string Utf8ToUtf16(std::string_view text, size_t max_units = SIZE_MAX) {
  std::string valid;
  utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(valid), kReplacementCharacter);
  std::u16string units;
  utf8::unchecked::utf8to16(valid.begin(), valid.end(), std::back_inserter(units));
  if (units.size() > max_units) {
    units.resize(max_units);
    if (!units.empty() && IsHighSurrogate(units.back())) units.pop_back();
  }
  return units;
}

}  // namespace etwpipe::schema

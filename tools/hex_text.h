// Bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace etwpipe {

/// Lower-case digits of `bytes`, kept in `text`.
inline std::string_view HexText(std::span<const std::byte> bytes, std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  text.resize(bytes.size() * 2);
  size_t at = 0;
  for (const std::byte byte : bytes) {
    text[at++] = kDigits[std::to_integer<unsigned>(byte) >> 4];
    text[at++] = kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace etwpipe

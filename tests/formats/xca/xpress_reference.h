#ifndef ETWPIPE_TESTS_FORMATS_XCA_XPRESS_REFERENCE_H_
#define ETWPIPE_TESTS_FORMATS_XCA_XPRESS_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca::testing {

// XPRESS plain LZ77 decoded one bit and one byte at a time, straight from [MS-XCA] 2.4.4, with the results the library
// documents. Kept free of everything the library uses, to be compared with it.
inline DecodeResult ReferenceXpressDecode(std::span<const std::byte> in, std::span<std::byte> out) {
  std::size_t i = 0;
  std::size_t o = 0;
  std::uint32_t flags = 0;
  unsigned flag_count = 0;
  bool has_half = false;
  std::size_t half_at = 0;
  const auto byte_at = [&](std::size_t at) { return static_cast<std::uint64_t>(in[at]); };
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < size; ++k) value |= byte_at(at + k) << (8 * k);
    return value;
  };

  while (o < out.size()) {
    if (flag_count == 0) {
      if (i == in.size()) return {DecodeError::kOutputShort, o, i};
      if (i + 4 > in.size()) return {DecodeError::kInputTruncated, o, i};
      flags = static_cast<std::uint32_t>(number(i, 4));
      flag_count = 32;
      i += 4;
    }
    --flag_count;
    if ((flags >> flag_count & 1) == 0) {
      if (i == in.size()) return {DecodeError::kInputTruncated, o, i};
      out[o++] = in[i++];
      continue;
    }
    if (i == in.size()) return {DecodeError::kOutputShort, o, i};
    if (i + 2 > in.size()) return {DecodeError::kInputTruncated, o, i};
    std::size_t p = i + 2;
    const std::uint64_t offset = number(i, 2) / 8 + 1;
    std::uint64_t length = number(i, 2) % 8;
    if (offset > o) return {DecodeError::kBadOffset, o, i};
    if (length == 7) {
      if (has_half) {
        length = byte_at(half_at) / 16;
      } else {
        if (p == in.size()) return {DecodeError::kInputTruncated, o, i};
        half_at = p;
        length = byte_at(p++) % 16;
      }
      has_half = !has_half;
      if (length == 15) {
        if (p == in.size()) return {DecodeError::kInputTruncated, o, i};
        length = byte_at(p++);
        if (length == 255) {
          if (p + 2 > in.size()) return {DecodeError::kInputTruncated, o, i};
          length = number(p, 2);
          p += 2;
          if (length == 0) {
            if (p + 4 > in.size()) return {DecodeError::kInputTruncated, o, i};
            length = number(p, 4);
            p += 4;
          }
          if (length < 15 + 7) return {DecodeError::kBadLength, o, i};
          length -= 15 + 7;
        }
        length += 15;
      }
      length += 7;
    }
    length += 3;
    if (length > out.size() - o) return {DecodeError::kOutputOverrun, o, i};
    for (std::uint64_t k = 0; k < length; ++k, ++o) out[o] = out[o - static_cast<std::size_t>(offset)];
    i = p;
  }
  return {DecodeError::kNone, o, i};
}

}  // namespace etwpipe::xca::testing

#endif  // ETWPIPE_TESTS_FORMATS_XCA_XPRESS_REFERENCE_H_

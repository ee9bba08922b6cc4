#ifndef ETWPIPE_FORMATS_XCA_MATCH_COPY_H_
#define ETWPIPE_FORMATS_XCA_MATCH_COPY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "formats/xca/little_endian.h"

// Copies of LZ77 matches for the decoders of this folder. Not for use outside formats/xca.
namespace etwpipe::xca::internal {

// Bytes after the end of a match that WideMatchCopy may overwrite.
inline constexpr std::size_t kMatchCopySlack = 32;

// Period patterns for offsets 1..7: multiplying the first `offset` bytes of the pattern, as a little-endian number,
// by kRepeat repeats them over 8 bytes (the fields do not overlap, so the product is a copy), and kStep is the largest
// multiple of the offset that fits in 8, after which the same 8 bytes continue the pattern.
inline constexpr std::array<std::uint64_t, 8> kRepeat = {0,
                                                         0x0101010101010101,
                                                         0x0001000100010001,
                                                         0x0001000001000001,
                                                         0x0000000100000001,
                                                         0x0000010000000001,
                                                         0x0001000000000001,
                                                         0x0100000000000001};
inline constexpr std::array<std::uint8_t, 8> kStep = {0, 8, 8, 6, 8, 5, 6, 7};

// Writes `length` bytes at `out`, each equal to the byte `offset` before it. The caller has checked that `offset`
// (at least 1) bytes lie before `out` and that length + kMatchCopySlack bytes may be written.
inline void WideMatchCopy(std::byte* out, std::size_t offset, std::size_t length) {
  const std::byte* from = out - offset;
  std::byte* const end = out + length;
  if (offset >= 16) {
    std::memcpy(out, from, 16);
    if (length <= 16) return;
    std::memcpy(out + 16, from + 16, 16);
    if (length <= 32) return;
    std::byte* to = out + 32;
    from += 32;
    do {
      std::memcpy(to, from, 16);
      std::memcpy(to + 16, from + 16, 16);
      to += 32;
      from += 32;
    } while (to < end);
  } else if (offset >= 8) {
    do {
      std::memcpy(out, from, 8);
      std::memcpy(out + 8, from + 8, 8);
      out += 16;
      from += 16;
    } while (out < end);
  } else {
    const std::uint64_t period = Load64(from) & ((std::uint64_t{1} << (8 * offset)) - 1);
    const std::uint64_t pattern = period * kRepeat[offset];
    const std::size_t step = kStep[offset];
    do {
      Store64(out, pattern);
      out += step;
    } while (out < end);
  }
}

// As WideMatchCopy, but writes exactly `length` bytes.
inline void ExactMatchCopy(std::byte* out, std::size_t offset, std::size_t length) {
  const std::byte* from = out - offset;
  if (offset >= length) {
    std::memcpy(out, from, length);
    return;
  }
  for (std::size_t i = 0; i < length; ++i) out[i] = from[i];
}

}  // namespace etwpipe::xca::internal

#endif  // ETWPIPE_FORMATS_XCA_MATCH_COPY_H_

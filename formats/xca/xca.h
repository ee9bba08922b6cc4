#ifndef ETWPIPE_FORMATS_XCA_XCA_H_
#define ETWPIPE_FORMATS_XCA_XCA_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca {

// Compression formats of [MS-XCA], numbered as COMPRESSION_FORMAT_* in ntifs.h. The header buffer of a compressed .etl
// holds the number in the low 16 bits of its State field.
enum class Format : std::uint16_t {
  kLznt1 = 2,
  kXpress = 3,
  kXpressHuffman = 4,
};

// Fills `out` with the decoded start of `in`. `out` must have exactly the size the data decodes to: decoding stops when
// it is full, whatever input is left, and an empty `out` always succeeds without reading `in`.
// Any input is safe: nothing outside the two spans is touched and nothing is allocated. The spans must not overlap.
// Errors: kUnknownFormat for a format outside the enum, else those of the codec's own function.
[[nodiscard]] DecodeResult Decode(Format format, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace etwpipe::xca

#endif  // ETWPIPE_FORMATS_XCA_XCA_H_

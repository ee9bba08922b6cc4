#ifndef ETWPIPE_FORMATS_XCA_XPRESS_H_
#define ETWPIPE_FORMATS_XCA_XPRESS_H_

#include <cstddef>
#include <span>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca {

// Decodes XPRESS plain LZ77 ([MS-XCA] 2.4) until `out` is full; contract of Decode() in xca.h. Streams written by
// Windows may end with an unused flag word, so up to 4 input bytes are then left over.
// Errors: kInputTruncated, kOutputShort (a match flag where the input ends, the end mark of 2.4.4), kOutputOverrun,
// kBadOffset, kBadLength (16- or 32-bit length below 22).
[[nodiscard]] DecodeResult XpressDecode(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace etwpipe::xca

#endif  // ETWPIPE_FORMATS_XCA_XPRESS_H_

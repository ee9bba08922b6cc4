#ifndef ETWPIPE_FORMATS_XCA_LZNT1_H_
#define ETWPIPE_FORMATS_XCA_LZNT1_H_

#include <cstddef>
#include <span>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca {

// Decodes LZNT1 ([MS-XCA] 2.5) until `out` is full; contract of Decode() in xca.h. `consumed` counts whole chunks
// except for the one in which the output fills up.
// Errors: kInputTruncated, kOutputShort (end marker or end of input), kOutputOverrun, kBadOffset (matches never leave
// their chunk), kBadChunk (signature other than 3, more than 4,096 decoded bytes, or fewer in a chunk that is not the
// last: readers disagree on whether the gap is filled with zeros, so it is not guessed).
[[nodiscard]] DecodeResult Lznt1Decode(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace etwpipe::xca

#endif  // ETWPIPE_FORMATS_XCA_LZNT1_H_

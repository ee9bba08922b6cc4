#ifndef ETWPIPE_FORMATS_XCA_XPRESS_HUFFMAN_H_
#define ETWPIPE_FORMATS_XCA_XPRESS_HUFFMAN_H_

#include <cstddef>
#include <span>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca {

// Decodes XPRESS LZ77+Huffman ([MS-XCA] 2.2) until `out` is full; contract of Decode() in xca.h.
// Symbol 256 is always read as the match (length 3, offset 1) it also stands for: the end-of-stream reading can only
// apply after the last output byte, where this decoder has already stopped. A stream that ends early therefore reports
// what follows it, mostly kInputTruncated.
// Errors: kInputTruncated, kOutputShort (the input ends exactly between two 64 KiB blocks), kOutputOverrun, kBadOffset,
// kBadLength (16- or 32-bit length below 15), kBadTable.
[[nodiscard]] DecodeResult XpressHuffmanDecode(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace etwpipe::xca

#endif  // ETWPIPE_FORMATS_XCA_XPRESS_HUFFMAN_H_

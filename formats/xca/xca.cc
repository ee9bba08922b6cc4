#include "formats/xca/xca.h"

#include "formats/xca/lznt1.h"
#include "formats/xca/xpress.h"
#include "formats/xca/xpress_huffman.h"

namespace etwpipe::xca {

DecodeResult Decode(Format format, std::span<const std::byte> in, std::span<std::byte> out) {
  switch (format) {
    case Format::kLznt1: return Lznt1Decode(in, out);
    case Format::kXpress: return XpressDecode(in, out);
    case Format::kXpressHuffman: return XpressHuffmanDecode(in, out);
  }
  return {DecodeError::kUnknownFormat, 0, 0};
}

}  // namespace etwpipe::xca

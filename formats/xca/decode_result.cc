#include "formats/xca/decode_result.h"

namespace etwpipe::xca {

std::string_view ErrorText(DecodeError error) {
  switch (error) {
    case DecodeError::kNone: return "no error";
    case DecodeError::kUnknownFormat: return "unknown compression format";
    case DecodeError::kInputTruncated: return "compressed data is cut off";
    case DecodeError::kOutputShort: return "compressed data ends before the expected size is reached";
    case DecodeError::kOutputOverrun: return "a match reaches past the expected size";
    case DecodeError::kBadOffset: return "a match refers to bytes before the start";
    case DecodeError::kBadLength: return "a match length is not valid for its encoding";
    case DecodeError::kBadTable: return "Huffman table is not a complete prefix code";
    case DecodeError::kBadChunk: return "LZNT1 chunk has a wrong signature or size";
  }
  return "unknown error";
}

}  // namespace etwpipe::xca

#ifndef ETWPIPE_FORMATS_XCA_DECODE_RESULT_H_
#define ETWPIPE_FORMATS_XCA_DECODE_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace etwpipe::xca {

// Why a decoder stopped. Values are stable: diagnostics print and compare them.
enum class DecodeError : std::uint8_t {
  kNone = 0,            // the output is full
  kUnknownFormat = 1,   // the format number is not 2, 3 or 4
  kInputTruncated = 2,  // the input ends in the middle of a symbol, table or chunk
  kOutputShort = 3,     // the stream ends cleanly before the output is full
  kOutputOverrun = 4,   // a match reaches past the end of the output
  kBadOffset = 5,       // a match starts before the first byte it may refer to
  kBadLength = 6,       // an escaped match length is below the minimum of its form
  kBadTable = 7,        // Huffman code lengths do not form a complete prefix code
  kBadChunk = 8,        // an LZNT1 chunk has a wrong signature or a wrong decoded size
};

// One short English phrase for a message, without a full stop. Never empty, also for values outside the enum.
[[nodiscard]] std::string_view ErrorText(DecodeError error);

// What one decode call did. Sizes are bytes.
struct DecodeResult {
  DecodeError error = DecodeError::kNone;
  // Bytes of output that are valid. Bytes after them may have been overwritten with anything.
  std::size_t produced = 0;
  // Input bytes used; on failure the position of the symbol, table or chunk that could not be decoded. Smaller than
  // the input when the stream goes on after the output is full, which is legal.
  std::size_t consumed = 0;

  [[nodiscard]] bool ok() const { return error == DecodeError::kNone; }

  friend bool operator==(const DecodeResult&, const DecodeResult&) = default;
};

}  // namespace etwpipe::xca

#endif  // ETWPIPE_FORMATS_XCA_DECODE_RESULT_H_

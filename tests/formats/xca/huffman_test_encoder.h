#ifndef ETWPIPE_TESTS_FORMATS_XCA_HUFFMAN_TEST_ENCODER_H_
#define ETWPIPE_TESTS_FORMATS_XCA_HUFFMAN_TEST_ENCODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/formats/xca/test_bytes.h"

namespace etwpipe::xca::testing {

// One literal (length 0) or match of an XPRESS LZ77+Huffman stream.
struct HuffmanToken {
  std::byte literal{};
  std::uint64_t length = 0;
  std::size_t offset = 0;
};

struct HuffmanOptions {
  bool matches = true;
  // Lets a match run past the end of its 64 KiB block, which then is that much longer.
  bool cross_blocks = false;
  // Gives codes the most uneven lengths possible (1, 2, 3 ... 15 bits) instead of those of a Huffman code.
  bool steep_codes = false;
};

// One block ([MS-XCA] 2.1.4.3): table and bit stream of `tokens`; `last` appends the end symbol 256.
Bytes HuffmanBlock(std::span<const HuffmanToken> tokens, bool last, bool steep_codes = false);

// A plain XPRESS LZ77+Huffman encoder for round trips: greedy matches with the previous occurrence of 3 bytes.
Bytes HuffmanEncode(std::span<const std::byte> plain, const HuffmanOptions& options = {});

}  // namespace etwpipe::xca::testing

#endif  // ETWPIPE_TESTS_FORMATS_XCA_HUFFMAN_TEST_ENCODER_H_

// XPRESS LZ77+Huffman decoder on any input: stays in bounds, keeps its promises about the result and gives the same one
// twice.

#include <algorithm>

#include "formats/xca/xpress_huffman.h"
#include "tests/fuzz/xca_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using etwpipe::xca::DecodeResult;
  namespace fuzz = etwpipe::xca::fuzz;
  const fuzz::Input input = fuzz::Parse(data, size);
  std::vector<std::byte> out(input.out_size);
  const DecodeResult result = etwpipe::xca::XpressHuffmanDecode(input.stream, out);
  fuzz::RequireSaneResult(result, input);
  // Other old contents of the output must not show through.
  std::vector<std::byte> again(input.out_size, std::byte{0xA5});
  fuzz::Require(result == etwpipe::xca::XpressHuffmanDecode(input.stream, again));
  const auto produced = static_cast<std::ptrdiff_t>(result.produced);
  fuzz::Require(std::equal(out.begin(), out.begin() + produced, again.begin()));
  return 0;
}

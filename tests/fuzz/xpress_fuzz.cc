// XPRESS plain LZ77 decoder on any input: stays in bounds and agrees with the bit-by-bit reference decoder.

#include <algorithm>

#include "formats/xca/xpress.h"
#include "tests/formats/xca/xpress_reference.h"
#include "tests/fuzz/xca_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using etwpipe::xca::DecodeResult;
  namespace fuzz = etwpipe::xca::fuzz;
  namespace testing = etwpipe::xca::testing;
  const fuzz::Input input = fuzz::Parse(data, size);
  std::vector<std::byte> out(input.out_size);
  const DecodeResult result = etwpipe::xca::XpressDecode(input.stream, out);
  fuzz::RequireSaneResult(result, input);
  std::vector<std::byte> expected(input.out_size);
  fuzz::Require(result == testing::ReferenceXpressDecode(input.stream, expected));
  const auto produced = static_cast<std::ptrdiff_t>(result.produced);
  fuzz::Require(std::equal(out.begin(), out.begin() + produced, expected.begin()));
  return 0;
}

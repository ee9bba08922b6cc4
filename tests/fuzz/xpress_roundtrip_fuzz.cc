// XPRESS plain LZ77 encoder: what it writes for any input decodes to that input, in the library and in the reference;
// the result does not depend on the room it is given. Input: 3 bytes that pick a second, mostly too small, output size,
// then the data to encode.

#include <algorithm>

#include "formats/xca/xpress.h"
#include "formats/xca/xpress_encoder.h"
#include "tests/formats/xca/xpress_reference.h"
#include "tests/fuzz/xca_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using etwpipe::xca::DecodeResult;
  namespace fuzz = etwpipe::xca::fuzz;
  namespace testing = etwpipe::xca::testing;
  const fuzz::Input input = fuzz::Parse(data, size);
  static etwpipe::xca::XpressEncoder scratch;

  std::vector<std::byte> stream(etwpipe::xca::XpressEncodeBound(input.stream.size()));
  const std::size_t stream_size = etwpipe::xca::XpressEncode(input.stream, stream, scratch);
  fuzz::Require(stream_size >= 4);
  stream.resize(stream_size);

  std::vector<std::byte> plain(input.stream.size());
  const DecodeResult result = etwpipe::xca::XpressDecode(stream, plain);
  fuzz::Require(result.ok());
  fuzz::Require(std::equal(plain.begin(), plain.end(), input.stream.begin()));
  std::vector<std::byte> reference(input.stream.size());
  fuzz::Require(testing::ReferenceXpressDecode(stream, reference) == result);
  fuzz::Require(reference == plain);

  std::vector<std::byte> small(input.out_size % (stream_size + 2));
  const std::size_t small_size = etwpipe::xca::XpressEncode(input.stream, small, scratch);
  fuzz::Require(small_size == (small.size() < stream_size ? 0 : stream_size));
  if (small_size != 0) fuzz::Require(std::equal(stream.begin(), stream.end(), small.begin()));
  return 0;
}

#ifndef ETWPIPE_TESTS_FUZZ_XCA_FUZZ_INPUT_H_
#define ETWPIPE_TESTS_FUZZ_XCA_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca::fuzz {

// Input of the decoder targets: 3 bytes (little-endian) that pick the output size modulo 256 KiB + 1, then the
// stream. Larger outputs only make the runs slower: the longest match form starts at 65,539 bytes.
struct Input {
  std::size_t out_size = 0;
  std::span<const std::byte> stream;
};

inline Input Parse(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxOutput = std::size_t{1} << 18;
  if (size < 3) return {};
  const std::size_t number = data[0] | std::size_t{data[1]} << 8 | std::size_t{data[2]} << 16;
  return {number % (kMaxOutput + 1), std::as_bytes(std::span(data + 3, size - 3))};
}

inline void Require(bool condition) {
  if (!condition) std::abort();
}

// What every decoder promises about its result, whatever the input.
inline void RequireSaneResult(const DecodeResult& result, const Input& input) {
  Require(result.produced <= input.out_size);
  Require(result.consumed <= input.stream.size());
  Require(result.ok() == (result.produced == input.out_size));
  Require(!ErrorText(result.error).empty());
}

}  // namespace etwpipe::xca::fuzz

#endif  // ETWPIPE_TESTS_FUZZ_XCA_FUZZ_INPUT_H_

#ifndef ETWPIPE_TESTS_FORMATS_XCA_TEST_BYTES_H_
#define ETWPIPE_TESTS_FORMATS_XCA_TEST_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "formats/xca/decode_result.h"

namespace etwpipe::xca::testing {

using Bytes = std::vector<std::byte>;

// Reproducible 32-bit numbers (std::mt19937 gives them in a wider type on some platforms).
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

// Bytes of a text, without a terminating NUL.
Bytes FromText(std::string_view text);

// Bytes of pairs of hexadecimal digits; blanks are skipped.
Bytes FromHex(std::string_view hex);

// `count` copies of `text`.
Bytes Repeat(std::string_view text, std::size_t count);

// `size` reproducible bytes that no codec here can compress.
Bytes RandomBytes(std::size_t size, std::uint32_t seed);

// `size` reproducible bytes with the traits of event records: repeated headers, counters, short words and some noise.
Bytes RecordLikeBytes(std::size_t size, std::uint32_t seed);

struct Decoded {
  DecodeResult result;
  Bytes bytes;  // the valid ones: result.produced
};

// Runs a decoder on copies of exactly the given sizes, so that a sanitizer sees any access outside, and fails the
// running test when it writes within 64 bytes around the output or reports impossible sizes.
Decoded DecodeGuarded(DecodeResult (*decode)(std::span<const std::byte>, std::span<std::byte>),
                      std::span<const std::byte> in, std::size_t out_size);

// The properties every decoder owes for damaged input, checked for `stream`, a valid encoding of `plain`:
// cut at every length it reports an error, or, when only unused bytes are missing, the right bytes;
// with any single bit flipped, or any byte replaced by 0xFF, it stays inside its spans.
void CheckDamagedInput(DecodeResult (*decode)(std::span<const std::byte>, std::span<std::byte>),
                       std::span<const std::byte> stream, std::span<const std::byte> plain);

}  // namespace etwpipe::xca::testing

#endif  // ETWPIPE_TESTS_FORMATS_XCA_TEST_BYTES_H_

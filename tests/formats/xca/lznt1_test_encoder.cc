#include "tests/formats/xca/lznt1_test_encoder.h"

#include <algorithm>

namespace etwpipe::xca::testing {
namespace {

void Put16(Bytes& out, std::size_t value) {
  out.push_back(static_cast<std::byte>(value & 0xFF));
  out.push_back(static_cast<std::byte>(value >> 8));
}

Bytes EncodeChunk(std::span<const std::byte> chunk) {
  Bytes body;
  std::size_t flags_at = 0;
  unsigned tokens = 8;
  std::size_t position = 0;
  while (position < chunk.size()) {
    if (tokens == 8) {
      flags_at = body.size();
      body.push_back(std::byte{0});
      tokens = 0;
    }
    unsigned offset_bits = 4;
    while ((std::size_t{1} << offset_bits) < position) ++offset_bits;
    const std::size_t length_limit = std::min(chunk.size() - position, (std::size_t{1} << (16 - offset_bits)) - 1 + 3);
    std::size_t best = 0;
    std::size_t best_offset = 0;
    for (std::size_t offset = 1; offset <= position && best < length_limit; ++offset) {
      std::size_t length = 0;
      while (length < length_limit && chunk[position + length] == chunk[position + length - offset]) ++length;
      if (length > best) {
        best = length;
        best_offset = offset;
      }
    }
    if (best >= 3) {
      body[flags_at] |= static_cast<std::byte>(1u << tokens);
      Put16(body, (best_offset - 1) << (16 - offset_bits) | (best - 3));
      position += best;
    } else {
      body.push_back(chunk[position++]);
    }
    ++tokens;
  }
  return body;
}

}  // namespace

Bytes Lznt1Encode(std::span<const std::byte> plain) {
  Bytes stream;
  for (std::size_t start = 0; start < plain.size(); start += 4096) {
    const std::span<const std::byte> chunk = plain.subspan(start, std::min<std::size_t>(4096, plain.size() - start));
    const Bytes body = EncodeChunk(chunk);
    if (body.size() < chunk.size()) {
      Put16(stream, 0xB000 | (body.size() - 1));
      stream.insert(stream.end(), body.begin(), body.end());
    } else {
      Put16(stream, 0x3000 | (chunk.size() - 1));
      stream.insert(stream.end(), chunk.begin(), chunk.end());
    }
  }
  return stream;
}

}  // namespace etwpipe::xca::testing

#include "formats/xca/lznt1.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "formats/xca/little_endian.h"
#include "formats/xca/match_copy.h"

// [MS-XCA] 2.5: independent chunks of 4,096 output bytes, each behind a 16-bit header: bits 0-11 body size - 1, bits
// 12-14 the signature 3, bit 15 set when the body is compressed. A compressed body is groups of a flag byte and up to 8
// tokens, flags lowest bit first: 0 is a literal, 1 a 16-bit match of offset - 1 above length - 3. The offset takes as
// many bits as the position in the chunk needs, at least 4.

namespace etwpipe::xca {
namespace {

using internal::ExactMatchCopy;
using internal::kMatchCopySlack;
using internal::Load16;
using internal::Load8;
using internal::WideMatchCopy;

constexpr std::size_t kChunkOutput = 4096;
constexpr std::uint32_t kSizeMask = 0x0FFF;
constexpr std::uint32_t kSignature = 3;
constexpr std::uint32_t kCompressed = 0x8000;
constexpr std::size_t kMinMatch = 3;
constexpr unsigned kMinOffsetBits = 4;

struct State {
  const std::byte* in;
  std::byte* out;
};

DecodeError DecodeCompressedChunk(State& state, const std::byte* chunk_end, std::byte* out_end) {
  std::byte* const chunk_out = state.out;
  std::byte* const limit = chunk_out + std::min(kChunkOutput, static_cast<std::size_t>(out_end - chunk_out));
  const bool output_ends_first = limit == out_end;

  while (state.in != chunk_end) {
    unsigned flags = Load8(state.in++);
    if (flags == 0 && chunk_end - state.in >= 8 && limit - state.out >= 8) {
      std::memcpy(state.out, state.in, 8);
      state.in += 8;
      state.out += 8;
      continue;
    }
    for (int token = 0; token < 8 && state.in != chunk_end; ++token, flags >>= 1) {
      if (state.out == limit) return output_ends_first ? DecodeError::kNone : DecodeError::kBadChunk;
      if ((flags & 1) == 0) {
        *state.out++ = *state.in++;
        continue;
      }
      if (chunk_end - state.in < 2) return DecodeError::kInputTruncated;
      const std::size_t position = static_cast<std::size_t>(state.out - chunk_out);
      if (position == 0) return DecodeError::kBadOffset;
      const unsigned offset_bits = std::max(kMinOffsetBits, static_cast<unsigned>(std::bit_width(position - 1)));
      const std::uint32_t word = Load16(state.in);
      const std::size_t offset = (word >> (16 - offset_bits)) + 1;
      const std::size_t length = (word & (0xFFFFu >> offset_bits)) + kMinMatch;
      if (offset > position) return DecodeError::kBadOffset;
      if (length > static_cast<std::size_t>(limit - state.out)) {
        return output_ends_first ? DecodeError::kOutputOverrun : DecodeError::kBadChunk;
      }
      if (length + kMatchCopySlack <= static_cast<std::size_t>(out_end - state.out)) {
        WideMatchCopy(state.out, offset, length);
      } else {
        ExactMatchCopy(state.out, offset, length);
      }
      state.in += 2;
      state.out += length;
    }
  }
  return DecodeError::kNone;
}

DecodeError DecodeChunks(State& state, const std::byte* in_end, std::byte* out_begin, std::byte* out_end) {
  while (state.out != out_end) {
    const std::size_t left = static_cast<std::size_t>(in_end - state.in);
    if (left == 0) return DecodeError::kOutputShort;
    if (left < 2) return DecodeError::kInputTruncated;
    const std::uint32_t header = Load16(state.in);
    if (header == 0) return DecodeError::kOutputShort;
    if ((header >> 12 & 7) != kSignature) return DecodeError::kBadChunk;
    if (static_cast<std::size_t>(state.out - out_begin) % kChunkOutput != 0) return DecodeError::kBadChunk;
    const std::size_t body = (header & kSizeMask) + 1;
    if (left - 2 < body) return DecodeError::kInputTruncated;
    state.in += 2;
    if ((header & kCompressed) != 0) {
      const DecodeError error = DecodeCompressedChunk(state, state.in + body, out_end);
      if (error != DecodeError::kNone) return error;
    } else {
      const std::size_t size = std::min(body, static_cast<std::size_t>(out_end - state.out));
      std::memcpy(state.out, state.in, size);
      state.in += size;
      state.out += size;
    }
  }
  return DecodeError::kNone;
}

}  // namespace

DecodeResult Lznt1Decode(std::span<const std::byte> in, std::span<std::byte> out) {
  if (out.empty()) return {};
  if (in.empty()) return {DecodeError::kOutputShort, 0, 0};
  State state{in.data(), out.data()};
  const DecodeError error = DecodeChunks(state, in.data() + in.size(), out.data(), out.data() + out.size());
  return {error, static_cast<std::size_t>(state.out - out.data()), static_cast<std::size_t>(state.in - in.data())};
}

}  // namespace etwpipe::xca

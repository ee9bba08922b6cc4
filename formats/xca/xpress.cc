#include "formats/xca/xpress.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "formats/xca/little_endian.h"
#include "formats/xca/match_copy.h"

// [MS-XCA] 2.4.4: a 32-bit flag word announces the next 32 symbols, most significant bit first: 0 is a literal byte, 1
// a match. A match is a 16-bit word, 13 bits of offset - 1 over 3 bits of length - 3. Lengths of 10 and more escape to
// a 4-bit number (two matches share a byte, low half first), from 25 to a byte, then to 16 and to 32 bits.
//
// Two loops share one state. The fast loop runs while both ends are farther away than anything one turn can touch: it
// takes a whole run of literals and the match after it per turn and copies in 16-byte steps, past the end of what was
// asked for. It never reports an error: a symbol it cannot finish is left untouched for the careful loop, which does
// one symbol per turn with a check before every read and write.

namespace etwpipe::xca {
namespace {

using internal::ExactMatchCopy;
using internal::kMatchCopySlack;
using internal::Load16;
using internal::Load32;
using internal::Load8;
using internal::WideMatchCopy;

constexpr unsigned kMinMatch = 3;
constexpr unsigned kLengthInWord = 7;     // largest value of the 3-bit length field: more follows
constexpr unsigned kLengthInNibble = 15;  // largest value of the 4-bit length field: more follows
constexpr unsigned kLengthInByte = 255;   // byte value that says a 16-bit length follows
// The 16- and 32-bit forms hold length - 3 itself, so they may not be below what the shorter forms express.
constexpr std::uint32_t kMinLongLength = kLengthInNibble + kLengthInWord;

// Per turn of the fast loop, input: flag word 4, literals read in whole 16-byte steps 32, match 2 + 1 + 1 + 2 + 4.
constexpr std::ptrdiff_t kInputMargin = 48;
// Output: 32 literals, then a match of at most 9 bytes with its slack; longer ones are checked for themselves.
constexpr std::ptrdiff_t kOutputMargin = 32 + 9 + static_cast<std::ptrdiff_t>(kMatchCopySlack);

// Flag bits not yet used, first one on top, with a single 1 below the last: the queue is empty when only that is left.
constexpr std::uint64_t kNoFlags = std::uint64_t{1} << 63;

constexpr std::uint64_t QueueOf(std::uint32_t flag_word) {
  return std::uint64_t{flag_word} << 32 | std::uint64_t{1} << 31;
}

struct State {
  const std::byte* in;
  std::byte* out;
  std::uint64_t flags = kNoFlags;
  // High half of a length byte whose low half an earlier match used; waits for the next match that escapes.
  unsigned nibble = 0;
  bool have_nibble = false;
};

void DecodeFast(State& state, const std::byte* in_end, std::byte* out_begin, std::byte* out_end) {
  const std::byte* in = state.in;
  std::byte* out = state.out;
  std::uint64_t flags = state.flags;
  unsigned nibble = state.nibble;
  unsigned have_nibble = state.have_nibble ? 1 : 0;

  while (in_end - in >= kInputMargin && out_end - out >= kOutputMargin) {
    if (flags == kNoFlags) {
      flags = QueueOf(Load32(in));
      in += 4;
    }
    const unsigned literals = static_cast<unsigned>(std::countl_zero(flags));
    std::memcpy(out, in, 16);
    if (literals > 16) std::memcpy(out + 16, in + 16, 16);
    in += literals;
    out += literals;
    flags <<= literals;
    if (flags == kNoFlags) continue;

    const std::uint32_t word = Load16(in);
    const std::size_t offset = (word >> 3) + 1;
    if (offset > static_cast<std::size_t>(out - out_begin)) break;
    std::uint64_t length = word & kLengthInWord;
    if (length != kLengthInWord) {
      length += kMinMatch;
      in += 2;
      flags <<= 1;
      WideMatchCopy(out, offset, static_cast<std::size_t>(length));
      out += length;
      continue;
    }

    const std::byte* next = in + 2;
    // Branch-free, because which half is due alternates with data the branch predictor cannot see.
    const unsigned byte = Load8(next);
    length = have_nibble != 0 ? nibble : byte & 15;
    next += 1 - have_nibble;
    if (length == kLengthInNibble) {
      length = Load8(next++);
      if (length == kLengthInByte) {
        length = Load16(next);
        next += 2;
        if (length == 0) {
          length = Load32(next);
          next += 4;
        }
        if (length < kMinLongLength) break;
        length -= kMinLongLength;
      }
      length += kLengthInNibble;
    }
    length += kLengthInWord + kMinMatch;
    if (length + kMatchCopySlack > static_cast<std::size_t>(out_end - out)) break;
    WideMatchCopy(out, offset, static_cast<std::size_t>(length));
    out += length;
    in = next;
    flags <<= 1;
    nibble = byte >> 4;
    have_nibble ^= 1;
  }

  state = {in, out, flags, nibble, have_nibble != 0};
}

DecodeError DecodeCareful(State& state, const std::byte* in_end, std::byte* out_begin, std::byte* out_end) {
  while (state.out != out_end) {
    if (state.flags == kNoFlags) {
      if (in_end == state.in) return DecodeError::kOutputShort;
      if (in_end - state.in < 4) return DecodeError::kInputTruncated;
      state.flags = QueueOf(Load32(state.in));
      state.in += 4;
    }
    const bool is_match = (state.flags >> 63) != 0;
    const std::ptrdiff_t left = in_end - state.in;
    if (!is_match) {
      if (left < 1) return DecodeError::kInputTruncated;
      *state.out++ = *state.in++;
      state.flags <<= 1;
      continue;
    }
    if (left == 0) return DecodeError::kOutputShort;
    if (left < 2) return DecodeError::kInputTruncated;
    const std::uint32_t word = Load16(state.in);
    const std::byte* next = state.in + 2;
    const std::size_t offset = (word >> 3) + 1;
    if (offset > static_cast<std::size_t>(state.out - out_begin)) return DecodeError::kBadOffset;

    std::uint64_t length = word & kLengthInWord;
    unsigned nibble = state.nibble;
    bool have_nibble = state.have_nibble;
    if (length == kLengthInWord) {
      if (have_nibble) {
        length = nibble;
      } else {
        if (next == in_end) return DecodeError::kInputTruncated;
        const unsigned byte = Load8(next++);
        length = byte & 15;
        nibble = byte >> 4;
      }
      have_nibble = !have_nibble;
      if (length == kLengthInNibble) {
        if (next == in_end) return DecodeError::kInputTruncated;
        length = Load8(next++);
        if (length == kLengthInByte) {
          if (in_end - next < 2) return DecodeError::kInputTruncated;
          length = Load16(next);
          next += 2;
          if (length == 0) {
            if (in_end - next < 4) return DecodeError::kInputTruncated;
            length = Load32(next);
            next += 4;
          }
          if (length < kMinLongLength) return DecodeError::kBadLength;
          length -= kMinLongLength;
        }
        length += kLengthInNibble;
      }
      length += kLengthInWord;
    }
    length += kMinMatch;
    const std::size_t room = static_cast<std::size_t>(out_end - state.out);
    if (length > room) return DecodeError::kOutputOverrun;
    const std::size_t size = static_cast<std::size_t>(length);
    if (size + kMatchCopySlack <= room) {
      WideMatchCopy(state.out, offset, size);
    } else {
      ExactMatchCopy(state.out, offset, size);
    }
    state = {next, state.out + size, state.flags << 1, nibble, have_nibble};
  }
  return DecodeError::kNone;
}

}  // namespace

DecodeResult XpressDecode(std::span<const std::byte> in, std::span<std::byte> out) {
  if (out.empty()) return {};
  if (in.empty()) return {DecodeError::kOutputShort, 0, 0};
  State state{in.data(), out.data()};
  std::byte* const out_end = out.data() + out.size();
  DecodeFast(state, in.data() + in.size(), out.data(), out_end);
  const DecodeError error = DecodeCareful(state, in.data() + in.size(), out.data(), out_end);
  return {error, static_cast<std::size_t>(state.out - out.data()), static_cast<std::size_t>(state.in - in.data())};
}

}  // namespace etwpipe::xca

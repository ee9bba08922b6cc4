#include "formats/xca/xpress_huffman.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "formats/xca/little_endian.h"
#include "formats/xca/match_copy.h"

// [MS-XCA] 2.2.4: the output is cut into blocks of 65,536 bytes, a match may run past the end of one. A block starts
// with 512 code lengths of 4 bits (low half first), then a bit stream in 16-bit words read from the top bit down, with
// the bytes of long match lengths lying between the words, where the reader stands when it meets them. Codes are
// canonical: numbered by (length, symbol). Symbols below 256 are literals; others are matches: 16 * (offset bits) +
// (length - 3), with 15 for longer lengths, 1 + (offset bits) significant bits of the offset.
//
// Decoding looks 10 bits up in a table; the few longer codes compare with the end of each length's code range.

namespace etwpipe::xca {
namespace {

using internal::ExactMatchCopy;
using internal::kMatchCopySlack;
using internal::Load16;
using internal::Load32;
using internal::Load8;
using internal::WideMatchCopy;

constexpr std::size_t kBlockOutput = 65536;
constexpr unsigned kSymbols = 512;
constexpr std::size_t kTableBytes = kSymbols / 2;
constexpr std::size_t kFirstBits = 4;  // bytes of bit stream the reader loads before the first symbol
constexpr unsigned kMaxCodeBits = 15;
constexpr unsigned kFastBits = 10;
constexpr unsigned kLiterals = 256;
constexpr unsigned kMinMatch = 3;
constexpr unsigned kLengthInSymbol = 15;
constexpr unsigned kLengthInByte = 255;

// The prefix code of one block.
class Code {
 public:
  // Reads kTableBytes of lengths; false when they are not a complete prefix code.
  bool Build(const std::byte* lengths);

  struct Symbol {
    unsigned value;
    unsigned bits;
  };
  // The symbol whose code starts `window`, a bit stream with its next bit on top.
  [[nodiscard]] Symbol Lookup(std::uint32_t window) const {
    const unsigned entry = fast_[window >> (32 - kFastBits)];
    if (entry != 0) return {entry & (kSymbols - 1), entry >> kSymbolBits};
    const std::uint32_t peek = window >> (32 - kMaxCodeBits);
    unsigned bits = kFastBits + 1;
    while (peek >= end_[bits]) ++bits;
    return {sorted_[(peek >> (kMaxCodeBits - bits)) - first_minus_rank_[bits]], bits};
  }

 private:
  static constexpr unsigned kSymbolBits = 9;

  std::array<std::uint16_t, std::size_t{1} << kFastBits> fast_;  // bits << 9 | symbol; 0: the code is longer
  std::array<std::uint16_t, kSymbols> sorted_;                   // symbols by (bits, value)
  // Per code length: the end of its codes and of all shorter ones, scaled to 15 bits, and the first code minus the
  // rank of its symbol (modulo 2^32).
  std::array<std::uint32_t, kMaxCodeBits + 1> end_;
  std::array<std::uint32_t, kMaxCodeBits + 1> first_minus_rank_;
};

bool Code::Build(const std::byte* lengths) {
  std::array<std::uint8_t, kSymbols> bits_of;
  std::array<std::uint32_t, kMaxCodeBits + 1> count{};
  for (std::size_t i = 0; i < kTableBytes; ++i) {
    const unsigned pair = Load8(lengths + i);
    bits_of[2 * i] = static_cast<std::uint8_t>(pair & 15);
    bits_of[2 * i + 1] = static_cast<std::uint8_t>(pair >> 4);
    ++count[pair & 15];
    ++count[pair >> 4];
  }

  std::array<std::uint32_t, kMaxCodeBits + 1> rank{};
  std::uint32_t end = 0;
  std::uint32_t symbols = 0;
  for (unsigned bits = 1; bits <= kMaxCodeBits; ++bits) {
    rank[bits] = symbols;
    first_minus_rank_[bits] = (end >> (kMaxCodeBits - bits)) - symbols;
    symbols += count[bits];
    end += count[bits] << (kMaxCodeBits - bits);
    end_[bits] = end;
  }
  if (end != std::uint32_t{1} << kMaxCodeBits) return false;

  for (unsigned symbol = 0; symbol < kSymbols; ++symbol) {
    if (bits_of[symbol] != 0) sorted_[rank[bits_of[symbol]]++] = static_cast<std::uint16_t>(symbol);
  }

  std::size_t filled = 0;
  std::uint32_t next = 0;
  for (unsigned bits = 1; bits <= kFastBits; ++bits) {
    for (std::uint32_t i = 0; i < count[bits]; ++i, ++next) {
      const auto entry = static_cast<std::uint16_t>(bits << kSymbolBits | sorted_[next]);
      const std::size_t copies = std::size_t{1} << (kFastBits - bits);
      std::fill_n(fast_.begin() + static_cast<std::ptrdiff_t>(filled), copies, entry);
      filled += copies;
    }
  }
  std::fill(fast_.begin() + static_cast<std::ptrdiff_t>(filled), fast_.end(), std::uint16_t{0});
  return true;
}

// Bit stream position. Words are loaded at the moments [MS-XCA] prescribes, because the bytes of long lengths stand
// between them.
class BitReader {
 public:
  // `in` has at least kFirstBits bytes before `end`.
  BitReader(const std::byte* in, const std::byte* end)
      : in_(in + kFirstBits), end_(end), window_(Load16(in) << 16 | Load16(in + 2)) {}

  [[nodiscard]] std::uint32_t window() const { return window_; }
  [[nodiscard]] const std::byte* position() const { return in_; }

  // Drops `bits` (at most 15) from the window. False when the input does not have that many: a missing word reads as
  // zeros, which only counts once its bits are used.
  [[nodiscard]] bool Consume(unsigned bits) {
    window_ <<= bits;
    extra_ -= static_cast<int>(bits);
    if (extra_ >= 0) return true;
    if (end_ - in_ >= 2) {
      window_ |= Load16(in_) << -extra_;
      in_ += 2;
      extra_ += 16;
      return true;
    }
    // A lone last byte is half of the missing word, not a length byte.
    in_ = end_;
    return extra_ >= -16;
  }

  // Next `size` (1, 2 or 4) bytes as a number into `value`; false when the input ends before.
  [[nodiscard]] bool ReadBytes(unsigned size, std::uint64_t& value) {
    if (static_cast<std::size_t>(end_ - in_) < size) return false;
    value = size == 1 ? Load8(in_) : size == 2 ? Load16(in_) : Load32(in_);
    in_ += size;
    return true;
  }

 private:
  const std::byte* in_;
  const std::byte* end_;
  std::uint32_t window_;
  int extra_ = 16;  // valid bits of window_ beyond 16; below 0 only at the end of the input
};

// Rest of a length whose 4-bit field is full, without the minimum match; kNone on success.
DecodeError ReadLongLength(BitReader& bits, std::uint64_t& length) {
  if (!bits.ReadBytes(1, length)) return DecodeError::kInputTruncated;
  if (length == kLengthInByte) {
    if (!bits.ReadBytes(2, length)) return DecodeError::kInputTruncated;
    if (length == 0 && !bits.ReadBytes(4, length)) return DecodeError::kInputTruncated;
    if (length < kLengthInSymbol) return DecodeError::kBadLength;
    length -= kLengthInSymbol;
  }
  length += kLengthInSymbol;
  return DecodeError::kNone;
}

struct State {
  const std::byte* in;
  std::byte* out;
};

DecodeError DecodeBlock(State& state, const Code& code, const std::byte* in_end, std::byte* out_begin,
                        std::byte* out_end) {
  BitReader bits(state.in, in_end);
  std::byte* out = state.out;
  std::byte* const block_end = out + std::min(kBlockOutput, static_cast<std::size_t>(out_end - out));
  DecodeError error = DecodeError::kNone;
  while (out < block_end) {
    state = {bits.position(), out};
    const Code::Symbol symbol = code.Lookup(bits.window());
    if (!bits.Consume(symbol.bits)) return DecodeError::kInputTruncated;
    if (symbol.value < kLiterals) {
      *out++ = static_cast<std::byte>(symbol.value);
      continue;
    }
    std::uint64_t length = symbol.value & 15;
    const unsigned offset_bits = (symbol.value - kLiterals) >> 4;
    if (length == kLengthInSymbol) {
      error = ReadLongLength(bits, length);
      if (error != DecodeError::kNone) return error;
    }
    length += kMinMatch;
    // Two shifts, because offset_bits may be 0 and a shift by 32 is undefined.
    const std::size_t offset = (std::size_t{1} << offset_bits) + (bits.window() >> 1 >> (31 - offset_bits));
    if (!bits.Consume(offset_bits)) return DecodeError::kInputTruncated;
    if (offset > static_cast<std::size_t>(out - out_begin)) return DecodeError::kBadOffset;
    const std::size_t room = static_cast<std::size_t>(out_end - out);
    if (length > room) return DecodeError::kOutputOverrun;
    const std::size_t size = static_cast<std::size_t>(length);
    if (size + kMatchCopySlack <= room) {
      WideMatchCopy(out, offset, size);
    } else {
      ExactMatchCopy(out, offset, size);
    }
    out += size;
  }
  state = {bits.position(), out};
  return DecodeError::kNone;
}

DecodeError DecodeBlocks(State& state, const std::byte* in_end, std::byte* out_begin, std::byte* out_end) {
  Code code;
  while (state.out != out_end) {
    const std::size_t left = static_cast<std::size_t>(in_end - state.in);
    if (left == 0) return DecodeError::kOutputShort;
    if (left < kTableBytes + kFirstBits) return DecodeError::kInputTruncated;
    if (!code.Build(state.in)) return DecodeError::kBadTable;
    state.in += kTableBytes;
    const DecodeError error = DecodeBlock(state, code, in_end, out_begin, out_end);
    if (error != DecodeError::kNone) return error;
  }
  return DecodeError::kNone;
}

}  // namespace

DecodeResult XpressHuffmanDecode(std::span<const std::byte> in, std::span<std::byte> out) {
  if (out.empty()) return {};
  if (in.empty()) return {DecodeError::kOutputShort, 0, 0};
  State state{in.data(), out.data()};
  const DecodeError error = DecodeBlocks(state, in.data() + in.size(), out.data(), out.data() + out.size());
  return {error, static_cast<std::size_t>(state.out - out.data()), static_cast<std::size_t>(state.in - in.data())};
}

}  // namespace etwpipe::xca

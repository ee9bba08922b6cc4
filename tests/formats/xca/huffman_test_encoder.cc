#include "tests/formats/xca/huffman_test_encoder.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace etwpipe::xca::testing {
namespace {

constexpr std::size_t kSymbols = 512;
constexpr unsigned kMaxBits = 15;
constexpr std::size_t kBlock = 65536;

using Lengths = std::array<unsigned, kSymbols>;

std::size_t SymbolOf(const HuffmanToken& token) {
  if (token.length == 0) return static_cast<std::size_t>(token.literal);
  const auto offset_bits = static_cast<std::size_t>(std::bit_width(token.offset) - 1);
  return 256 + offset_bits * 16 + static_cast<std::size_t>(std::min<std::uint64_t>(token.length - 3, 15));
}

// Code lengths of a Huffman code for `counts`, or nothing when a code would exceed 15 bits.
bool HuffmanLengths(const std::array<std::uint64_t, kSymbols>& counts, Lengths& lengths) {
  struct Node {
    int left = -1;
    int right = -1;
  };
  std::vector<Node> nodes;
  std::vector<std::size_t> symbol_of;
  using Entry = std::pair<std::uint64_t, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
    if (counts[symbol] == 0) continue;
    heap.emplace(counts[symbol], static_cast<int>(nodes.size()));
    nodes.push_back({});
    symbol_of.push_back(symbol);
  }
  const std::size_t leaves = nodes.size();
  while (heap.size() > 1) {
    const Entry a = heap.top();
    heap.pop();
    const Entry b = heap.top();
    heap.pop();
    heap.emplace(a.first + b.first, static_cast<int>(nodes.size()));
    nodes.push_back({a.second, b.second});
  }
  std::vector<unsigned> depth(nodes.size());
  lengths.fill(0);
  for (std::size_t i = nodes.size(); i-- > leaves;) {
    depth[static_cast<std::size_t>(nodes[i].left)] = depth[i] + 1;
    depth[static_cast<std::size_t>(nodes[i].right)] = depth[i] + 1;
  }
  for (std::size_t i = 0; i < leaves; ++i) {
    if (depth[i] > kMaxBits) return false;
    lengths[symbol_of[i]] = depth[i];
  }
  return true;
}

// Lengths 1, 2, 3 ... for the used symbols; from 8 bits on what is left of the code space is dealt out evenly.
Lengths SteepLengths(const std::array<std::uint64_t, kSymbols>& counts) {
  std::vector<std::size_t> used;
  for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
    if (counts[symbol] != 0) used.push_back(symbol);
  }
  Lengths lengths{};
  std::size_t space = std::size_t{1} << kMaxBits;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::size_t left = used.size() - i;
    unsigned bits = 1;
    // The largest share that leaves at least one 15-bit code for each of the others; all of it for the last symbol.
    while ((std::size_t{1} << (kMaxBits - bits)) + (left - 1) > space) ++bits;
    if (left == 1) bits = kMaxBits + 1 - static_cast<unsigned>(std::bit_width(space));
    lengths[used[i]] = bits;
    space -= std::size_t{1} << (kMaxBits - bits);
  }
  return lengths;
}

// The 16-bit words of the bit stream have their place reserved when a reader would load them: two at the start, and one
// each time the bits in hand go below 16 for it.
class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {
    current_at_ = Reserve();
    next_at_ = Reserve();
  }

  void Bits(std::uint32_t value, unsigned count) {
    for (unsigned i = count; i-- > 0;) {
      if (used_ == 16) {
        used_ = 0;
        current_at_ = next_at_;
        next_at_ = Reserve();
      }
      if ((value >> i & 1) != 0) {
        const unsigned bit = 15 - used_;
        out_[current_at_ + bit / 8] |= static_cast<std::byte>(1u << (bit % 8));
      }
      ++used_;
    }
  }

  void RawBytes(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) out_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  }

 private:
  std::size_t Reserve() {
    out_.resize(out_.size() + 2);
    return out_.size() - 2;
  }

  Bytes& out_;
  std::size_t current_at_ = 0;
  std::size_t next_at_ = 0;
  unsigned used_ = 0;  // bits written to the current word
};

}  // namespace

Bytes HuffmanBlock(std::span<const HuffmanToken> tokens, bool last, bool steep_codes) {
  std::array<std::uint64_t, kSymbols> counts{};
  for (const HuffmanToken& token : tokens) ++counts[SymbolOf(token)];
  if (last) ++counts[256];
  // A code has at least two symbols.
  for (std::size_t symbol = 0; std::count(counts.begin(), counts.end(), 0u) > 510; ++symbol) {
    if (counts[symbol] == 0) counts[symbol] = 1;
  }

  Lengths lengths{};
  if (steep_codes) {
    lengths = SteepLengths(counts);
  } else {
    while (!HuffmanLengths(counts, lengths)) {
      for (std::uint64_t& count : counts) count = (count + 1) / 2;
    }
  }

  Bytes out;
  for (std::size_t i = 0; i < kSymbols; i += 2) {
    out.push_back(static_cast<std::byte>(lengths[i] | lengths[i + 1] << 4));
  }
  std::array<std::uint32_t, kSymbols> codes{};
  std::uint32_t next_code = 0;
  for (unsigned bits = 1; bits <= kMaxBits; ++bits, next_code <<= 1) {
    for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
      if (lengths[symbol] == bits) codes[symbol] = next_code++;
    }
  }

  BitWriter writer(out);
  for (const HuffmanToken& token : tokens) {
    const std::size_t symbol = SymbolOf(token);
    writer.Bits(codes[symbol], lengths[symbol]);
    if (token.length == 0) continue;
    const std::uint64_t stored = token.length - 3;
    if (stored >= 15) {
      if (stored - 15 < 255) {
        writer.RawBytes(stored - 15, 1);
      } else {
        writer.RawBytes(255, 1);
        writer.RawBytes(stored <= 65535 ? stored : 0, 2);
        if (stored > 65535) writer.RawBytes(stored, 4);
      }
    }
    const auto offset_bits = static_cast<unsigned>(std::bit_width(token.offset) - 1);
    writer.Bits(static_cast<std::uint32_t>(token.offset - (std::size_t{1} << offset_bits)), offset_bits);
  }
  if (last) writer.Bits(codes[256], lengths[256]);
  return out;
}

Bytes HuffmanEncode(std::span<const std::byte> plain, const HuffmanOptions& options) {
  Bytes stream;
  std::map<std::uint32_t, std::size_t> seen;
  std::size_t position = 0;
  while (position < plain.size()) {
    const std::size_t block_end = std::min(position + kBlock, plain.size());
    std::vector<HuffmanToken> tokens;
    while (position < block_end) {
      const std::size_t limit = (options.cross_blocks ? plain.size() : block_end) - position;
      std::size_t length = 0;
      std::size_t offset = 0;
      if (options.matches && plain.size() - position >= 3) {
        std::uint32_t key = 0;
        for (std::size_t i = 0; i < 3; ++i) key = key << 8 | static_cast<std::uint32_t>(plain[position + i]);
        const auto [it, is_new] = seen.try_emplace(key, position);
        if (!is_new && position - it->second < 65536) {
          offset = position - it->second;
          while (length < limit && plain[position + length] == plain[position + length - offset]) ++length;
        }
        it->second = position;
      }
      if (length < 3) {
        tokens.push_back({plain[position++], 0, 0});
      } else {
        tokens.push_back({{}, length, offset});
        position += length;
      }
    }
    const Bytes block = HuffmanBlock(tokens, position == plain.size(), options.steep_codes);
    stream.insert(stream.end(), block.begin(), block.end());
  }
  return stream;
}

}  // namespace etwpipe::xca::testing

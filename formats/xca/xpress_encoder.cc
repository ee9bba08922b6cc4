#include "formats/xca/xpress_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "formats/xca/little_endian.h"

// Stream layout: see xpress.cc. The match finder keeps, per hash of 4 bytes, a chain of the earlier positions in the
// window, newest first, of which it tries a few, and per hash of 3 bytes only the newest position, which is what short
// matches are worth. A match is put off by one literal when the next position has a longer one.
//
// Every choice depends on the input alone, so output is reproducible; the size of the output span only decides whether
// the result is given up.

namespace etwpipe::xca {
namespace {

using internal::Load32;
using internal::Load64;
using internal::Load8;
using internal::Store16;
using internal::Store32;

constexpr std::size_t kWindow = 8192;
constexpr std::size_t kMinMatch = 3;
// Longest match whose length fits the 16-bit form. Longer ones are split: the 32-bit form came later to [MS-XCA] and
// costs older readers the buffer.
constexpr std::size_t kMaxMatch = 65535 + kMinMatch;
constexpr std::size_t kLengthInWord = 7;
constexpr std::size_t kLengthInNibble = 15;
constexpr std::size_t kLengthInByte = 255;

constexpr unsigned kHash4Bits = 14;
constexpr unsigned kHash3Bits = 12;
// Measured on the buffers of net.4.5.2.x64.etl and DynamicEvents.etl: 4 tries and 16 are as fast and 1 to 2 % larger; 8
// tries are 0.5 to 1 % smaller at 0.95 of the speed, 2 tries 3 % larger and hardly faster.
constexpr int kMaxChain = 6;               // positions tried per search
constexpr std::size_t kGoodMatch = 24;     // ends a search
constexpr std::size_t kLazyBelow = 8;      // shorter matches are checked against the next position
constexpr std::size_t kInsertedTail = 32;  // of a match, only this many last positions enter the tables

constexpr std::uint32_t kNoPosition = 0xFFFFFFFF;

}  // namespace

struct XpressEncoder::Tables {
  std::array<std::uint32_t, std::size_t{1} << kHash4Bits> newest4;
  std::array<std::uint32_t, std::size_t{1} << kHash3Bits> newest3;
  // Per position modulo kWindow, the previous one with the same hash of 4 bytes. Not reset between calls: only
  // positions of this call are reachable from the tables above.
  std::array<std::uint32_t, kWindow> previous;
};

void XpressEncoder::DeleteTables::operator()(Tables* tables) const { delete tables; }

XpressEncoder::XpressEncoder() : tables_(new Tables) {}

namespace {

struct Match {
  std::size_t length = 0;  // below kMinMatch: none
  std::size_t offset = 0;
};

// A template only because XpressEncoder::Tables is private.
template <typename Tables>
class MatchFinder {
 public:
  MatchFinder(std::span<const std::byte> in, Tables& tables) : in_(in.data()), size_(in.size()), tables_(tables) {
    tables_.newest4.fill(kNoPosition);
    tables_.newest3.fill(kNoPosition);
  }

  // Positions below this one can be looked up and entered.
  [[nodiscard]] std::size_t search_end() const { return size_ < 4 ? 0 : size_ - 3; }

  // Best match at `position` longer than `beat`, then enters the position.
  [[nodiscard]] Match FindAndInsert(std::size_t position, std::size_t beat) {
    const std::byte* const here = in_ + position;
    const std::uint32_t next4 = Load32(here);
    std::uint32_t& newest4 = tables_.newest4[Hash4(next4)];
    std::uint32_t& newest3 = tables_.newest3[Hash3(next4)];
    const std::size_t limit = std::min(size_ - position, kMaxMatch);

    Match best{beat, 0};
    const std::uint32_t candidate3 = newest3;
    if (best.length < kMinMatch && InWindow(candidate3, position) &&
        ((Load32(in_ + candidate3) ^ next4) & 0xFFFFFF) == 0) {
      best = {MatchLength(candidate3, position, limit), position - candidate3};
    }
    std::uint32_t candidate = newest4;
    for (int tries = kMaxChain; tries > 0 && InWindow(candidate, position); --tries) {
      if (best.length >= limit || best.length >= kGoodMatch) break;
      const std::byte* const there = in_ + candidate;
      if (there[best.length] == here[best.length] && Load32(there) == next4) {
        const std::size_t length = MatchLength(candidate, position, limit);
        if (length > best.length) best = {length, position - candidate};
      }
      candidate = tables_.previous[candidate % kWindow];
    }

    tables_.previous[position % kWindow] = newest4;
    newest4 = static_cast<std::uint32_t>(position);
    newest3 = static_cast<std::uint32_t>(position);
    return best.offset == 0 ? Match{} : best;
  }

  void Insert(std::size_t position) {
    const std::uint32_t next4 = Load32(in_ + position);
    std::uint32_t& newest4 = tables_.newest4[Hash4(next4)];
    tables_.previous[position % kWindow] = newest4;
    newest4 = static_cast<std::uint32_t>(position);
    tables_.newest3[Hash3(next4)] = static_cast<std::uint32_t>(position);
  }

 private:
  static std::size_t Hash4(std::uint32_t bytes) { return bytes * 2654435761u >> (32 - kHash4Bits); }
  static std::size_t Hash3(std::uint32_t bytes) { return (bytes << 8) * 506832829u >> (32 - kHash3Bits); }

  // Also false for kNoPosition, which is larger than any position.
  static bool InWindow(std::uint32_t candidate, std::size_t position) {
    return candidate < position && position - candidate <= kWindow;
  }

  std::size_t MatchLength(std::size_t candidate, std::size_t position, std::size_t limit) const {
    const std::byte* const there = in_ + candidate;
    const std::byte* const here = in_ + position;
    std::size_t length = 0;
    while (length + 8 <= limit) {
      const std::uint64_t difference = Load64(there + length) ^ Load64(here + length);
      if (difference != 0) return length + static_cast<std::size_t>(std::countr_zero(difference)) / 8;
      length += 8;
    }
    while (length < limit && there[length] == here[length]) ++length;
    return length;
  }

  const std::byte* in_;
  std::size_t size_;
  Tables& tables_;
};

// Writes symbols and their flag words; every call returns false when the output is too small.
class SymbolWriter {
 public:
  explicit SymbolWriter(std::span<std::byte> out)
      : begin_(out.data()), next_(out.data()), end_(out.data() + out.size()) {}

  // Must be called once, first.
  [[nodiscard]] bool Start() { return ReserveFlagWord(); }

  [[nodiscard]] bool Literal(std::byte value) {
    if (next_ == end_) return false;
    *next_++ = value;
    return Flag(0);
  }

  [[nodiscard]] bool Copy(const Match& match) {
    // [MS-XCA] 2.3.4: every form holds what the shorter ones could not.
    std::size_t rest = match.length - kMinMatch;
    const std::size_t in_word = std::min(rest, kLengthInWord);
    if (!Word((match.offset - 1) << 3 | in_word)) return false;
    if (in_word < kLengthInWord) return Flag(1);
    rest -= kLengthInWord;

    const std::size_t in_nibble = std::min(rest, kLengthInNibble);
    if (nibble_ != nullptr) {
      *nibble_ |= static_cast<std::byte>(in_nibble << 4);
      nibble_ = nullptr;
    } else {
      nibble_ = next_;
      if (!Byte(in_nibble)) return false;
    }
    if (in_nibble < kLengthInNibble) return Flag(1);
    rest -= kLengthInNibble;

    if (rest < kLengthInByte) return Byte(rest) && Flag(1);
    return Byte(kLengthInByte) && Word(match.length - kMinMatch) && Flag(1);
  }

  // Marks the end with 1 bits and returns the size of the stream, in bytes.
  [[nodiscard]] std::size_t Finish() {
    Store32(flag_word_, static_cast<std::uint32_t>((flags_ << (32 - flag_count_)) |
                                                   ((std::uint64_t{1} << (32 - flag_count_)) - 1)));
    return static_cast<std::size_t>(next_ - begin_);
  }

 private:
  [[nodiscard]] bool Byte(std::size_t value) {
    if (next_ == end_) return false;
    *next_++ = static_cast<std::byte>(value);
    return true;
  }

  [[nodiscard]] bool Word(std::size_t value) {
    if (end_ - next_ < 2) return false;
    Store16(next_, static_cast<std::uint32_t>(value));
    next_ += 2;
    return true;
  }

  [[nodiscard]] bool Flag(unsigned bit) {
    flags_ = flags_ << 1 | bit;
    if (++flag_count_ < 32) return true;
    Store32(flag_word_, static_cast<std::uint32_t>(flags_));
    return ReserveFlagWord();
  }

  // Done as soon as the previous word is full, as the Windows encoder does, also when no symbol follows: a reader that
  // looks for the end mark finds one.
  [[nodiscard]] bool ReserveFlagWord() {
    if (end_ - next_ < 4) return false;
    flag_word_ = next_;
    next_ += 4;
    flags_ = 0;
    flag_count_ = 0;
    return true;
  }

  std::byte* begin_;
  std::byte* next_;
  std::byte* end_;
  std::byte* flag_word_ = nullptr;
  std::byte* nibble_ = nullptr;  // length byte whose high half is free
  std::uint64_t flags_ = 0;
  unsigned flag_count_ = 0;
};

}  // namespace

std::size_t XpressEncode(std::span<const std::byte> in, std::span<std::byte> out, XpressEncoder& scratch) {
  if (in.size() > kXpressMaxInput) return 0;
  SymbolWriter writer(out);
  if (!writer.Start()) return 0;
  MatchFinder finder(in, *scratch.tables_);
  const std::size_t search_end = finder.search_end();

  std::size_t position = 0;
  while (position < search_end) {
    Match match = finder.FindAndInsert(position, kMinMatch - 1);
    if (match.length < kMinMatch) {
      if (!writer.Literal(in[position++])) return 0;
      continue;
    }
    std::size_t entered = position + 1;
    while (match.length < kLazyBelow && entered < search_end) {
      const Match later = finder.FindAndInsert(entered, match.length);
      ++entered;
      if (later.length <= match.length) break;
      if (!writer.Literal(in[position++])) return 0;
      match = later;
    }
    if (!writer.Copy(match)) return 0;
    const std::size_t match_end = position + match.length;
    position = match_end;
    const std::size_t insert_end = std::min(match_end, search_end);
    if (match.length > kInsertedTail) entered = std::max(entered, match_end - kInsertedTail);
    for (; entered < insert_end; ++entered) finder.Insert(entered);
  }
  for (; position < in.size(); ++position) {
    if (!writer.Literal(in[position])) return 0;
  }
  return writer.Finish();
}

}  // namespace etwpipe::xca

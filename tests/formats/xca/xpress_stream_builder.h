#ifndef ETWPIPE_TESTS_FORMATS_XCA_XPRESS_STREAM_BUILDER_H_
#define ETWPIPE_TESTS_FORMATS_XCA_XPRESS_STREAM_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/formats/xca/test_bytes.h"

namespace etwpipe::xca::testing {

// How the length of a match is written ([MS-XCA] 2.4.4), shortest form first.
enum class LengthForm { kWord, kNibble, kByte, k16Bit, k32Bit };

// The shortest form for a match of `length` bytes.
inline LengthForm ShortestForm(std::size_t length) {
  if (length < 7 + 3) return LengthForm::kWord;
  if (length < 15 + 7 + 3) return LengthForm::kNibble;
  if (length < 255 + 15 + 7 + 3) return LengthForm::kByte;
  return length - 3 <= 65535 ? LengthForm::k16Bit : LengthForm::k32Bit;
}

// Puts together an XPRESS plain LZ77 stream symbol by symbol, along with the bytes it stands for. Writes what it is
// told to, also when that is not a valid stream; plain() then ends at the first symbol without meaning.
class XpressStreamBuilder {
 public:
  XpressStreamBuilder& Literal(std::byte value) {
    BeginSymbol(0);
    stream_.push_back(value);
    plain_.push_back(value);
    return *this;
  }

  XpressStreamBuilder& Literals(std::string_view text) {
    for (const char c : text) Literal(static_cast<std::byte>(c));
    return *this;
  }

  XpressStreamBuilder& Match(std::size_t offset, std::size_t length) {
    return Match(offset, length, ShortestForm(length));
  }

  XpressStreamBuilder& Match(std::size_t offset, std::size_t length, LengthForm form) {
    RawMatch(offset, length - 3, form);
    if (offset <= plain_.size()) {
      for (std::size_t i = 0; i < length; ++i) plain_.push_back(plain_[plain_.size() - offset]);
    }
    return *this;
  }

  // A match whose length field holds `stored` (match length - 3) in `form`, meaningful or not; plain() ignores it.
  XpressStreamBuilder& RawMatch(std::size_t offset, std::size_t stored, LengthForm form) {
    BeginSymbol(1);
    const std::size_t in_word = form == LengthForm::kWord ? stored : 7;
    Put((offset - 1) << 3 | in_word, 2);
    if (form == LengthForm::kWord) return *this;
    const std::size_t nibble = form == LengthForm::kNibble ? stored - 7 : 15;
    if (half_at_ == 0) {
      half_at_ = stream_.size();
      Put(nibble, 1);
    } else {
      stream_[half_at_] |= static_cast<std::byte>(nibble << 4);
      half_at_ = 0;
    }
    if (form == LengthForm::kByte) Put(stored - 7 - 15, 1);
    if (form == LengthForm::k16Bit || form == LengthForm::k32Bit) Put(255, 1);
    if (form == LengthForm::k16Bit) Put(stored, 2);
    if (form == LengthForm::k32Bit) {
      Put(0, 2);
      Put(stored, 4);
    }
    return *this;
  }

  // The stream with the rest of the last flag word filled with 1 bits.
  [[nodiscard]] Bytes Finish() const {
    Bytes stream = stream_;
    if (flag_count_ < 32) {
      const std::uint32_t ones = flag_count_ == 0 ? 0xFFFFFFFF : (std::uint32_t{1} << (32 - flag_count_)) - 1;
      Patch(stream, flags_ | ones);
    }
    return stream;
  }

  [[nodiscard]] const Bytes& plain() const { return plain_; }

 private:
  void BeginSymbol(std::uint32_t bit) {
    if (flag_count_ == 32) {
      flag_at_ = stream_.size();
      stream_.resize(stream_.size() + 4);
      flags_ = 0;
      flag_count_ = 0;
    }
    flags_ |= bit << (31 - flag_count_++);
    Patch(stream_, flags_);
  }

  void Put(std::size_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) stream_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  }

  void Patch(Bytes& stream, std::uint32_t flags) const {
    for (unsigned i = 0; i < 4; ++i) stream[flag_at_ + i] = static_cast<std::byte>(flags >> (8 * i) & 0xFF);
  }

  Bytes stream_ = Bytes(4);
  Bytes plain_;
  std::size_t flag_at_ = 0;
  std::uint32_t flags_ = 0;
  unsigned flag_count_ = 0;
  std::size_t half_at_ = 0;  // length byte with a free high half; 0: none
};

}  // namespace etwpipe::xca::testing

#endif  // ETWPIPE_TESTS_FORMATS_XCA_XPRESS_STREAM_BUILDER_H_

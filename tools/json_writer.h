// JSON with the rules of this program: integers beyond 2^53 and ids as strings, text that is not UTF-8 repaired.
#pragma once

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <utf8.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace etwpipe {

/// `text` itself if it is UTF-8, otherwise a copy in `repaired` with U+FFFD in place of what is not.
inline std::string_view ValidUtf8(std::string_view text, std::string& repaired) {
  if (utf8::is_valid(text.begin(), text.end())) return text;
  repaired.clear();
  utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(repaired));
  return repaired;
}

/// Whether `text` is ASCII that JSON takes as it is: no control characters, quotes or backslashes.
inline bool IsPlainJson(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  constexpr uint64_t kHighs = kOnes * 0x80;
  const auto has_zero = [](uint64_t word) { return (word - kOnes) & ~word; };
  uint64_t special = 0;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    special |= word | has_zero(word ^ kOnes * '"') | has_zero(word ^ kOnes * '\\') | has_zero(word & kOnes * 0xE0);
  }
  if ((special & kHighs) != 0) return false;
  for (; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') return false;
  }
  return true;
}

/// Writes one JSON value after the other into memory; keys in the order of the calls.
class JsonWriter {
 public:
  JsonWriter() : writer_(buffer_) {}

  void BeginObject() { writer_.StartObject(); }
  void EndObject() { writer_.EndObject(); }
  void BeginArray() { writer_.StartArray(); }
  void EndArray() { writer_.EndArray(); }
  JsonWriter& Key(std::string_view key) {
    if (IsPlainJson(key)) {
      PutQuoted(key);
    } else {
      writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    }
    return *this;
  }

  void Null() { writer_.Null(); }
  void Bool(bool value) { writer_.Bool(value); }
  void String(std::string_view text) {
    if (IsPlainJson(text)) return PutQuoted(text);
    const std::string_view valid = ValidUtf8(text, repaired_);
    writer_.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
  }
  /// Null for an empty text.
  void StringOrNull(std::string_view text) { text.empty() ? Null() : String(text); }
  void Uint(uint64_t value) {
    if (value <= kMaxExact) {
      writer_.Uint64(value);
    } else {
      Id(value);
    }
  }
  void Int(int64_t value) {
    if (value >= -static_cast<int64_t>(kMaxExact) && value <= static_cast<int64_t>(kMaxExact)) {
      writer_.Int64(value);
    } else {
      const fmt::format_int text(value);
      writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    }
  }
  /// Decimal digits in a string, whatever the size.
  void Id(uint64_t value) {
    const fmt::format_int text(value);
    PutQuoted({text.data(), text.size()});
  }
  void Hex(uint64_t value) {
    constexpr char kDigits[] = "0123456789abcdef";
    char text[18];
    char* at = text + sizeof text;
    do {
      *--at = kDigits[value & 15];
      value >>= 4;
    } while (value != 0);
    *--at = 'x';
    *--at = '0';
    PutQuoted({at, static_cast<size_t>(text + sizeof text - at)});
  }
  /// The shortest text that reads back as this float. Null where JSON has no number for it.
  void Float(float value) {
    if (!std::isfinite(value)) return Null();
    char text[40];
    const auto end = fmt::format_to(text, "{}", value);
    writer_.RawValue(text, static_cast<size_t>(end - text), rapidjson::kNumberType);
  }
  /// Null where JSON has no number for it.
  void Double(double value) { std::isfinite(value) ? writer_.Double(value) : writer_.Null(); }

  std::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }
  /// Ready for another root value; what was written stays and is followed by a line end.
  void EndLine() {
    buffer_.Put('\n');
    writer_.Reset(buffer_);
  }
  /// Forgets the text and keeps its memory.
  void Clear() {
    buffer_.Clear();
    writer_.Reset(buffer_);
  }

 private:
  // A string that needs no escapes. The writer puts what stands before it; the bytes go past its loop over characters.
  void PutQuoted(std::string_view text) {
    writer_.RawValue("", 0, rapidjson::kStringType);
    char* out = buffer_.Push(text.size() + 2);
    *out = '"';
    std::memcpy(out + 1, text.data(), text.size());
    out[text.size() + 1] = '"';
  }

  static constexpr uint64_t kMaxExact = uint64_t{1} << 53;

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_;
  std::string repaired_;
};

}  // namespace etwpipe

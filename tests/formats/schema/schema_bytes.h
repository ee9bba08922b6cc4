// Byte strings for the tests of schemas, and decoded events as one line of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::schema {

/// Appends little-endian values, packed.
class Bytes {
 public:
  template <typename T>
  Bytes& Add(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    StoreAt(bytes_.data(), bytes_.size() - sizeof value, value);
    return *this;
  }
  Bytes& U8(uint8_t value) { return Add(value); }
  Bytes& U16(uint16_t value) { return Add(value); }
  Bytes& U32(uint32_t value) { return Add(value); }
  Bytes& U64(uint64_t value) { return Add(value); }
  Bytes& Raw(std::string_view text) {
    for (const char c : text) Add(c);
    return *this;
  }
  /// Narrow text and its NUL.
  Bytes& Text(std::string_view text) { return Raw(text).U8(0); }
  Bytes& RawWide(std::u16string_view text) {
    for (const char16_t c : text) Add(c);
    return *this;
  }
  /// UTF-16 and its NUL.
  Bytes& Wide(std::u16string_view text) { return RawWide(text).U16(0); }
  Bytes& Hex(std::string_view digits) {
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      U8(static_cast<uint8_t>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16)));
    }
    return *this;
  }

  template <typename T>
  void Set(size_t offset, T value) {
    StoreAt(bytes_.data(), offset, value);
  }
  size_t size() const { return bytes_.size(); }
  operator std::span<const std::byte>() const { return bytes_; }
  std::span<const std::byte> first(size_t count) const { return std::span(bytes_).first(count); }

 private:
  std::vector<std::byte> bytes_;
};

/// Decoded fields as text: A=1 B=[1 2] S={X=3 Y='text'}.
inline std::string Render(const EventSchema& schema, std::span<const std::byte> payload, const DecodedFields& fields) {
  std::string text;
  const auto separate = [&] {
    if (!text.empty() && text.back() != '[' && text.back() != '{') text += ' ';
  };
  int in_array = 0;  // elements have no names
  std::vector<int> outer;
  Value value;
  for (const Token& token : fields.tokens) {
    const Property& property = schema.properties[token.property];
    const bool opens = token.kind != TokenKind::kArrayEnd && token.kind != TokenKind::kStructEnd;
    if (opens) separate();
    if (opens && in_array == 0) text += property.name + '=';
    switch (token.kind) {
      case TokenKind::kArrayBegin:
        text += '[';
        outer.push_back(in_array);
        in_array = 1;
        break;
      case TokenKind::kStructBegin:
        text += '{';
        outer.push_back(in_array);
        in_array = 0;
        break;
      case TokenKind::kArrayEnd:
      case TokenKind::kStructEnd:
        text += token.kind == TokenKind::kArrayEnd ? ']' : '}';
        in_array = outer.back();
        outer.pop_back();
        break;
      case TokenKind::kValue:
        ReadValue(property, payload.subspan(token.offset, token.size), value);
        if (value.kind == ValueKind::kText) text += '\'';
        AppendText(value, text);
        if (value.kind == ValueKind::kText) text += '\'';
        break;
    }
  }
  return text;
}

inline std::string_view ToString(DecodeOutcome outcome) {
  constexpr std::string_view kNames[] = {"complete", "extra", "short", "bad"};
  return kNames[static_cast<size_t>(outcome)];
}

/// Decodes and renders; what is not complete says so in front: "short: A=1".
inline std::string DecodeText(const EventSchema& schema, std::span<const std::byte> payload,
                              uint32_t pointer_size = 8) {
  DecodedFields fields;
  const DecodeOutcome outcome = Decode(schema, payload, pointer_size, fields);
  const std::string text = Render(schema, payload, fields);
  return outcome == DecodeOutcome::kComplete ? text : std::string(ToString(outcome)) + ": " + text;
}

}  // namespace etwpipe::schema

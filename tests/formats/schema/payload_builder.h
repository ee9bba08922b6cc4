// Payloads built from a written list of fields, with what a decoder must find in them.
//
// The list is that of clr-events.tsv: NAME:TYPE, TYPE being UInt32, UnicodeString, ... or struct{NAME:TYPE;...}, either
// followed by [N] or [NAME of an earlier field] where it is an array.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/decoder.h"

namespace etwpipe::test {

struct ListedField {
  std::string name;
  std::string type;   ///< empty for a struct
  std::string count;  ///< empty, a number or the name of an earlier field
  std::vector<ListedField> members;
};

/// Reads a list whose items are separated by `separator`.
inline std::vector<ListedField> ParseFieldList(std::string_view text, char separator = ',') {
  std::vector<ListedField> fields;
  while (!text.empty()) {
    size_t end = 0;
    for (int depth = 0; end < text.size() && (depth > 0 || text[end] != separator); ++end) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    }
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ListedField field;
    const size_t colon = item.find(':');
    field.name = item.substr(0, colon);
    item.remove_prefix(colon + 1);
    if (item.ends_with(']')) {
      const size_t bracket = item.rfind('[');
      field.count = item.substr(bracket + 1, item.size() - bracket - 2);
      item = item.substr(0, bracket);
    }
    constexpr std::string_view kStruct = "struct{";
    if (item.starts_with(kStruct)) {
      field.members = ParseFieldList(item.substr(kStruct.size(), item.size() - kStruct.size() - 1), ';');
    } else {
      field.type = item;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

/// One step that the decoder must give.
struct ExpectedToken {
  schema::TokenKind kind{};
  std::string name;
  schema::InType in{};
  std::string bytes;    ///< of a value
  size_t elements = 0;  ///< of an array
};

/// Every value is different from the others of its width, so that a field at the wrong place shows.
class PayloadBuilder {
 public:
  explicit PayloadBuilder(uint32_t pointer_size) : pointer_size_(pointer_size) {}

  void Add(const std::vector<ListedField>& fields) {
    std::map<std::string, size_t> counts;
    for (const ListedField& field : fields) {
      if (!field.count.empty() && !IsNumber(field.count)) counts[field.count] = kElements;
    }
    for (const ListedField& field : fields) {
      if (field.count.empty() || IsBinary(field)) {
        const auto count = counts.find(field.name);
        Element(field, count == counts.end() ? nullptr : &count->second);
        continue;
      }
      const size_t elements = IsNumber(field.count) ? std::stoul(field.count) : kElements;
      expected.push_back({schema::TokenKind::kArrayBegin, field.name, TypeOf(field), {}, elements});
      for (size_t i = 0; i < elements; ++i) Element(field, nullptr);
      expected.push_back({schema::TokenKind::kArrayEnd, field.name, TypeOf(field), {}, 0});
    }
  }

  std::span<const std::byte> payload() const {
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  }

  std::string bytes;
  std::vector<ExpectedToken> expected;

 private:
  static constexpr size_t kElements = 3;

  static bool IsNumber(const std::string& text) { return text[0] >= '0' && text[0] <= '9'; }

  // Bytes with a count of their own are one value.
  static bool IsBinary(const ListedField& field) {
    return field.type == "UInt8" && !field.count.empty() && !IsNumber(field.count);
  }

  static schema::InType TypeOf(const ListedField& field) {
    using enum schema::InType;
    static const std::map<std::string, schema::InType> kTypes = {
        {"UInt8", kUInt8},           {"UInt16", kUInt16},
        {"UInt32", kUInt32},         {"UInt64", kUInt64},
        {"Int32", kInt32},           {"Int64", kInt64},
        {"Double", kDouble},         {"Pointer", kPointer},
        {"Boolean", kBoolean},       {"UnicodeString", kUnicodeString},
        {"AnsiString", kAnsiString}, {"GUID", kGuid}};
    if (field.type.empty()) return kStruct;
    if (IsBinary(field)) return kBinary;
    const auto type = kTypes.find(field.type);
    EXPECT_NE(type, kTypes.end()) << field.type;
    return type == kTypes.end() ? kNull : type->second;
  }

  void Element(const ListedField& field, const size_t* count) {
    const schema::InType in = TypeOf(field);
    if (in == schema::InType::kStruct) {
      expected.push_back({schema::TokenKind::kStructBegin, field.name, in, {}, 0});
      Add(field.members);
      expected.push_back({schema::TokenKind::kStructEnd, field.name, in, {}, 0});
      return;
    }
    ++next_;
    std::string value;
    std::string terminator;
    if (in == schema::InType::kUnicodeString) {
      // U+1E00 and on are two bytes that are no terminator in either half.
      for (const char c : "w" + std::to_string(next_)) value += {c, '\x1e'};
      terminator.assign(2, '\0');
    } else if (in == schema::InType::kAnsiString) {
      value = "n" + std::to_string(next_);
      terminator.assign(1, '\0');
    } else if (in == schema::InType::kBinary) {
      value.assign(kElements, static_cast<char>(next_));
    } else if (in == schema::InType::kGuid) {
      value.assign(16, static_cast<char>(next_));
    } else if (in == schema::InType::kDouble) {
      const double number = static_cast<double>(next_) + 0.5;
      value.assign(reinterpret_cast<const char*>(&number), sizeof number);
    } else {
      const size_t size = schema::FixedSize(in, pointer_size_);
      uint64_t number = next_;
      if (size > 1) number |= uint64_t{0xA5} << (8 * size - 8);
      if (count != nullptr) number = *count;
      value.assign(reinterpret_cast<const char*>(&number), size);
    }
    expected.push_back({schema::TokenKind::kValue, field.name, in, value, 0});
    bytes += value + terminator;
  }

  uint32_t pointer_size_;
  uint64_t next_ = 0;
};

/// Checks that `schema` finds in the payload what was put into it, all of it, and says so of every shorter payload.
inline void ExpectDecodes(const schema::EventSchema& schema, const PayloadBuilder& built, uint32_t pointer_size) {
  schema::DecodedFields fields;
  ASSERT_EQ(schema::Decode(schema, built.payload(), pointer_size, fields), schema::DecodeOutcome::kComplete);
  ASSERT_EQ(fields.tokens.size(), built.expected.size());
  for (size_t i = 0; i < fields.tokens.size(); ++i) {
    const schema::Token& token = fields.tokens[i];
    const ExpectedToken& expected = built.expected[i];
    const schema::Property& property = schema.properties[token.property];
    ASSERT_EQ(property.name, expected.name) << "token " << i;
    ASSERT_EQ(token.kind, expected.kind) << expected.name;
    ASSERT_EQ(property.in, expected.in) << expected.name;
    if (token.kind == schema::TokenKind::kArrayBegin) {
      ASSERT_EQ(token.size, expected.elements) << expected.name;
    }
    if (token.kind == schema::TokenKind::kValue) {
      ASSERT_EQ(built.bytes.substr(token.offset, token.size), expected.bytes) << expected.name;
    }
  }
  for (size_t size = 0; size < built.bytes.size(); ++size) {
    const auto outcome = schema::Decode(schema, built.payload().first(size), pointer_size, fields);
    ASSERT_EQ(outcome, schema::DecodeOutcome::kShort) << size << " of " << built.bytes.size();
    ASSERT_LE(fields.consumed, size);
  }
}

}  // namespace etwpipe::test

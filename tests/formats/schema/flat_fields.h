// Fields of a decoded event as a flat list, for comparing.
#pragma once

#include <string>
#include <vector>

#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"

namespace etwpipe::test {

struct FlatField {
  std::string path;  ///< Count, Values[0].TypeID, Stack[1]
  std::string text;
  schema::Value value;
  size_t size = 0;  ///< bytes
};

/// The values of an event in their order.
inline std::vector<FlatField> Flatten(const schema::EventSchema& schema, std::span<const std::byte> payload,
                                      uint32_t pointer_size, schema::DecodeOutcome* outcome = nullptr) {
  schema::DecodedFields decoded;
  const auto result = schema::Decode(schema, payload, pointer_size, decoded);
  if (outcome != nullptr) *outcome = result;
  // What encloses the current token: the text before names of members, or an array and its next index.
  struct Frame {
    std::string prefix;
    bool array = false;
    size_t next = 0;
  };
  std::vector<Frame> frames{{}};
  std::vector<FlatField> fields;
  for (const schema::Token& token : decoded.tokens) {
    if (token.kind == schema::TokenKind::kArrayEnd || token.kind == schema::TokenKind::kStructEnd) {
      frames.pop_back();
      continue;
    }
    Frame& frame = frames.back();
    const schema::Property& property = schema.properties[token.property];
    const std::string path =
        frame.array ? frame.prefix + "[" + std::to_string(frame.next++) + "]" : frame.prefix + property.name;
    if (token.kind == schema::TokenKind::kArrayBegin) {
      frames.push_back({path, true, 0});
    } else if (token.kind == schema::TokenKind::kStructBegin) {
      frames.push_back({path + ".", false, 0});
    } else {
      FlatField field{path, {}, {}, token.size};
      schema::ReadValue(property, payload.subspan(token.offset, token.size), field.value);
      schema::AppendText(field.value, field.text);
      fields.push_back(std::move(field));
    }
  }
  return fields;
}

}  // namespace etwpipe::test

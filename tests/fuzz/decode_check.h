// What must hold for any schema and any payload; for the fuzz targets that make schemas.
#pragma once

#include <utf8.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>

#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"

namespace etwpipe::schema {

inline void Require(bool condition) {
  if (!condition) std::abort();
}

/// Decodes `payload` by `schema` with both pointer sizes: tokens lie inside it and are nested well, every value reads
/// as valid UTF-8, and FindValue() agrees. Aborts otherwise.
inline void CheckDecode(const EventSchema& schema, std::span<const std::byte> payload) {
  DecodedFields fields;
  DecodedFields scratch;
  Value value;
  std::string text;
  for (const uint32_t pointer_size : {4u, 8u}) {
    (void)Decode(schema, payload, pointer_size, fields);
    Require(fields.consumed <= payload.size());
    Require(fields.tokens.size() <= 4 * (payload.size() + schema.properties.size()) + 64);
    int depth = 0;
    for (const Token& token : fields.tokens) {
      if (token.kind == TokenKind::kValue) {
        Require(token.offset + size_t{token.size} <= fields.consumed);
        ReadValue(schema.properties[token.property], payload.subspan(token.offset, token.size), value);
        text.clear();
        AppendText(value, text);
        Require(utf8::is_valid(text.begin(), text.end()));
      } else {
        const bool begins = token.kind == TokenKind::kArrayBegin || token.kind == TokenKind::kStructBegin;
        depth += begins ? 1 : -1;
        Require(depth >= 0);
      }
    }
    Require(depth == 0);

    constexpr size_t kMostFound = 16;  // each may walk all fields before it
    for (size_t i = 0; i < std::min<size_t>(schema.top_level, kMostFound); ++i) {
      const Property& property = schema.properties[i];
      if (property.count != Extent::kNone || property.in == InType::kStruct || property.in == InType::kPad) continue;
      const auto token = std::find_if(fields.tokens.begin(), fields.tokens.end(),
                                      [&](const Token& each) { return each.property == i; });
      const auto found = FindValue(schema, i, payload, pointer_size, scratch);
      Require(found.has_value() == (token != fields.tokens.end()));
      if (found) Require(found->data() == payload.data() + token->offset && found->size() == token->size);
    }
  }
}

}  // namespace etwpipe::schema

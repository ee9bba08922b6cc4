// One event by a built-in schema, its fields as text: what the tests of the kernel's layouts compare.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"

namespace etwpipe::schema {

/// One value of an event, as it is shown and as it stands in the payload.
struct DecodedField {
  std::string text;
  uint64_t bits = 0;  ///< of numbers
  std::span<const std::byte> bytes;
  bool is_text = false;  ///< a string, GUID, address, ...: bits mean nothing
};

/// An event taken apart. `fields` has every value by its name, members and elements too (the last one of a name);
/// `lines` has all of them in order, as name=text. The bytes of the fields are the payload's and live as long.
struct DecodedEvent {
  std::shared_ptr<const EventSchema> schema;
  DecodeOutcome outcome = DecodeOutcome::kBad;
  std::map<std::string, DecodedField> fields;
  std::string lines;

  std::string full_name() const { return schema->provider->name + "/" + schema->name; }
  std::string text(const std::string& field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? "(no such field)" : found->second.text;
  }
};

/// The schema of a classic event, or null.
inline std::shared_ptr<const EventSchema> ClassicSchema(const Guid& provider, uint8_t opcode, uint16_t version) {
  return PickVersion(BuiltInSchemas(provider), true, opcode, version);
}

/// Takes a payload apart by the built-in schema; nullopt if there is none.
inline std::optional<DecodedEvent> DecodeClassic(const Guid& provider, uint8_t opcode, uint16_t version,
                                                 std::span<const std::byte> payload, uint32_t pointer_size) {
  DecodedEvent event;
  event.schema = ClassicSchema(provider, opcode, version);
  if (event.schema == nullptr) return std::nullopt;
  DecodedFields decoded;
  event.outcome = Decode(*event.schema, payload, pointer_size, decoded);
  Value value;
  for (const Token& token : decoded.tokens) {
    if (token.kind != TokenKind::kValue) continue;
    const Property& property = event.schema->properties[token.property];
    DecodedField field;
    field.bytes = payload.subspan(token.offset, token.size);
    ReadValue(property, field.bytes, value);
    AppendText(value, field.text);
    field.bits = value.bits;
    field.is_text = value.kind == ValueKind::kText || value.kind == ValueKind::kForm;
    event.lines += property.name + "=" + field.text + "\n";
    event.fields[property.name] = std::move(field);
  }
  return event;
}

}  // namespace etwpipe::schema

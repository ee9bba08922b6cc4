#include "tools/fields_json.h"

#include <fmt/format.h>

#include "formats/schema/extended_items.h"
#include "pipeline/byte_reader.h"
#include "tools/hex_text.h"

namespace etwpipe {
namespace {

using schema::DecodedFields;
using schema::EventSchema;
using schema::ExtendedType;
using schema::Extent;
using schema::InType;
using schema::OutType;
using schema::Property;
using schema::Token;
using schema::TokenKind;
using schema::Value;
using schema::ValueKind;

void WriteValue(JsonWriter& json, const Value& value) {
  switch (value.kind) {
    case ValueKind::kNull: return json.Null();
    case ValueKind::kUnsigned: return json.Uint(value.bits);
    case ValueKind::kSigned: return json.Int(value.integer());
    case ValueKind::kHex: return json.Hex(value.bits);
    case ValueKind::kReal: return value.single ? json.Float(static_cast<float>(value.real)) : json.Double(value.real);
    case ValueKind::kBool: return json.Bool(value.bits != 0);
    case ValueKind::kText:
    case ValueKind::kForm: return json.String(value.text);
  }
}

// Walks the tokens of one event.
class FieldsWriter {
 public:
  FieldsWriter(JsonWriter& json, const DecodedEvent& event, Value& value)
      : json_(json),
        schema_(*event.schema()),
        tokens_(event.fields().tokens),
        payload_(event.row().payload()),
        value_(value) {}

  void Run(size_t consumed) {
    json_.BeginObject();
    while (at_ < tokens_.size()) {
      Key();
      Element();
    }
    if (consumed < payload_.size()) json_.Key("_extra").String(HexText(payload_.subspan(consumed), text_));
    json_.EndObject();
  }

  size_t One(size_t at) {
    at_ = at;
    Element();
    return at_;
  }

 private:
  void Key() { json_.Key(schema_.properties[tokens_[at_].property].name); }

  // One token with all it holds.
  void Element() {
    const Token& token = tokens_[at_++];
    const Property& property = schema_.properties[token.property];
    switch (token.kind) {
      case TokenKind::kValue: return Single(property, Bytes(token));
      case TokenKind::kStructBegin:
        json_.BeginObject();
        while (tokens_[at_].kind != TokenKind::kStructEnd) {
          Key();
          Element();
        }
        ++at_;
        json_.EndObject();
        return;
      case TokenKind::kArrayBegin:
        if (IsCharacters(property)) return Characters(property);
        json_.BeginArray();
        while (tokens_[at_].kind != TokenKind::kArrayEnd) Element();
        ++at_;
        json_.EndArray();
        return;
      case TokenKind::kArrayEnd:
      case TokenKind::kStructEnd: return;
    }
  }

  std::span<const std::byte> Bytes(const Token& token) const { return payload_.subspan(token.offset, token.size); }

  void Single(const Property& property, std::span<const std::byte> bytes) {
    schema::ReadValue(property, bytes, value_);
    if (property.map == schema::kNoMap) return WriteValue(json_, value_);
    json_.BeginObject();
    json_.Key("value");
    WriteValue(json_, value_);
    json_.Key("name").StringOrNull(schema_.maps[property.map]->NameOf(value_.bits));
    json_.EndObject();
  }

  static bool IsCharacters(const Property& property) {
    const bool narrow =
        property.in == InType::kAnsiChar || property.in == InType::kUInt8 || property.in == InType::kInt8;
    const bool wide = property.in == InType::kUnicodeChar || property.in == InType::kUInt16;
    const bool text =
        property.in == InType::kAnsiChar || property.in == InType::kUnicodeChar || property.out == OutType::kString;
    return (narrow || wide) && text;
  }

  // An array of characters is one text; its elements stand side by side in the payload.
  void Characters(const Property& property) {
    const size_t first = at_;
    while (tokens_[at_].kind != TokenKind::kArrayEnd) ++at_;
    std::span<const std::byte> bytes;
    if (at_ > first) {
      const Token& last = tokens_[at_ - 1];
      bytes = payload_.subspan(tokens_[first].offset, size_t{last.offset} + last.size - tokens_[first].offset);
    }
    ++at_;
    Property text;
    text.in = FixedSize(property.in, 8) == 2 ? InType::kCountedUtf16 : InType::kCountedAnsi;
    schema::ReadValue(text, bytes, value_);
    WriteValue(json_, value_);
  }

  JsonWriter& json_;
  const EventSchema& schema_;
  const std::vector<Token>& tokens_;
  std::span<const std::byte> payload_;
  Value& value_;
  size_t at_ = 0;
  std::string text_;
};

template <typename T>
void WriteAddresses(JsonWriter& json, std::span<const std::byte> bytes) {
  json.BeginArray();
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) json.Hex(LoadAt<T>(bytes.data(), at));
  json.EndArray();
}

void WriteGuid(JsonWriter& json, std::string_view key, std::span<const std::byte> bytes) {
  if (bytes.size() >= sizeof(Guid)) json.Key(key).String(ToString(LoadAt<Guid>(bytes.data())));
}

void WriteStack(JsonWriter& json, std::span<const std::byte> bytes, bool wide, RawStack raw_stack) {
  if (bytes.size() < 8) return;
  if (raw_stack == RawStack::kShow) {
    json.Key("stack");
    wide ? WriteAddresses<uint64_t>(json, bytes.subspan(8)) : WriteAddresses<uint32_t>(json, bytes.subspan(8));
  }
  if (const auto match = LoadAt<uint64_t>(bytes.data()); match != 0) json.Key("stack_match_id").Hex(match);
}

void WriteNumber(JsonWriter& json, std::string_view key, std::span<const std::byte> bytes) {
  if (bytes.size() >= 8) json.Key(key).Hex(LoadAt<uint64_t>(bytes.data()));
}

}  // namespace

void WriteFields(JsonWriter& json, const DecodedEvent& event, Value& scratch) {
  FieldsWriter(json, event, scratch).Run(event.fields().consumed);
}

size_t WriteField(JsonWriter& json, const DecodedEvent& event, size_t at, Value& scratch) {
  return FieldsWriter(json, event, scratch).One(at);
}

void WriteExtendedItems(JsonWriter& json, const EventHeader& row, RawStack raw_stack, Value& scratch) {
  // ActivityId stands in the header itself: etl-format.md 2.6.
  constexpr size_t kActivityId = 64;
  const bool has_activity = (row.kind == HeaderKind::kEvent32 || row.kind == HeaderKind::kEvent64) &&
                            row.record_bytes().size() >= kActivityId + sizeof(Guid);
  if (has_activity) {
    const auto activity = LoadAt<Guid>(row.record, kActivityId);
    if (activity != Guid()) json.Key("activity_id").String(ToString(activity));
  }
  if (!row.has(kHasExtended)) return;
  auto items = row.extended_items();
  for (schema::ExtendedItemView item; NextExtendedItem(items, item);) {
    switch (item.type) {
      case ExtendedType::kRelatedActivityId: WriteGuid(json, "related_activity_id", item.data); break;
      case ExtendedType::kContainerId: WriteGuid(json, "container_id", item.data); break;
      case ExtendedType::kControlGuid: WriteGuid(json, "control_guid", item.data); break;
      case ExtendedType::kSid: {
        Property sid;
        sid.in = InType::kSid;
        schema::ReadValue(sid, item.data, scratch);
        json.Key("sid").String(scratch.text);
        break;
      }
      case ExtendedType::kTerminalSession:
        if (item.data.size() >= 4) json.Key("session").Uint(LoadAt<uint32_t>(item.data.data()));
        break;
      case ExtendedType::kInstanceInfo:
        if (item.data.size() < 24) break;
        json.Key("instance").BeginObject();
        json.Key("id").Uint(LoadAt<uint32_t>(item.data.data()));
        json.Key("parent_id").Uint(LoadAt<uint32_t>(item.data.data(), 4));
        WriteGuid(json, "parent_guid", item.data.subspan(8));
        json.EndObject();
        break;
      case ExtendedType::kStackTrace32: WriteStack(json, item.data, false, raw_stack); break;
      case ExtendedType::kStackTrace64: WriteStack(json, item.data, true, raw_stack); break;
      case ExtendedType::kStackKey32:
        if (item.data.size() >= 12) json.Key("stack_key").Hex(LoadAt<uint32_t>(item.data.data(), 8));
        break;
      case ExtendedType::kStackKey64:
        if (item.data.size() >= 16) json.Key("stack_key").Hex(LoadAt<uint64_t>(item.data.data(), 8));
        break;
      case ExtendedType::kPmcCounters:
        json.Key("pmc");
        WriteAddresses<uint64_t>(json, item.data);
        break;
      case ExtendedType::kPsmKey: WriteNumber(json, "psm_key", item.data); break;
      case ExtendedType::kEventKey: WriteNumber(json, "event_key", item.data); break;
      case ExtendedType::kPebsIndex: WriteNumber(json, "pebs_index", item.data); break;
      case ExtendedType::kProcessStartKey: WriteNumber(json, "process_start_key", item.data); break;
      case ExtendedType::kQpcDelta: WriteNumber(json, "qpc_delta", item.data); break;
      // Described the event; nothing to show.
      case ExtendedType::kTraceLogging:
      case ExtendedType::kProviderTraits: break;
    }
  }
}

}  // namespace etwpipe

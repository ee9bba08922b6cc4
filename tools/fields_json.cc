#include "tools/fields_json.h"

#include <fmt/format.h>

#include "formats/schema/character_array.h"
#include "formats/schema/extended_items.h"
#include "pipeline/byte_reader.h"
#include "tools/hex_text.h"

namespace etwpipe {
namespace {

using schema::EventSchema;
using schema::ExtendedType;
using schema::InType;
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
        event_(event),
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
        if (const size_t next = schema::ReadCharacters(schema_, tokens_, at_ - 1, payload_, value_); next != 0) {
          at_ = next;
          return WriteValue(json_, value_);
        }
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
    const std::string name = event_.NameOf(property, value_);
    if (property.map == schema::kNoMap && name.empty()) return WriteValue(json_, value_);
    json_.BeginObject();
    json_.Key("value");
    WriteValue(json_, value_);
    json_.Key("name").StringOrNull(name);
    json_.EndObject();
  }

  JsonWriter& json_;
  const DecodedEvent& event_;
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

void WriteNumber(JsonWriter& json, std::string_view key, std::span<const std::byte> bytes) {
  if (bytes.size() >= 8) json.Key(key).Hex(LoadAt<uint64_t>(bytes.data()));
}

// Members for the items of one event. Of items that would have the same key the first counts.
class ItemsWriter {
 public:
  ItemsWriter(JsonWriter& json, RawStack raw_stack, Value& scratch)
      : json_(json), raw_stack_(raw_stack), value_(scratch) {}

  void Write(const schema::ExtendedItemView& item) {
    const auto bytes = item.data;
    if (!IsFirst(item.type)) return;
    switch (item.type) {
      case ExtendedType::kRelatedActivityId: return WriteGuid(json_, "related_activity_id", bytes);
      case ExtendedType::kContainerId: return WriteGuid(json_, "container_id", bytes);
      case ExtendedType::kControlGuid: return WriteGuid(json_, "control_guid", bytes);
      case ExtendedType::kSid: return WriteSid(bytes);
      case ExtendedType::kTerminalSession:
        if (bytes.size() >= 4) json_.Key("session").Uint(LoadAt<uint32_t>(bytes.data()));
        return;
      case ExtendedType::kInstanceInfo: return WriteInstance(bytes);
      case ExtendedType::kStackTrace32: return WriteStack<uint32_t>(bytes);
      case ExtendedType::kStackTrace64: return WriteStack<uint64_t>(bytes);
      case ExtendedType::kStackKey32: return WriteStackKey<uint32_t>(bytes);
      case ExtendedType::kStackKey64: return WriteStackKey<uint64_t>(bytes);
      case ExtendedType::kPmcCounters: json_.Key("pmc"); return WriteAddresses<uint64_t>(json_, bytes);
      case ExtendedType::kPsmKey: return WriteNumber(json_, "psm_key", bytes);
      case ExtendedType::kEventKey: return WriteNumber(json_, "event_key", bytes);
      case ExtendedType::kPebsIndex: return WriteNumber(json_, "pebs_index", bytes);
      case ExtendedType::kProcessStartKey: return WriteNumber(json_, "process_start_key", bytes);
      case ExtendedType::kQpcDelta: return WriteNumber(json_, "qpc_delta", bytes);
      // Described the event; nothing to show.
      case ExtendedType::kTraceLogging:
      case ExtendedType::kProviderTraits: return;
    }
  }

 private:
  bool IsFirst(ExtendedType type) {
    if (type == ExtendedType::kStackTrace32) type = ExtendedType::kStackTrace64;
    if (type == ExtendedType::kStackKey32) type = ExtendedType::kStackKey64;
    const auto number = static_cast<uint16_t>(type);
    if (number >= 32 || (seen_ >> number & 1) != 0) return false;
    seen_ |= uint32_t{1} << number;
    return true;
  }

  void WriteSid(std::span<const std::byte> bytes) {
    Property sid;
    sid.in = schema::InType::kSid;
    schema::ReadValue(sid, bytes, value_);
    if (!value_.text.empty()) json_.Key("sid").String(value_.text);
  }

  void WriteInstance(std::span<const std::byte> bytes) {
    if (bytes.size() < 24) return;
    json_.Key("instance").BeginObject();
    json_.Key("id").Uint(LoadAt<uint32_t>(bytes.data()));
    json_.Key("parent_id").Uint(LoadAt<uint32_t>(bytes.data(), 4));
    WriteGuid(json_, "parent_guid", bytes.subspan(8));
    json_.EndObject();
  }

  // A stack's other half, taken at another time, has the same number.
  void WriteMatch(std::span<const std::byte> bytes) {
    const auto match = LoadAt<uint64_t>(bytes.data());
    if (match == 0 || match_written_) return;
    match_written_ = true;
    json_.Key("stack_match_id").Hex(match);
  }

  template <typename T>
  void WriteStack(std::span<const std::byte> bytes) {
    if (bytes.size() < 8) return;
    if (raw_stack_ == RawStack::kShow) {
      json_.Key("stack");
      WriteAddresses<T>(json_, bytes.subspan(8));
    }
    WriteMatch(bytes);
  }

  template <typename T>
  void WriteStackKey(std::span<const std::byte> bytes) {
    if (bytes.size() < 8 + sizeof(T)) return;
    json_.Key("stack_key").Hex(LoadAt<T>(bytes.data(), 8));
    WriteMatch(bytes);
  }

  JsonWriter& json_;
  RawStack raw_stack_;
  Value& value_;
  uint32_t seen_ = 0;  // types of items
  bool match_written_ = false;
};

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
  ItemsWriter writer(json, raw_stack, scratch);
  for (schema::ExtendedItemView item; NextExtendedItem(items, item);) writer.Write(item);
}

}  // namespace etwpipe

#include "stages/filter_where/event_values.h"

#include <algorithm>

#include "formats/schema/character_array.h"
#include "formats/schema/provider_names.h"

namespace etwpipe::where {
namespace {

using schema::EventSchema;
using schema::Extent;
using schema::InType;
using schema::Property;
using schema::Token;
using schema::TokenKind;

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// The property of that name in a range; one that differs in case only if there is no other, since sources of one event
// spell names differently (ProcessId, ProcessID).
std::optional<uint16_t> FindIn(const EventSchema& schema, size_t begin, size_t end, std::string_view name) {
  std::optional<uint16_t> similar;
  for (size_t i = begin; i < end; ++i) {
    if (schema.properties[i].name == name) return static_cast<uint16_t>(i);
    if (!similar && EqualIgnoringCase(schema.properties[i].name, name)) similar = static_cast<uint16_t>(i);
  }
  return similar;
}

}  // namespace

EventValues::EventValues(const TraceContext& trace)
    : trace_(trace), processes_(trace.facts->Get<facts::ProcessTable>()), types_(trace.facts->Get<facts::TypeTable>()) {
  if (const auto* registry = trace.facts->Get<schema::SchemaRegistry>()) lookup_.emplace(*registry, trace);
}

const EventSchema* EventValues::Schema() {
  if (schema_known_) return schema_;
  schema_ = lookup_ ? lookup_->Find(*row_) : nullptr;
  schema_known_ = true;
  if (lookup_ && lookup_->generation() != generation_) {
    generation_ = lookup_->generation();
    for (Slot& slot : slots_) slot = Slot();
  }
  return schema_;
}

std::optional<std::string_view> EventValues::Text(TextField field) {
  if (field == TextField::kProcess) {
    const auto* process =
        processes_ == nullptr || !row_->has(kHasPid) ? nullptr : processes_->Find(row_->pid, row_->timestamp);
    if (process == nullptr || process->image.empty()) return std::nullopt;
    return process->image;
  }
  const EventSchema* schema = Schema();
  if (field == TextField::kProviderName) {
    if (schema != nullptr) return schema->provider->name;
    const auto* known = row_->has(kHasProvider) ? schema::FindProvider(trace_.provider_guid(*row_)) : nullptr;
    if (known == nullptr) return std::nullopt;
    return known->name;
  }
  if (schema == nullptr) return std::nullopt;
  if (field == TextField::kName) return schema->name;
  text_.assign(schema->provider->name).append("/").append(schema->name);
  return text_;
}

std::span<const schema::Value> EventValues::Payload(size_t slot, const std::string& path) {
  value_count_ = 0;
  const EventSchema* schema = Schema();
  if (schema == nullptr) return {};
  const Place& place = PlaceOf(slot, path, *schema);
  if (!place.found) return {};
  if (place.direct) {
    const auto bytes =
        schema::FindValue(*schema, place.properties.front(), row_->payload(), row_->pointer_size(), fields_);
    if (bytes) Read(*schema, place.properties.front(), *bytes);
  } else {
    ReadTokens(*schema, place);
  }
  return std::span(values_).first(value_count_);
}

const EventValues::Place& EventValues::PlaceOf(size_t slot, const std::string& path, const EventSchema& schema) {
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  Slot& known = slots_[slot];
  if (known.schema == &schema) return *known.place;
  const auto [place, added] = known.places.try_emplace(&schema);
  if (added) {
    size_t begin = 0;
    size_t end = schema.top_level;
    std::string_view rest = path;
    while (true) {
      // A name may hold dots itself, so the whole rest comes first.
      auto property = FindIn(schema, begin, end, rest);
      const size_t dot = property ? std::string_view::npos : rest.find('.');
      if (!property && dot != std::string_view::npos) property = FindIn(schema, begin, end, rest.substr(0, dot));
      if (!property) break;
      const Property& found = schema.properties[*property];
      place->second.properties.push_back(*property);
      if (dot == std::string_view::npos) {
        place->second.found = true;
        place->second.direct =
            place->second.properties.size() == 1 && found.count == Extent::kNone && found.in != InType::kStruct;
        break;
      }
      if (found.in != InType::kStruct) break;
      begin = found.first_member;
      end = begin + found.member_count;
      rest.remove_prefix(dot + 1);
    }
  }
  known.schema = &schema;
  known.place = &place->second;
  return place->second;
}

void EventValues::Read(const EventSchema& schema, uint16_t property, std::span<const std::byte> bytes) {
  if (value_count_ == values_.size()) values_.emplace_back();
  schema::Value& value = values_[value_count_++];
  const Property& described = schema.properties[property];
  schema::ReadValue(described, bytes, value);
  if (facts::MayHaveName(described, types_)) value.text = facts::NameOfValue(schema, described, value, *row_, types_);
}

void EventValues::ReadTokens(const EventSchema& schema, const Place& place) {
  const auto payload = row_->payload();
  schema::Decode(schema, payload, row_->pointer_size(), fields_);
  const uint16_t wanted = place.properties.back();
  for (size_t at = 0; at < fields_.tokens.size(); ++at) {
    const Token& token = fields_.tokens[at];
    if (token.property != wanted) continue;
    if (token.kind == TokenKind::kArrayBegin) {
      if (value_count_ == values_.size()) values_.emplace_back();
      const size_t next = schema::ReadCharacters(schema, fields_.tokens, at, payload, values_[value_count_]);
      if (next == 0) continue;
      ++value_count_;
      at = next - 1;
      continue;
    }
    if (token.kind == TokenKind::kValue) Read(schema, wanted, payload.subspan(token.offset, token.size));
    // A struct has no value, but it is there.
    if (token.kind == TokenKind::kStructBegin) Read(schema, wanted, {});
  }
}

}  // namespace etwpipe::where

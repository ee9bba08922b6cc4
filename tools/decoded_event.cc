#include "tools/decoded_event.h"

#include "formats/etl/record.h"
#include "formats/schema/provider_names.h"

namespace etwpipe {

void DecodeCounts::AddTo(Diagnostics& diagnostics) const {
  if (unknown != 0) diagnostics.AddCount(DiagnosticId::kSchemaUnknown, unknown);
  if (short_payload != 0) diagnostics.AddCount(DiagnosticId::kPayloadShort, short_payload);
  if (extra != 0) diagnostics.AddCount(DiagnosticId::kPayloadExtra, extra);
  if (bad != 0) diagnostics.AddCount(DiagnosticId::kPayloadBad, bad);
  if (alias != 0) diagnostics.AddCount(DiagnosticId::kClrIdAlias, alias);
}

DecodedEvent::DecodedEvent(const TraceContext& trace) : trace_(trace) {
  if (const auto* registry = trace.facts->Get<schema::SchemaRegistry>()) lookup_.emplace(*registry, trace);
}

void DecodedEvent::Load(const EventHeader& row, bool fields) {
  row_ = &row;
  LoadProvider();
  schema_ = lookup_ ? lookup_->Find(row) : nullptr;
  if (schema_ == nullptr) {
    counts_.unknown += lookup_ ? 1 : 0;
    return;
  }
  if (!schema_->key.classic && schema_->key.number != row.id) ++counts_.alias;
  if (!fields) return;
  switch (schema::Decode(*schema_, row.payload(), row.pointer_size(), fields_)) {
    case schema::DecodeOutcome::kComplete: break;
    case schema::DecodeOutcome::kShort: ++counts_.short_payload; break;
    case schema::DecodeOutcome::kExtra: ++counts_.extra; break;
    case schema::DecodeOutcome::kBad: ++counts_.bad; break;
  }
}

void DecodedEvent::LoadProvider() {
  if (!row_->has(kHasProvider)) {
    loaded_provider_.reset();
    guid_.clear();
    known_name_ = {};
    return;
  }
  if (loaded_provider_ == row_->provider) return;
  loaded_provider_ = row_->provider;
  const Guid& guid = trace_.provider_guid(*row_);
  guid_ = ToString(guid);
  const auto* known = schema::FindProvider(guid);
  known_name_ = known == nullptr ? std::string_view() : known->name;
}

namespace {

bool IsCharacter(const schema::Property& property) {
  using schema::InType;
  switch (property.in) {
    case InType::kAnsiChar:
    case InType::kUnicodeChar: return true;
    case InType::kInt8:
    case InType::kUInt8:
    case InType::kUInt16: return property.out == schema::OutType::kString;
    default: return false;
  }
}

}  // namespace

size_t ReadCharacters(const DecodedEvent& event, size_t at, schema::Value& value) {
  const auto& tokens = event.fields().tokens;
  const schema::Property& property = event.schema()->properties[tokens[at].property];
  if (tokens[at].kind != schema::TokenKind::kArrayBegin || !IsCharacter(property)) return 0;
  const size_t first = at + 1;
  size_t end = first;
  while (tokens[end].kind != schema::TokenKind::kArrayEnd) ++end;
  // The elements stand side by side in the payload.
  const size_t begin = tokens[first].offset;
  const size_t size = end == first ? 0 : size_t{tokens[end - 1].offset} + tokens[end - 1].size - begin;
  schema::Property text;
  text.in = FixedSize(property.in, 8) == 2 ? schema::InType::kCountedUtf16 : schema::InType::kCountedAnsi;
  schema::ReadValue(text, event.row().payload().subspan(begin, size), value);
  return end + 1;
}

DecodeCounts DecodedEvent::TakeCounts() { return std::exchange(counts_, {}); }

std::optional<uint32_t> MessageComponent(const EventHeader& row) {
  uint32_t component = 0;
  const bool has =
      row.kind == HeaderKind::kMessage && !row.has(kHasProvider) && etl::MessageComponentId(row, component);
  return has ? std::optional(component) : std::nullopt;
}

}  // namespace etwpipe

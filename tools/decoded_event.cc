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

DecodedEvent::DecodedEvent(const TraceContext& trace) : trace_(trace), types_(trace.facts->Get<facts::TypeTable>()) {
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

DecodeCounts DecodedEvent::TakeCounts() { return std::exchange(counts_, {}); }

std::optional<uint32_t> MessageComponent(const EventHeader& row) {
  uint32_t component = 0;
  const bool has =
      row.kind == HeaderKind::kMessage && !row.has(kHasProvider) && etl::MessageComponentId(row, component);
  return has ? std::optional(component) : std::nullopt;
}

}  // namespace etwpipe

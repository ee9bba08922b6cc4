// One event after the other with its schema and its fields, as rows print them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/facts/value_names.h"
#include "formats/schema/decoder.h"
#include "formats/schema/schema_registry.h"
#include "formats/schema/value_text.h"
#include "pipeline/diagnostics.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// What decoding found wrong, to be added to Diagnostics in the order of the batches.
struct DecodeCounts {
  uint64_t unknown = 0;  ///< no schema
  uint64_t short_payload = 0;
  uint64_t extra = 0;
  uint64_t bad = 0;
  uint64_t alias = 0;  ///< known by an id of the CLR documentation only

  void AddTo(Diagnostics& diagnostics) const;
};

/// For one thread at a time; `trace` outlives it.
class DecodedEvent {
 public:
  /// Uses the SchemaRegistry of trace.facts; without one every event is unknown.
  explicit DecodedEvent(const TraceContext& trace);

  /// Goes to an event and decodes its payload if `fields`.
  void Load(const EventHeader& row, bool fields);

  const EventHeader& row() const { return *row_; }
  /// Null where nobody knows the event.
  const schema::EventSchema* schema() const { return schema_; }
  /// As SchemaLookup::generation().
  uint64_t generation() const { return lookup_ ? lookup_->generation() : 0; }
  /// Tokens of the payload; meaningful if schema() and Load() was asked for fields.
  const schema::DecodedFields& fields() const { return fields_; }

  std::string_view provider_guid() const { return guid_; }  ///< empty if the record has no provider
  std::string_view provider_name() const {
    return schema_ != nullptr ? std::string_view(schema_->provider->name) : known_name_;
  }
  std::string_view name() const { return schema_ != nullptr ? std::string_view(schema_->name) : std::string_view(); }

  /// The name of a number in the event: of a map's value or of a CLR type; empty if it has none.
  std::string NameOf(const schema::Property& property, const schema::Value& value) const {
    if (!facts::MayHaveName(property, types_)) return {};
    return facts::NameOfValue(*schema_, property, value, *row_, types_);
  }

  /// Since the last call.
  DecodeCounts TakeCounts();

 private:
  void LoadProvider();

  const TraceContext& trace_;
  const facts::TypeTable* types_;
  std::optional<schema::SchemaLookup> lookup_;
  const EventHeader* row_ = nullptr;
  const schema::EventSchema* schema_ = nullptr;
  schema::DecodedFields fields_;
  std::optional<ProviderIndex> loaded_provider_;  // whose text is in guid_ and known_name_
  std::string guid_;
  std::string_view known_name_;
  DecodeCounts counts_;
};

/// The component id of a WPP message that has no provider (etl-format.md 2.7).
std::optional<uint32_t> MessageComponent(const EventHeader& row);

}  // namespace etwpipe

// What an expression reads of a decoded event: names, process and payload fields.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/facts/process_table.h"
#include "formats/facts/value_names.h"
#include "formats/schema/decoder.h"
#include "formats/schema/schema_registry.h"
#include "formats/schema/value_text.h"
#include "pipeline/trace_context.h"

namespace etwpipe::where {

/// Texts that belong to an event as a whole.
enum class TextField : uint8_t { kName, kProviderName, kKind, kProcess };

/// Reads the values of one event after the other. For one thread at a time; `trace` outlives it.
class EventValues {
 public:
  /// Uses the SchemaRegistry and the ProcessTable of trace.facts; what is missing reads as null.
  explicit EventValues(const TraceContext& trace);

  /// Goes to an event. Views given before are gone.
  void Load(const EventHeader& row) {
    row_ = &row;
    schema_known_ = false;
  }

  /// The text, or nullopt for null.
  std::optional<std::string_view> Text(TextField field);

  /// The values of a payload field: none where the event lacks it, several where it is an array. `path` is the field's
  /// name, then those of members of structs, separated by dots; `slot` is the same small number for the same path.
  /// Numbers with a map have the name of their value in Value::text. Valid until the next call.
  std::span<const schema::Value> Payload(size_t slot, const std::string& path);

 private:
  // Where a schema has a path.
  struct Place {
    bool found = false;
    bool direct = false;               // top level, neither array nor struct
    std::vector<uint16_t> properties;  // from the top level down
  };
  struct Slot {
    const schema::EventSchema* schema = nullptr;
    const Place* place = nullptr;
    std::unordered_map<const schema::EventSchema*, Place> places;
  };

  const schema::EventSchema* Schema();
  const Place& PlaceOf(size_t slot, const std::string& path, const schema::EventSchema& schema);
  void Read(const schema::EventSchema& schema, uint16_t property, std::span<const std::byte> bytes);
  void ReadTokens(const schema::EventSchema& schema, const Place& place);

  const TraceContext& trace_;
  const facts::ProcessTable* processes_;
  const facts::TypeTable* types_;
  std::optional<schema::SchemaLookup> lookup_;
  const EventHeader* row_ = nullptr;
  const schema::EventSchema* schema_ = nullptr;
  bool schema_known_ = false;
  uint64_t generation_ = 0;
  std::vector<Slot> slots_;
  schema::DecodedFields fields_;
  std::vector<schema::Value> values_;  // with their memory; the first value_count_ are those of the last call
  size_t value_count_ = 0;
  std::string text_;
};

}  // namespace etwpipe::where

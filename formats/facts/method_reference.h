// Events that name a method by its id only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "formats/facts/method_table.h"
#include "formats/schema/decoder.h"
#include "formats/schema/schema_registry.h"

namespace etwpipe::facts {

/// What an event says of the method it means.
struct MethodReference {
  uint64_t method_id = 0;  ///< 0: only the address is given
  uint64_t start_address = 0;
  std::optional<uint16_t> clr_instance;

  /// The method at the event's process and time: by id, else by address.
  MethodHit FindIn(const MethodTable& methods, const EventHeader& row) const {
    return method_id != 0 ? methods.FindId(row.pid, clr_instance, method_id, row.timestamp)
                          : methods.FindAddress(row.pid, start_address, row.timestamp);
  }
};

/// Finds the id of events whose schema has one (MethodID, or FunctionID of profilers) or a MethodStartAddress, and no
/// name of the method: MethodILToNativeMap, MethodDetails, short loads ... (semantics.md 7.5). One hash per event, not
/// for several threads at once.
class MethodReferences {
 public:
  MethodReferences(const schema::SchemaRegistry& registry, const TraceContext& trace) : lookup_(registry, trace) {}

  /// Nullopt for every other event, and where the payload ends before both.
  std::optional<MethodReference> Of(const EventHeader& row);

 private:
  // Indexes of properties; -1: none.
  struct Fields {
    int method_id = -1;
    int start_address = -1;
    int clr_instance = -1;
  };
  static Fields FieldsOf(const schema::EventSchema& schema);
  std::optional<uint64_t> Number(const schema::EventSchema& schema, int property, const EventHeader& row);

  schema::SchemaLookup lookup_;
  uint64_t generation_ = 0;
  std::unordered_map<const schema::EventSchema*, Fields> fields_;
  schema::DecodedFields scratch_;
};

}  // namespace etwpipe::facts

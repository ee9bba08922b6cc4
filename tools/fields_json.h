// Fields of an event and its extended items as JSON.
#pragma once

#include "formats/schema/value_text.h"
#include "tools/decoded_event.h"
#include "tools/json_writer.h"

namespace etwpipe {

/// Whether addresses of an event's own stack are written.
enum class RawStack : uint8_t { kShow, kHide };

/// Writes the object of an event's fields: numbers as numbers (beyond 2^53 as strings), pointers and hexadecimal types
/// as "0x...", arrays and structs as such, text-like arrays of characters as one string, values of a map as
/// {"value": 1, "name": "Induced"}. Bytes behind the last field are "_extra" in hex. The event has a schema and decoded
/// fields. `scratch` keeps memory from call to call.
void WriteFields(JsonWriter& json, const DecodedEvent& event, schema::Value& scratch);

/// Writes the value of the field that begins at token `at`, without its name; returns the token behind it.
size_t WriteField(JsonWriter& json, const DecodedEvent& event, size_t at, schema::Value& scratch);

/// Writes members for what stands beside the payload, each only where the event has it: activity_id,
/// related_activity_id, container_id, control_guid, sid, session, instance (id, parent_id, parent_guid), stack
/// (addresses, leaf first), stack_key, stack_match_id, pmc (counters), psm_key, event_key, pebs_index,
/// process_start_key, qpc_delta (etl-format.md section 5). Items that are cut are left out; of two with the same key
/// the first is written, and `stack` only if it is to be shown.
void WriteExtendedItems(JsonWriter& json, const EventHeader& row, RawStack raw_stack, schema::Value& scratch);

}  // namespace etwpipe

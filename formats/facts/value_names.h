// Names of numbers in payloads: of the values of a map, and of CLR types.
#pragma once

#include <string>

#include "formats/facts/type_table.h"
#include "formats/schema/event_schema.h"
#include "formats/schema/value_text.h"
#include "pipeline/event.h"

namespace etwpipe::facts {

/// Whether a value of that property may have a name at all; cheap.
inline bool MayHaveName(const schema::Property& property, const TypeTable* types) {
  return property.map != schema::kNoMap || (types != nullptr && property.name == "TypeID");
}

/// The name of a value as ReadValue() gave it: from its map, or of the type if the property is a TypeID and the event
/// does not name the type itself. Empty if there is none. `types` may be null.
inline std::string NameOfValue(const schema::EventSchema& schema, const schema::Property& property,
                               const schema::Value& value, const EventHeader& row, const TypeTable* types) {
  if (property.map != schema::kNoMap) return schema.maps[property.map]->NameOf(value.bits);
  const bool needs_type = types != nullptr && property.name == "TypeID" && row.has(kHasPid) &&
                          schema.name != "Type/BulkType" && schema.IndexOf("TypeName") < 0;
  return needs_type ? std::string(types->Find(row.pid, value.bits, row.timestamp)) : std::string();
}

}  // namespace etwpipe::facts

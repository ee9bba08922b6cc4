// Fields of an event as text for people, and messages with their fields filled in.
#pragma once

#include <string>

#include "formats/schema/value_text.h"
#include "tools/decoded_event.h"

namespace etwpipe {

/// Appends ` Name=value` for each field: texts in quotes where they need them, names of values with the number beside
/// (Reason=Induced(1)), arrays as [a, b], structs as {Name=value}. The event has a schema and decoded fields.
void AppendFields(const DecodedEvent& event, schema::Value& scratch, std::string& out);

/// Appends the schema's message with %1 .. %99 replaced by the top-level fields; nothing if it has none. Control
/// characters become blanks. %n is a line end (a blank here), %% a percent sign; formats such as %1!d! are dropped.
void AppendMessage(const DecodedEvent& event, schema::Value& scratch, std::string& out);

}  // namespace etwpipe

// Fields of an event as text for people, and messages with their fields filled in.
#pragma once

#include <string>
#include <string_view>

#include "formats/schema/value_text.h"
#include "tools/decoded_event.h"

namespace etwpipe {

/// Appends text, which is UTF-8, with blanks in place of control characters: one line that commands no terminal.
void AppendPrintable(std::string_view text, std::string& out);

/// Appends ` Name=value` for each field: texts in quotes where they need them, names of values with the number beside
/// (Reason=Induced(1)), arrays as [a, b] or, of characters, as a text, structs as {Name=value}. The event has a schema
/// and decoded fields.
void AppendFields(const DecodedEvent& event, schema::Value& scratch, std::string& out);

/// Appends the schema's message with %1 .. %99 replaced by the top-level fields; nothing if it has none. Control
/// characters become blanks. %n, %r, %t and %b are a blank, %% a percent sign, before anything else % is dropped, as
/// are formats such as !d! in %1!d!. Ends with "..." where it would grow beyond 1 MiB and a field.
void AppendMessage(const DecodedEvent& event, schema::Value& scratch, std::string& out);

}  // namespace etwpipe

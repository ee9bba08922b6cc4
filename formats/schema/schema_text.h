// Schemas as text: the form of the built-in ones (builtin/*.schema, see SCHEMA_TEXT.md), of explain-event and of the
// schemas that an output carries.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/event_schema.h"
#include "pipeline/status.h"

namespace etwpipe::schema {

/// Reads a text with any number of providers. Every schema is finished. An error names `name`, the line and what was
/// expected. Bounded by the text's size: an event may not have more than kMaxProperties properties.
Result<std::vector<std::shared_ptr<const EventSchema>>> ParseSchemaText(std::string_view text, std::string_view name,
                                                                        SchemaOrigin origin);

/// The text of schemas of one or more providers; ParseSchemaText() gives equal schemas back. Sorted by provider, key.
std::string PrintSchemaText(const std::vector<std::shared_ptr<const EventSchema>>& schemas);

}  // namespace etwpipe::schema

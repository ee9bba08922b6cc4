// Annotations that are protobuf messages, as JSON.
#pragma once

#include <string_view>

#include "tools/json_writer.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace etwpipe {

/// Writes a message: every field in the order of its declaration, by its name; fixed64 as an instance id, integers as
/// numbers, what is absent as null.
void WriteMessage(JsonWriter& json, const google::protobuf::Message& message);

/// Writes the serialised message of that full name: every field in the order of its declaration, by its name; fixed64
/// as an instance id, integers as numbers, what is absent as null. Null for a type this program does not know.
void WriteMessage(JsonWriter& json, std::string_view type, std::string_view bytes);

}  // namespace etwpipe

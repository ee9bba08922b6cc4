// Options messages of stages by their descriptors: what configs and the command line share.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/registry.h"
#include "pipeline/status.h"

namespace etwpipe {

/// An empty options message of a type linked into the program.
std::unique_ptr<google::protobuf::Message> NewOptions(const google::protobuf::Descriptor& type);

/// Names of its fields, in the order of their declaration.
std::vector<std::string> OptionNames(const google::protobuf::Descriptor& type);

/// What one may write for a field: "text", "a whole number", "keep or drop", "numbers, separated by commas" ...
std::string AllowedValues(const google::protobuf::FieldDescriptor& field);

/// Sets one field from text: strings as they are, numbers decimal or 0x, true and false, enums by their lower-case
/// short name (CONTEXT_DROP of enum Context is `drop`), repeated fields as a list with commas. An error says what was
/// found and what is allowed; it does not name the field.
Status SetOption(google::protobuf::Message& options, const google::protobuf::FieldDescriptor& field,
                 std::string_view value);

/// The error for a stage nobody registered, with the near names or the list of all.
Status UnknownStage(std::string_view name, const Registry& registry);

/// "; did you mean a, b or c?", or "; <lead> a, b, c" with all names where none is near.
std::string NearOrAll(std::string_view wanted, const std::vector<std::string>& names, std::string_view lead);

}  // namespace etwpipe

#include "formats/facts/method_reference.h"

#include <cstring>
#include <string_view>

namespace etwpipe::facts {

MethodReferences::Fields MethodReferences::FieldsOf(const schema::EventSchema& schema) {
  for (const std::string_view name : {"MethodName", "MethodNamespace"}) {
    if (schema.IndexOf(name) >= 0) return {};
  }
  Fields fields;
  fields.method_id = schema.IndexOf("MethodID");
  if (fields.method_id < 0) fields.method_id = schema.IndexOf("FunctionID");
  fields.start_address = schema.IndexOf("MethodStartAddress");
  fields.clr_instance = schema.IndexOf("ClrInstanceID");
  return fields;
}

std::optional<uint64_t> MethodReferences::Number(const schema::EventSchema& schema, int property,
                                                 const EventHeader& row) {
  if (property < 0) return std::nullopt;
  const auto bytes =
      schema::FindValue(schema, static_cast<size_t>(property), row.payload(), row.pointer_size(), scratch_);
  if (!bytes || bytes->empty() || bytes->size() > sizeof(uint64_t)) return std::nullopt;
  uint64_t number = 0;
  std::memcpy(&number, bytes->data(), bytes->size());
  return number;
}

std::optional<MethodReference> MethodReferences::Of(const EventHeader& row) {
  const schema::EventSchema* schema = lookup_.Find(row);
  if (generation_ != lookup_.generation()) {
    fields_.clear();
    generation_ = lookup_.generation();
  }
  if (schema == nullptr) return std::nullopt;
  auto found = fields_.find(schema);
  if (found == fields_.end()) found = fields_.emplace(schema, FieldsOf(*schema)).first;
  const auto method_id = Number(*schema, found->second.method_id, row);
  const auto start_address = Number(*schema, found->second.start_address, row);
  if (!method_id && !start_address) return std::nullopt;
  MethodReference reference;
  reference.method_id = method_id.value_or(0);
  reference.start_address = start_address.value_or(0);
  if (const auto instance = Number(*schema, found->second.clr_instance, row)) {
    reference.clr_instance = static_cast<uint16_t>(*instance);
  }
  return reference;
}

}  // namespace etwpipe::facts

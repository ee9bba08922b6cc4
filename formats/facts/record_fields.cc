#include "formats/facts/record_fields.h"

namespace etwpipe::facts {

const schema::Value* RecordFields::Get(std::string_view name) {
  const int index = schema_->IndexOf(name);
  if (index < 0) return nullptr;
  const auto place = static_cast<size_t>(index);
  const auto bytes = schema::FindValue(*schema_, place, row_->payload(), row_->pointer_size(), scratch_);
  if (!bytes) return nullptr;
  schema::ReadValue(schema_->properties[place], *bytes, value_);
  return &value_;
}

std::optional<uint64_t> RecordFields::Number(std::string_view name) {
  const schema::Value* value = Get(name);
  return value == nullptr ? std::nullopt : std::optional(value->bits);
}

std::string RecordFields::Text(std::string_view name) {
  const schema::Value* value = Get(name);
  return value != nullptr && value->kind == schema::ValueKind::kText ? value->text : std::string();
}

}  // namespace etwpipe::facts

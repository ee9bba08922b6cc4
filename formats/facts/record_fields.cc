#include "formats/facts/record_fields.h"

#include <algorithm>

namespace etwpipe::facts {

std::optional<std::span<const std::byte>> RecordFields::Bytes(size_t index) {
  return schema::FindValue(*schema_, index, row_->payload(), row_->pointer_size(), scratch_);
}

const schema::Value* RecordFields::Get(std::string_view name) {
  const int index = schema_->IndexOf(name);
  if (index < 0) return nullptr;
  const auto bytes = Bytes(static_cast<size_t>(index));
  if (!bytes) return nullptr;
  schema::ReadValue(schema_->properties[static_cast<size_t>(index)], *bytes, value_);
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

std::optional<Guid> RecordFields::Identity(std::string_view name) {
  const int index = schema_->IndexOf(name);
  const auto bytes = index < 0 ? std::nullopt : Bytes(static_cast<size_t>(index));
  if (!bytes || bytes->size() != sizeof(Guid)) return std::nullopt;
  Guid guid;
  std::copy(bytes->begin(), bytes->end(), guid.bytes.begin());
  return guid;
}

}  // namespace etwpipe::facts

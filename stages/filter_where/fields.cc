#include "stages/filter_where/fields.h"

#include <algorithm>
#include <cstddef>

namespace etwpipe::where {
namespace {

constexpr FieldInfo Integer(std::string_view name, FieldSource source, size_t offset, uint8_t required_flags = 0) {
  return {name, FieldType::kInteger, source, static_cast<uint8_t>(offset), required_flags};
}

constexpr FieldInfo kFields[] = {
    Integer("event_id", FieldSource::kU16, offsetof(EventHeader, id)),
    Integer("id", FieldSource::kU16, offsetof(EventHeader, id)),
    Integer("instance_id", FieldSource::kU64, offsetof(EventHeader, instance_id)),
    Integer("version", FieldSource::kU16, offsetof(EventHeader, version)),
    Integer("opcode", FieldSource::kU8, offsetof(EventHeader, opcode)),
    Integer("task", FieldSource::kU16, offsetof(EventHeader, task)),
    Integer("level", FieldSource::kU8, offsetof(EventHeader, level)),
    Integer("keyword", FieldSource::kU64, offsetof(EventHeader, keyword)),
    Integer("channel", FieldSource::kU8, offsetof(EventHeader, channel)),
    Integer("pid", FieldSource::kU32, offsetof(EventHeader, pid), kHasPid),
    Integer("tid", FieldSource::kU32, offsetof(EventHeader, tid), kHasPid),
    Integer("cpu", FieldSource::kU16, offsetof(EventHeader, cpu)),
    Integer("size", FieldSource::kU16, offsetof(EventHeader, record_size)),
    Integer("payload_size", FieldSource::kPayloadSize, 0),
    Integer("ts", FieldSource::kI64, offsetof(EventHeader, timestamp)),
    {"time", FieldType::kTime, FieldSource::kI64, offsetof(EventHeader, timestamp), 0},
    {"provider", FieldType::kProvider, FieldSource::kU32, offsetof(EventHeader, provider), kHasProvider},
    {"header", FieldType::kHeader, FieldSource::kU8, offsetof(EventHeader, kind), 0},
    {"name", FieldType::kText, FieldSource::kU8, 0, 0, TextField::kName},
    {"provider_name", FieldType::kText, FieldSource::kU8, 0, 0, TextField::kProviderName},
    {"kind", FieldType::kText, FieldSource::kU8, 0, 0, TextField::kKind},
    {"process", FieldType::kText, FieldSource::kU8, 0, 0, TextField::kProcess},
};

constexpr FieldInfo kPayloadField = {"payload.", FieldType::kPayload, FieldSource::kU8, 0, 0};

}  // namespace

const FieldInfo* FindField(std::string_view name) {
  if (name.starts_with(kPayloadPrefix)) return &kPayloadField;
  const auto* found =
      std::find_if(std::begin(kFields), std::end(kFields), [&](const FieldInfo& field) { return field.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

std::vector<std::string> FieldNames() {
  std::vector<std::string> names;
  for (const auto& field : kFields) names.emplace_back(field.name);
  return names;
}

}  // namespace etwpipe::where

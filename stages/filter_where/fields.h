// The names an expression can use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/event.h"
#include "stages/filter_where/event_values.h"

namespace etwpipe::where {

enum class FieldType : uint8_t {
  kInteger,   ///< compared with numbers
  kTime,      ///< time of the event: compared with durations and ISO times
  kProvider,  ///< compared with GUIDs and provider names
  kHeader,    ///< header kind: compared with its names
  kText,      ///< a text of the decoded event
  kPayload,   ///< a payload field: what it can be compared with shows for each event
};

/// Where the bits of a field come from.
enum class FieldSource : uint8_t { kU8, kU16, kU32, kU64, kI64, kPayloadSize };

struct FieldInfo {
  std::string_view name;
  FieldType type;
  FieldSource source;
  uint8_t offset;          ///< of the member in EventHeader
  uint8_t required_flags;  ///< EventFlags without which the field is null; 0 for a field that every event has
  TextField text = TextField::kName;  ///< kText: which
};

/// The field of that name, or null; one and the same for every name that begins with `payload.`. Lives for ever.
const FieldInfo* FindField(std::string_view name);

/// All names, for "did you mean".
std::vector<std::string> FieldNames();

/// What stands before the name of a payload field.
inline constexpr std::string_view kPayloadPrefix = "payload.";

}  // namespace etwpipe::where

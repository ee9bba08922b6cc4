// Bookkeeping records: those that describe processes, threads, images, code and schemas, without which the other events
// of a trace cannot be decoded. Trimming filters keep them (design.md section 8). The published list is
// CONTEXT_RECORDS.md; a test compares it with this code.
#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/event.h"
#include "pipeline/guid.h"

namespace etwpipe::schema {

/// Event id of the records in which an EventSource carries its manifest (etl-format.md 7.3).
inline constexpr uint16_t kEventSourceManifestId = 0xFFFE;

/// Class GUID of the kernel's StackWalk group.
inline constexpr std::string_view kStackWalkGuid = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";

/// Whether the record is one of the list. `provider` is the GUID of row.provider. A few comparisons, no allocation.
bool IsContextRecord(const EventHeader& row, const Guid& provider);

}  // namespace etwpipe::schema

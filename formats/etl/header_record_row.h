// The log-file header record as an event row, for whoever counts it like an event.
#pragma once

#include <optional>

#include "pipeline/event.h"
#include "pipeline/trace_context.h"

namespace etwpipe::etl {

/// Layout: etl-format.md 2.2. The row points into `trace.info`; nullopt if the trace has no such record.
std::optional<EventHeader> HeaderRecordRow(const TraceContext& trace);

}  // namespace etwpipe::etl

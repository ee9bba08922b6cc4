// Events of our own provider about a record (proto/PROVIDER.md).
#pragma once

#include <cstdint>

#include "formats/etl/tracelogging_builder.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// An event of the provider `etwpipe`, level 4, in the memory of `batch`: timestamp, processor, pid and tid are those
/// of `about`. The row has no record where it would exceed 64 KiB (injected_event.h).
EventHeader OwnEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& about, uint16_t id,
                     const etl::TraceLoggingSchema& schema, const etl::PayloadWriter& payload);

}  // namespace etwpipe

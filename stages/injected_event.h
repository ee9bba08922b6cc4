// Events that a stage makes: rows over records built in the batch's memory.
#pragma once

#include <cstddef>
#include <span>

#include "formats/etl/record_builder.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// Builds an EVENT_HEADER record in the arena of `batch` and returns its row: injected, without an id yet, on `cpu`.
/// The row is valid as long as the batch; the caller places and selects it. A record above 64 KiB gives a row without a
/// record.
EventHeader InjectEvent(EventBatch& batch, const TraceContext& trace, const etl::EventFields& fields,
                        std::span<const std::byte> payload, uint16_t cpu);

}  // namespace etwpipe

// Events of our own provider that say beside a record what it means (proto/PROVIDER.md).
#pragma once

#include <string_view>

#include "formats/facts/method_version.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// A MethodName event (id 10) for `row`, in the memory of `batch`: timestamp, processor, pid and tid are those of the
/// row. The row has no record where the names fit none.
EventHeader MethodNameEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row,
                            const facts::MethodVersion& method, std::string_view outcome);

/// A Symbol event (id 11) for `row`.
EventHeader SymbolEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row, std::string_view symbol);

}  // namespace etwpipe

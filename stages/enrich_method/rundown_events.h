// The runtime's own rundown events, made anew for methods that an output refers to and does not describe.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "formats/facts/method_table.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// Which code a verbose method event describes.
using MethodKey = std::tuple<uint32_t, uint64_t, uint64_t>;  // pid, MethodID, start address
inline MethodKey KeyOf(const facts::MethodVersion& method) {
  return {method.pid, method.method_id, method.start_address};
}

/// The key of a verbose load, unload or rundown event of a method (semantics.md 6.2); false for any other event.
bool DescribesMethod(const EventHeader& row, const TraceContext& trace, MethodKey& key);

/// Builds a MethodDCEndVerbose event of the rundown provider (id 144; version 2, or 1 where the runtime is older) that
/// describes the method, at `timestamp` on processor 0, and appends it to the rows of `batch`. False for a method
/// without a name or code, and for names that fit no record.
bool AppendRundownEvent(EventBatch& batch, const TraceContext& trace, const facts::MethodVersion& method,
                        int64_t timestamp);

}  // namespace etwpipe

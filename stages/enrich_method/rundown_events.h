// The runtime's own rundown events, made anew for methods that an output refers to and does not describe.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "formats/facts/clr_event_kinds.h"
#include "formats/facts/method_table.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// Which code a verbose method event describes.
using MethodKey = std::tuple<uint32_t, uint64_t, uint64_t>;  // pid, MethodID, start address
inline MethodKey KeyOf(const facts::MethodVersion& method) {
  return {method.pid, method.method_id, method.start_address};
}

/// The key of a record that gives a method its name (ClrEventKind::verbose); nullopt for any other event.
std::optional<MethodKey> DescribedMethod(const facts::ClrEventKind& kind, const EventHeader& row);

/// One CLR of a process; records before V1 do not say which.
using RuntimeKey = std::pair<uint32_t, std::optional<uint16_t>>;  // pid, ClrInstanceID

/// The runtime whose rundown at the end of the session a DCEndInit or DCEndComplete begins or ends; nullopt for any
/// other event.
std::optional<RuntimeKey> MarkedRuntime(const facts::ClrEventKind& kind, const EventHeader& row);

/// Whether a MethodDCEndVerbose can say anything of the method: it has a name and code.
inline bool CanDescribe(const facts::MethodVersion& method) { return method.named() && method.size != 0; }

/// Builds a MethodDCEndVerbose event of the rundown provider (id 144; version 2, or 1 where there is no ReJITID) that
/// describes the method, at `timestamp` on processor 0, and appends it to the rows of `batch`. False for names that fit
/// no record. Needs CanDescribe().
bool AppendRundownEvent(EventBatch& batch, const TraceContext& trace, const facts::MethodVersion& method,
                        int64_t timestamp);

enum class RundownMark : uint8_t { kInit, kComplete };
/// The same for a DCEndInit or DCEndComplete event (ids 148 and 146, version 1).
void AppendRundownMark(EventBatch& batch, const TraceContext& trace, RundownMark mark, const RuntimeKey& runtime,
                       int64_t timestamp);

}  // namespace etwpipe

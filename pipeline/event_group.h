// What a source may know of a run of events before it reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "pipeline/event.h"

namespace etwpipe {

/// Events that stand together in the input, by what an index says of them. Views; valid during the call that gets it.
struct EventGroup {
  uint64_t events = 0;
  /// Raw ticks of the earliest and the latest.
  int64_t min_timestamp = 0;
  int64_t max_timestamp = 0;
  /// A row per kind of event in the group. Its header fields are those of every event of the kind, but for times, ids
  /// of process and thread, processor, instance id and sizes, which mean nothing.
  std::span<const EventHeader> kinds;
  /// Processors of the events.
  std::span<const uint32_t> cpus;
  /// Process ids of the events that have one, and of the events that stack records name as their owners. nullopt where
  /// they are too many to list.
  std::optional<std::span<const uint32_t>> pids;
  /// Timestamps of the earliest and the latest of these owners; min above max if there is none.
  int64_t min_owner_timestamp = 1;
  int64_t max_owner_timestamp = 0;
};

}  // namespace etwpipe

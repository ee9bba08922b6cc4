// Blocks as filters see them before they are read.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "formats/etwp/archive.h"
#include "pipeline/event_group.h"
#include "pipeline/trace_context.h"

namespace etwpipe::etwp {

/// Turns index entries into groups. One thread at a time.
class BlockGroups {
 public:
  /// Both must live as long.
  BlockGroups(const Archive& archive, const TraceContext& trace) : archive_(archive), trace_(trace) {}

  /// Valid until the next call; null where the index does not know enough of the block.
  const EventGroup* GroupOf(const BlockSummary& block);

 private:
  const Archive& archive_;
  const TraceContext& trace_;
  std::unordered_map<uint32_t, EventHeader> kinds_;  // those seen, by number
  std::vector<EventHeader> rows_;
  EventGroup group_;
};

}  // namespace etwpipe::etwp

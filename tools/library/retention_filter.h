// Drops the records of a relogged trace that its retention flags do not keep.
#pragma once

#include <memory>

#include "pipeline/session/retention.h"
#include "pipeline/stage.h"

namespace etwpipe::session {

/// Retention bits that keep a record of that provider; 0 for records of programs, which only kRetainAll keeps, and for
/// stacks, which follow their event.
RetentionFlags RetentionOf(const EventHeader& row, const Guid& provider);

/// Keeps injected events, and of the others those that a flag keeps; of a stack whose event was kept. Lets the sink
/// number injected events.
std::unique_ptr<Stage> MakeRetentionFilter(RetentionFlags flags);

}  // namespace etwpipe::session

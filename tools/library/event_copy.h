// Events that outlive their callback.
#pragma once

#include "pipeline/session/event_data.h"

namespace etwpipe::session {

/// A copy with everything it points to in one piece of memory of malloc(), which begins with the EventData: free()
/// frees all of it. Null if memory is short.
EventData* CopyEvent(const EventData& event);

}  // namespace etwpipe::session

// What OnTraceInfo() tells.
#pragma once

#include <chrono>
#include <cstdint>

#include "pipeline/session/ticks.h"

namespace etwpipe::session {

/// TRACE_INFO_DATA (semantics.md 1.4). Times are raw ticks of the session clock.
struct TraceInfoData {
  uint32_t logical_processor_count = 0;
  int64_t tick_frequency = 0;   ///< ticks per second
  int64_t start_timestamp = 0;  ///< of the first event
  int64_t stop_timestamp = 0;   ///< the largest of an event; the end time in the file is a hint only

  std::chrono::nanoseconds Duration() const {
    return TicksToDuration(TickDifference(stop_timestamp, start_timestamp), tick_frequency);
  }
};

}  // namespace etwpipe::session

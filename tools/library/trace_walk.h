// A trace that is walked several times.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "formats/activities/activity_walk.h"
#include "pipeline/diagnostics.h"
#include "pipeline/session/trace_info.h"
#include "pipeline/source.h"
#include "tools/library/event_delivery.h"

namespace etwpipe::session {

/// An opened trace with what must be known before its first event can be delivered.
class TraceWalk {
 public:
  static Result<std::unique_ptr<TraceWalk>> Open(const std::string& path);
  TraceWalk(const TraceWalk&) = delete;
  TraceWalk& operator=(const TraceWalk&) = delete;

  /// Collects facts and the history of activities: two reads of the trace, three where starts are missing. Once.
  Status Learn();

  /// The following after Learn().
  const TraceInfoData& info() const { return info_; }
  /// Delivers all events to `target`, from this thread. `kCancelled` if the target stopped it.
  Status Deliver(EventTarget& target, uint64_t& delivered);

  Source& source() { return *source_; }
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  TraceWalk() = default;
  using Visit = std::function<Status(const EventBatch&)>;
  Status EachBatch(int threads, bool first, const Visit& visit);

  Diagnostics diagnostics_;
  std::unique_ptr<Source> source_;
  activities::ActivityOptions options_;
  activities::ActivityHistory history_;
  MissingStarts missing_;
  TraceInfoData info_;
};

/// Threads for passes that call nobody.
int WorkingThreads();

}  // namespace etwpipe::session

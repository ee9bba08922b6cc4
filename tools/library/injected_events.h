// Events that reloggers inject, collected until the pass has ended: they may come in any order of time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pipeline/batch.h"
#include "pipeline/session/analyzer.h"
#include "pipeline/trace_context.h"

namespace etwpipe::session {

/// Memory: the records, until the output is written.
class InjectedEvents : public IRelogSession {
 public:
  /// `info` says which times and processors the trace has. `trace` outlives it.
  InjectedEvents(const TraceContext& trace, const TraceInfoData& info) : trace_(trace), info_(info) {}

  bool InjectEvent(const InjectArgs& args) override;

  /// Why an event could not be injected; empty if all could.
  const std::string& error() const { return error_; }
  uint64_t injected() const { return events_->rows.size(); }
  uint64_t clamped() const { return clamped_; }

  /// The events by time; those of one time in the order of the calls. Nothing may be injected afterwards.
  std::shared_ptr<const EventBatch> Sorted();

 private:
  bool Refuse(std::string error);

  const TraceContext& trace_;
  TraceInfoData info_;
  std::shared_ptr<EventBatch> events_ = std::make_shared<EventBatch>();
  uint64_t clamped_ = 0;
  std::string error_;
};

}  // namespace etwpipe::session

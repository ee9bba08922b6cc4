// What a program implements to analyse or relog a trace. Callbacks come one at a time, from the thread that called
// Analyze() or Relog() (tools/library/session.h), in the order of semantics.md 1.4:
//
//   Analyze   OnBeginAnalysis, passes, OnEndAnalysis
//   Relog     OnBeginRelogging; OnBeginAnalysis, passes, OnEndAnalysis; one relogging pass; OnEndRelogging
//   a pass    OnBegin..Pass, OnTraceInfo, events in the order of the trace, OnEnd..Pass
//
// After kFailure, kCancel or an error no callback comes any more. A callback that throws counts as kFailure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/guid.h"
#include "pipeline/session/control.h"
#include "pipeline/session/event_data.h"
#include "pipeline/session/trace_info.h"

namespace etwpipe::session {

/// Looks at a trace. Activities give a start and a stop, every other event is simple; those that have no stop in the
/// trace stop at the latest with it, those that have no start begin with it.
class IAnalyzer {
 public:
  virtual ~IAnalyzer() = default;
  virtual Control OnBeginAnalysis() { return Control::kContinue; }
  virtual Control OnEndAnalysis() { return Control::kContinue; }
  virtual Control OnBeginAnalysisPass() { return Control::kContinue; }
  virtual Control OnEndAnalysisPass() { return Control::kContinue; }
  virtual Control OnTraceInfo(const TraceInfoData&) { return Control::kContinue; }
  virtual Control OnStartActivity(const EventStack&) { return Control::kContinue; }
  virtual Control OnStopActivity(const EventStack&) { return Control::kContinue; }
  virtual Control OnSimpleEvent(const EventStack&) { return Control::kContinue; }
};

/// EVENT_DESCRIPTOR: what kind of event it is.
struct EventDescriptor {
  uint16_t id = 0;
  uint8_t version = 0;
  uint8_t channel = 0;
  uint8_t level = 0;
  uint8_t opcode = 0;
  uint16_t task = 0;
  uint64_t keyword = 0;
};

struct InjectArgs {
  Guid provider;
  EventDescriptor descriptor;
  uint32_t process_id = 0;
  uint32_t thread_id = 0;
  uint16_t processor_index = 0;     ///< below TraceInfoData::logical_processor_count
  int64_t timestamp = 0;            ///< raw ticks
  std::span<const std::byte> data;  ///< the payload; copied
  /// For self-describing events: name and fields, and traits of the provider. Copied; may be empty.
  std::span<const std::byte> schema{};
  std::span<const std::byte> provider_traits{};
};

/// What a relogger may do with the trace that is written; valid during the callback.
class IRelogSession {
 public:
  virtual ~IRelogSession() = default;
  /// Writes an event at its timestamp, wherever the pass stands: behind the retained records of that time on its
  /// processor and behind what was injected before for that time. A timestamp outside the trace becomes that of its
  /// first or last event, and is counted. False if the processor is beyond those of the trace or the event exceeds a
  /// record (64 KiB): then the session ends with kAnalysisError.
  virtual bool InjectEvent(const InjectArgs& args) = 0;
};

/// Writes a trace anew.
class IRelogger {
 public:
  virtual ~IRelogger() = default;
  virtual Control OnBeginRelogging() { return Control::kContinue; }
  virtual Control OnEndRelogging() { return Control::kContinue; }
  virtual Control OnBeginReloggingPass() { return Control::kContinue; }
  virtual Control OnEndReloggingPass() { return Control::kContinue; }
  virtual Control OnTraceInfo(const TraceInfoData&) { return Control::kContinue; }
  virtual Control OnStartActivity(const EventStack&, IRelogSession&) { return Control::kContinue; }
  virtual Control OnStopActivity(const EventStack&, IRelogSession&) { return Control::kContinue; }
  virtual Control OnSimpleEvent(const EventStack&, IRelogSession&) { return Control::kContinue; }
};

/// Analyzers in the order in which they get each call. Not owned; null members are not allowed.
using AnalyzerGroup = std::vector<IAnalyzer*>;

/// A member of a relogger group: a relogger, or an analyzer, whose analysis callbacks then serve as the relogging ones.
class RelogMember {
 public:
  RelogMember(IAnalyzer* analyzer) : analyzer_(analyzer) {}
  RelogMember(IRelogger* relogger) : relogger_(relogger) {}

  bool null() const { return analyzer_ == nullptr && relogger_ == nullptr; }
  Control OnBeginRelogging() { return relogger_ ? relogger_->OnBeginRelogging() : analyzer_->OnBeginAnalysis(); }
  Control OnEndRelogging() { return relogger_ ? relogger_->OnEndRelogging() : analyzer_->OnEndAnalysis(); }
  Control OnBeginReloggingPass() {
    return relogger_ ? relogger_->OnBeginReloggingPass() : analyzer_->OnBeginAnalysisPass();
  }
  Control OnEndReloggingPass() { return relogger_ ? relogger_->OnEndReloggingPass() : analyzer_->OnEndAnalysisPass(); }
  Control OnTraceInfo(const TraceInfoData& info) {
    return relogger_ ? relogger_->OnTraceInfo(info) : analyzer_->OnTraceInfo(info);
  }
  Control OnStartActivity(const EventStack& stack, IRelogSession& session) {
    return relogger_ ? relogger_->OnStartActivity(stack, session) : analyzer_->OnStartActivity(stack);
  }
  Control OnStopActivity(const EventStack& stack, IRelogSession& session) {
    return relogger_ ? relogger_->OnStopActivity(stack, session) : analyzer_->OnStopActivity(stack);
  }
  Control OnSimpleEvent(const EventStack& stack, IRelogSession& session) {
    return relogger_ ? relogger_->OnSimpleEvent(stack, session) : analyzer_->OnSimpleEvent(stack);
  }

 private:
  IAnalyzer* analyzer_ = nullptr;
  IRelogger* relogger_ = nullptr;
};

using ReloggerGroup = std::vector<RelogMember>;

}  // namespace etwpipe::session

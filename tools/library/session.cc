#include "tools/library/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>

#include "formats/etl/etl_sink.h"
#include "pipeline/executor.h"
#include "tools/library/callbacks.h"
#include "tools/library/injected_events.h"
#include "tools/library/merged_source.h"
#include "tools/library/retention_filter.h"
#include "tools/library/trace_walk.h"

namespace etwpipe::session {
namespace {

// Shows events to the analyzers.
class AnalysisTarget final : public EventTarget {
 public:
  AnalysisTarget(Callbacks& callbacks, const AnalyzerGroup& group) : callbacks_(callbacks), group_(group) {}

  bool OnStart(const EventStack& stack) override {
    return callbacks_.Each("OnStartActivity", group_, [&](IAnalyzer* one) { return one->OnStartActivity(stack); });
  }
  bool OnStop(const EventStack& stack) override {
    return callbacks_.Each("OnStopActivity", group_, [&](IAnalyzer* one) { return one->OnStopActivity(stack); });
  }
  bool OnSimple(const EventStack& stack) override {
    return callbacks_.Each("OnSimpleEvent", group_, [&](IAnalyzer* one) { return one->OnSimpleEvent(stack); });
  }

 private:
  Callbacks& callbacks_;
  const AnalyzerGroup& group_;
};

// Shows events to the reloggers.
class RelogTarget final : public EventTarget {
 public:
  RelogTarget(Callbacks& callbacks, ReloggerGroup& group, InjectedEvents& injected)
      : callbacks_(callbacks), group_(group), injected_(injected) {}

  bool OnStart(const EventStack& stack) override {
    return Judge(callbacks_.Each("OnStartActivity", group_,
                                 [&](RelogMember& one) { return one.OnStartActivity(stack, injected_); }));
  }
  bool OnStop(const EventStack& stack) override {
    return Judge(callbacks_.Each("OnStopActivity", group_,
                                 [&](RelogMember& one) { return one.OnStopActivity(stack, injected_); }));
  }
  bool OnSimple(const EventStack& stack) override {
    return Judge(callbacks_.Each("OnSimpleEvent", group_,
                                 [&](RelogMember& one) { return one.OnSimpleEvent(stack, injected_); }));
  }

 private:
  // What could not be injected must not be missing silently.
  bool Judge(bool go_on) {
    if (injected_.error().empty()) return go_on;
    callbacks_.Fail(ResultCode::kAnalysisError, injected_.error());
    return false;
  }

  Callbacks& callbacks_;
  ReloggerGroup& group_;
  InjectedEvents& injected_;
};

ResultCode CodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return ResultCode::kSuccess;
    case StatusCode::kInput: return ResultCode::kProcessTrace;
    case StatusCode::kOutput:
    case StatusCode::kInvalidArgument: return ResultCode::kInvalidOutputFile;
    case StatusCode::kCancelled: return ResultCode::kCancelled;
    default: return ResultCode::kUnknown;
  }
}

// One call of Analyze() or Relog(). Steps return false once the session has ended.
class Session {
 public:
  explicit Session(const std::string& input) : input_(input) {}

  void Analyze(unsigned passes, const AnalyzerGroup& analyzers) {
    if (!CheckMembers(analyzers) || !Open()) return;
    AnalysisPhase(passes, analyzers);
  }

  void Relog(const std::string& output, unsigned passes, RetentionFlags retention, const AnalyzerGroup& analyzers,
             const ReloggerGroup& members) {
    ReloggerGroup reloggers = members;
    if (!CheckMembers(analyzers) || !CheckMembers(reloggers) || !CheckOutput(output) || !Open()) return;
    if (!callbacks_.Each("OnBeginRelogging", reloggers, [](RelogMember& one) { return one.OnBeginRelogging(); }))
      return;
    if (!AnalysisPhase(passes, analyzers) || !Learn()) return;
    InjectedEvents injected(walk_->source().context(), walk_->info());
    if (!ReloggingPass(reloggers, injected)) return;
    if (!callbacks_.Each("OnEndRelogging", reloggers, [](RelogMember& one) { return one.OnEndRelogging(); })) return;
    Write(output, retention, injected);
  }

  SessionResult TakeResult() {
    if (walk_ != nullptr) {
      const TraceInfo& info = walk_->source().context().info;
      counts_.events_lost = info.events_lost;
      counts_.buffers_lost = info.buffers_lost;
      for (const auto& entry : walk_->diagnostics().entries()) {
        if (InfoOf(entry.id).severity != Severity::kInfo) counts_.damage += entry.count;
      }
    }
    return {callbacks_.code(), callbacks_.message(), counts_};
  }

 private:
  bool Check(const Status& status) {
    if (!status.ok()) callbacks_.Fail(CodeOf(status), std::string(status.message()));
    return !callbacks_.stopped();
  }

  bool Fail(ResultCode code, std::string message) {
    callbacks_.Fail(code, std::move(message));
    return false;
  }

  bool CheckMembers(const AnalyzerGroup& group) {
    const bool bad = std::any_of(group.begin(), group.end(), [](const IAnalyzer* one) { return one == nullptr; });
    return !bad || Fail(ResultCode::kMissingAnalysisCallback, "an analyzer of the group is null");
  }
  bool CheckMembers(const ReloggerGroup& group) {
    const bool bad = std::any_of(group.begin(), group.end(), [](const RelogMember& one) { return one.null(); });
    return !bad || Fail(ResultCode::kMissingRelogCallback, "a relogger of the group is null");
  }

  bool CheckOutput(const std::string& output) {
    if (output.empty()) return Fail(ResultCode::kInvalidOutputFile, "no output file is named");
    std::error_code ignored;
    if (std::filesystem::equivalent(input_, output, ignored)) {
      return Fail(ResultCode::kInvalidOutputFile,
                  fmt::format("{}: is input and output at once; write to another file", output));
    }
    return true;
  }

  bool Open() {
    if (input_.empty()) return Fail(ResultCode::kInvalidInputFile, "no input file is named");
    auto walk = TraceWalk::Open(input_);
    if (walk.ok()) {
      walk_ = std::move(*walk);
      return true;
    }
    const bool readable = input_ == "-" || std::ifstream(input_, std::ios::binary).get() != EOF;
    return Fail(readable ? ResultCode::kInvalidInputFile : ResultCode::kOpenInputFile,
                std::string(walk.status().message()));
  }

  bool Learn() {
    if (!learnt_ && !Check(walk_->Learn())) return false;
    learnt_ = true;
    return true;
  }

  bool AnalysisPhase(unsigned passes, const AnalyzerGroup& group) {
    if (!callbacks_.Each("OnBeginAnalysis", group, [](IAnalyzer* one) { return one->OnBeginAnalysis(); })) return false;
    if (passes > 0 && !Learn()) return false;
    for (unsigned pass = 0; pass < passes; ++pass) {
      if (!AnalysisPass(group)) return false;
    }
    return callbacks_.Each("OnEndAnalysis", group, [](IAnalyzer* one) { return one->OnEndAnalysis(); });
  }

  bool AnalysisPass(const AnalyzerGroup& group) {
    const TraceInfoData& info = walk_->info();
    AnalysisTarget target(callbacks_, group);
    return callbacks_.Each("OnBeginAnalysisPass", group, [](IAnalyzer* one) { return one->OnBeginAnalysisPass(); }) &&
           callbacks_.Each("OnTraceInfo", group, [&](IAnalyzer* one) { return one->OnTraceInfo(info); }) &&
           Check(walk_->Deliver(target, counts_.events)) &&
           callbacks_.Each("OnEndAnalysisPass", group, [](IAnalyzer* one) { return one->OnEndAnalysisPass(); });
  }

  bool ReloggingPass(ReloggerGroup& group, InjectedEvents& injected) {
    const TraceInfoData& info = walk_->info();
    RelogTarget target(callbacks_, group, injected);
    return callbacks_.Each("OnBeginReloggingPass", group,
                           [](RelogMember& one) { return one.OnBeginReloggingPass(); }) &&
           callbacks_.Each("OnTraceInfo", group, [&](RelogMember& one) { return one.OnTraceInfo(info); }) &&
           Check(walk_->Deliver(target, counts_.events)) &&
           callbacks_.Each("OnEndReloggingPass", group, [](RelogMember& one) { return one.OnEndReloggingPass(); });
  }

  void Write(const std::string& output, RetentionFlags retention, InjectedEvents& injected) {
    MergedSource merged(walk_->source(), injected.Sorted());
    Plan plan;
    plan.Append(MakeRetentionFilter(retention));
    etl::EtlSinkOptions options;
    options.path = output;
    options.force = true;
    etl::EtlSink sink(std::move(options));
    ExecuteArgs args{merged, plan, sink};
    args.threads = WorkingThreads();
    args.diagnostics = &walk_->diagnostics();
    const auto summary = Execute(args);
    if (!summary.ok()) {
      Check(summary.status());
      return;
    }
    counts_.injected = summary->events_injected;
    counts_.clamped = injected.clamped();
    counts_.retained = summary->events_out - summary->events_injected;
  }

  const std::string& input_;
  Callbacks callbacks_;
  std::unique_ptr<TraceWalk> walk_;
  bool learnt_ = false;
  SessionCounts counts_;
};

template <typename Run>
SessionResult Guarded(const std::string& input, Run&& run) {
  try {
    Session session(input);
    run(session);
    return session.TakeResult();
  } catch (const std::bad_alloc&) {
    return {ResultCode::kUnknown, "out of memory", {}};
  } catch (const std::exception& error) {
    return {ResultCode::kUnknown, error.what(), {}};
  }
}

}  // namespace

SessionResult Analyze(const std::string& input, unsigned passes, const AnalyzerGroup& analyzers) {
  return Guarded(input, [&](Session& session) { session.Analyze(passes, analyzers); });
}

SessionResult Relog(const std::string& input, const std::string& output, unsigned passes, RetentionFlags retention,
                    const AnalyzerGroup& analyzers, const ReloggerGroup& reloggers) {
  return Guarded(input, [&](Session& session) { session.Relog(output, passes, retention, analyzers, reloggers); });
}

}  // namespace etwpipe::session

#include "tools/library/trace_walk.h"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <unordered_set>
#include <utility>

#include "formats/facts/surveyors.h"
#include "formats/open.h"
#include "pipeline/executor.h"
#include "tools/null_sink.h"

namespace etwpipe::session {
namespace {

// Shows every batch to a function, in order.
class VisitStage final : public Stage {
 public:
  explicit VisitStage(std::function<Status(const EventBatch&)> visit) : visit_(std::move(visit)) {
    info_.name = "session.walk";
    info_.order = Order::kTime;
    info_.ordered = true;
  }

  const StageInfo& info() const override { return info_; }
  Status Process(const ProcessArgs& args) const override { return visit_(args.batch); }

 private:
  StageInfo info_;
  std::function<Status(const EventBatch&)> visit_;
};

}  // namespace

int WorkingThreads() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u)); }

Result<std::unique_ptr<TraceWalk>> TraceWalk::Open(const std::string& path) {
  std::unique_ptr<TraceWalk> walk(new TraceWalk());
  OpenOptions options;
  options.several_passes = true;
  options.diagnostics = &walk->diagnostics_;
  auto source = OpenSource(path, options);
  if (!source.ok()) return source.status().WithContext("input");
  walk->source_ = std::move(*source);
  return walk;
}

// Facts are collected by the first walk and stay in the trace's context.
Status TraceWalk::EachBatch(int threads, bool first, const Visit& visit) {
  Plan plan;
  plan.Append(std::make_unique<VisitStage>(visit));
  NullSink sink;
  ExecuteArgs args{*source_, plan, sink};
  args.threads = threads;
  if (first) {
    facts::SchemaSources schemas;
    if (const char* folders = std::getenv("ETWPIPE_MANIFEST_PATH")) schemas.environment = folders;
    auto surveyors = facts::MakeSurveyors(schemas);
    if (!surveyors.ok()) return surveyors.status();
    plan.facts = static_cast<FactSet>(plan.facts | activities::kWalkFacts);
    args.surveyors = surveyors->factory;
    args.diagnostics = &diagnostics_;
  }
  const auto summary = Execute(args);
  return summary.ok() ? Status() : summary.status();
}

Status TraceWalk::Learn() {
  const TraceContext& trace = source_->context();
  uint32_t processors = trace.info.processors;
  bool any = false;
  std::unique_ptr<activities::HistoryWalk> history;
  ETWPIPE_RETURN_IF_ERROR(EachBatch(WorkingThreads(), true, [&](const EventBatch& batch) -> Status {
    // Made now: before, the facts are not there.
    if (history == nullptr) history = std::make_unique<activities::HistoryWalk>(trace, options_);
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      processors = std::max(processors, uint32_t{row.cpu} + 1);
      any = true;
      history->Observe(row);
    }
    return {};
  }));
  if (history != nullptr) history_ = history->Finish();
  info_.logical_processor_count = processors;
  info_.tick_frequency = trace.info.clock.frequency;
  info_.start_timestamp = any ? history_.trace_start : trace.info.clock.base_ticks;
  info_.stop_timestamp = any ? std::max(history_.trace_start, history_.trace_stop) : trace.info.clock.base_ticks;
  if (history_.missing.empty()) return {};

  std::unordered_set<EventInstanceId> wanted;
  for (const auto& missing : history_.missing) wanted.insert(missing.id);
  return EachBatch(WorkingThreads(), false, [&](const EventBatch& batch) -> Status {
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      if (wanted.contains(row.instance_id)) missing_.try_emplace(row.instance_id, row);
    }
    return {};
  });
}

Status TraceWalk::Deliver(EventTarget& target, uint64_t& delivered) {
  EventDelivery delivery({source_->context(), options_, history_, missing_, target});
  const Status status = EachBatch(1, false, [&](const EventBatch& batch) -> Status {
    for (const uint16_t index : batch.selection) {
      if (!delivery.Observe(batch.rows[index])) return Status::Cancelled();
    }
    return {};
  });
  const bool finished = status.ok() && delivery.Finish();
  delivered = delivery.delivered();
  ETWPIPE_RETURN_IF_ERROR(status);
  return finished ? Status() : Status::Cancelled();
}

}  // namespace etwpipe::session

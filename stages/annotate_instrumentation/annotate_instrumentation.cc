#include "stages/annotate_instrumentation/annotate_instrumentation.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "formats/activities/call_table.h"
#include "stages/annotate_activity/chosen_activities.h"
#include "stages/annotate_instrumentation/options.pb.h"
#include "stages/duration.h"

namespace etwpipe {
namespace {

using activities::ActivityOptions;
using activities::CallOptions;
using activities::CallTable;
using activities::CallValues;
using activities::OsPolicy;
using Options = v1::AnnotateInstrumentationOptions;

// The columns, in this order; the part behind the last dot is what ndjson shows.
enum Column : size_t { kElapsedInclusive, kElapsedExclusive, kApplicationInclusive, kApplicationExclusive, kPolicy };
constexpr std::array<std::string_view, 5> kColumns = {
    "annotate.instrumentation.elapsed_inclusive", "annotate.instrumentation.elapsed_exclusive",
    "annotate.instrumentation.application_inclusive", "annotate.instrumentation.application_exclusive",
    "annotate.instrumentation.os_events"};

StageInfo Describe() {
  StageInfo info;
  info.name = "annotate.instrumentation";
  info.summary = "adds to the records that enter and leave a call its elapsed and application ticks";
  info.example = "annotate.instrumentation:policy=vs";
  info.options = Options::descriptor();
  info.needs = StageNeeds::kPayload;
  info.facts = CallTable::kFacts;
  for (size_t i = 0; i < kPolicy; ++i) {
    info.produces.push_back({std::string(kColumns[i]), AnnotationType::kI64, AnnotationUnit::kTicks, {}});
  }
  info.produces.push_back({std::string(kColumns[kPolicy]), AnnotationType::kString, AnnotationUnit::kNone, {}});
  info.order = Order::kTime;
  info.ordered = true;
  info.analysis_passes = CallTable::kPasses;
  return info;
}

struct State : StageState {
  State(const TraceContext& trace, const ActivityOptions& walk, const CallOptions& calls) : table(trace, walk, calls) {}
  CallTable table;
  bool counted = false;
};

class AnnotateInstrumentation : public Stage {
 public:
  AnnotateInstrumentation(ChosenActivities chosen, OsPolicy policy, int64_t overhead)
      : info_(Describe()), chosen_(std::move(chosen)), overhead_(overhead) {
    calls_.policy = policy;
    info_.facts = static_cast<FactSet>(info_.facts | chosen_.facts);
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    trace_ = &args.trace;
    chosen_.rules->Bind(args.trace);
    constexpr int64_t kSecond = 1'000'000'000;
    const int64_t frequency = args.trace.info.clock.frequency;
    const Int128 ticks = (Int128{overhead_} * frequency + kSecond / 2) / kSecond;
    if (overhead_ != 0 && ticks == 0) {
      return Status::InvalidArgument(
          fmt::format("option overhead: {} ns is less than half a tick of this trace, which has {} a second", overhead_,
                      frequency));
    }
    calls_.overhead = ticks > INT64_MAX ? INT64_MAX : static_cast<int64_t>(ticks);
    return {};
  }

  std::unique_ptr<StageState> NewState() const override {
    return std::make_unique<State>(*trace_, chosen_.walk, calls_);
  }

  Status Analyze(const ProcessArgs& args, int pass) const override {
    static_cast<State&>(*args.state).table.Observe(args.batch, pass);
    return {};
  }

  Status Process(const ProcessArgs& args) const override {
    State& state = static_cast<State&>(*args.state);
    state.table.Finish();
    Count(state, args.diagnostics);
    for (const AnnotationInfo& column : info_.produces) {
      if (args.batch.FindAnnotation(column.name) == nullptr) args.batch.AddAnnotation(column);
    }
    // Adding may move columns.
    std::array<AnnotationColumn*, kColumns.size()> columns{};
    for (size_t i = 0; i < columns.size(); ++i) columns[i] = args.batch.FindAnnotation(kColumns[i]);
    for (const uint16_t index : args.batch.selection) {
      const CallValues* values = state.table.FindByRecord(args.batch.rows[index].instance_id);
      if (values == nullptr) continue;
      columns[kElapsedInclusive]->SetI64(index, values->elapsed_inclusive);
      columns[kElapsedExclusive]->SetI64(index, values->elapsed_exclusive);
      columns[kApplicationInclusive]->SetI64(index, values->application_inclusive);
      columns[kApplicationExclusive]->SetI64(index, values->application_exclusive);
      columns[kPolicy]->SetString(index, activities::ToString(calls_.policy));
    }
    return {};
  }

 private:
  static void Count(State& state, Diagnostics* diagnostics) {
    if (state.counted || diagnostics == nullptr) return;
    state.counted = true;
    const activities::CallCounts& calls = state.table.times().counts();
    diagnostics->AddCount(DiagnosticId::kCallsUnordered, calls.unordered_leaves);
    diagnostics->AddCount(DiagnosticId::kOsEventUnattributed, state.table.os_counts().unattributed);
  }

  StageInfo info_;
  ChosenActivities chosen_;
  CallOptions calls_;
  int64_t overhead_;  // nanoseconds
  const TraceContext* trace_ = nullptr;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const Options&>(message);
  v1::AnnotateActivityOptions choice;
  *choice.mutable_kinds() = options.kinds();
  *choice.mutable_rule() = options.rule();
  auto chosen = ChooseActivities(choice);
  if (!chosen.ok()) return chosen.status();
  int64_t overhead = 0;
  if (!options.overhead().empty()) {
    std::string reason;
    const auto parsed = ParseDuration(options.overhead(), &reason);
    if (!parsed) return Status::InvalidArgument(fmt::format("option overhead: {}", reason));
    overhead = *parsed;
  }
  const OsPolicy policy = options.policy() == Options::POLICY_VS ? OsPolicy::kVs : OsPolicy::kDefault;
  return std::unique_ptr<Stage>(std::make_unique<AnnotateInstrumentation>(std::move(*chosen), policy, overhead));
}

}  // namespace

Registry::Entry AnnotateInstrumentationEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

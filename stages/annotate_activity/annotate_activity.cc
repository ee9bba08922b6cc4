#include "stages/annotate_activity/annotate_activity.h"

#include <utility>
#include <vector>

#include "formats/activities/activity_table.h"
#include "stages/annotate_activity/chosen_activities.h"
#include "stages/annotate_activity/options.pb.h"
#include "stages/annotate_activity/timing_event.h"

namespace etwpipe {
namespace {

using activities::Activity;
using activities::ActivityOptions;
using activities::ActivityTable;
using Options = v1::AnnotateActivityOptions;

constexpr std::string_view kColumn = "annotate.activity.activity";

StageInfo Describe() {
  StageInfo info;
  info.name = "annotate.activity";
  info.summary = "adds to the records that start and stop an activity what its time was spent on";
  info.example = "annotate.activity:kinds=clr,app";
  info.options = Options::descriptor();
  info.main_option = "kinds";
  info.needs = StageNeeds::kPayload;
  info.facts = activities::kWalkFacts;
  info.produces = {{std::string(kColumn), AnnotationType::kMessage, AnnotationUnit::kNone,
                    std::string(v1::ActivityTiming::descriptor()->full_name())}};
  info.order = Order::kTime;
  info.ordered = true;
  info.analysis_passes = ActivityTable::kPasses;
  return info;
}

struct State : StageState {
  State(const TraceContext& trace, const ActivityOptions& options) : table(trace, options) {}
  ActivityTable table;
  v1::ActivityTiming timing;
  std::string bytes;
  bool counted = false;
};

class AnnotateActivity : public Stage {
 public:
  AnnotateActivity(ChosenActivities chosen, Options::Events events)
      : info_(Describe()), chosen_(std::move(chosen)), events_(events) {
    info_.facts = chosen_.facts;
    info_.injects = events_ == Options::EVENTS_ALWAYS;
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    trace_ = &args.trace;
    chosen_.rules->Bind(args.trace);
    if (events_ == Options::EVENTS_AUTO) info_.injects = !args.stores_annotations;
    return {};
  }

  std::unique_ptr<StageState> NewState() const override { return std::make_unique<State>(*trace_, chosen_.walk); }

  Status Analyze(const ProcessArgs& args, int pass) const override {
    static_cast<State&>(*args.state).table.Observe(args.batch, pass);
    return {};
  }

  Status Process(const ProcessArgs& args) const override {
    State& state = static_cast<State&>(*args.state);
    state.table.Finish();
    Count(state, args.diagnostics);
    AnnotationColumn* known = args.batch.FindAnnotation(kColumn);
    AnnotationColumn& column = known != nullptr ? *known : args.batch.AddAnnotation(info_.produces.front());
    std::vector<std::pair<uint16_t, EventHeader>> added;
    for (const uint16_t index : args.batch.selection) {
      const EventHeader& row = args.batch.rows[index];
      const Activity* activity = state.table.FindByRecord(row.instance_id);
      if (activity == nullptr) continue;
      FillTiming(state.table, *activity, state.timing);
      state.timing.SerializeToString(&state.bytes);
      column.SetString(index, state.bytes);
      // One event an activity, beside the record whose id it has.
      if (!info_.injects || activity->id != row.instance_id) continue;
      const EventHeader event = TimingEvent(args.batch, args.trace, row, state.timing);
      if (event.record != nullptr) added.emplace_back(index, event);
    }
    if (!added.empty()) {
      args.batch.Inject(added);
      args.batch.buffer = nullptr;
    }
    return {};
  }

 private:
  static void Count(State& state, Diagnostics* diagnostics) {
    if (state.counted || diagnostics == nullptr) return;
    state.counted = true;
    const activities::ActivityCounts& counts = state.table.counts();
    diagnostics->AddCount(DiagnosticId::kActivityUnterminated, counts.unterminated);
    diagnostics->AddCount(DiagnosticId::kActivityTruncatedStart, counts.truncated_start);
    diagnostics->AddCount(DiagnosticId::kActivityUnbalanced, counts.unbalanced);
    diagnostics->AddCount(DiagnosticId::kActivityNegative, counts.negative);
    diagnostics->AddCount(DiagnosticId::kSwitchesLost, state.table.history().switches.anomalies);
  }

  StageInfo info_;
  ChosenActivities chosen_;
  Options::Events events_;
  const TraceContext* trace_ = nullptr;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const Options&>(message);
  auto chosen = ChooseActivities(options);
  if (!chosen.ok()) return chosen.status();
  return std::unique_ptr<Stage>(std::make_unique<AnnotateActivity>(std::move(*chosen), options.events()));
}

}  // namespace

Registry::Entry AnnotateActivityEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

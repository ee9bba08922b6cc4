#include "stages/annotate_activity/annotate_activity.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "formats/activities/activity_table.h"
#include "stages/annotate_activity/declared_pairs.h"
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
  AnnotateActivity(const ActivityOptions& walk, Options::Events events, std::unique_ptr<RulePairs> rules)
      : info_(Describe()), walk_(walk), events_(events), rules_(std::move(rules)) {
    info_.facts |= rules_->facts();
    if (!rules_->empty()) walk_.rules = rules_.get();
    info_.injects = events_ == Options::EVENTS_ALWAYS;
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    trace_ = &args.trace;
    rules_->Bind(args.trace);
    if (events_ == Options::EVENTS_AUTO) info_.injects = !args.stores_annotations;
    return {};
  }

  std::unique_ptr<StageState> NewState() const override { return std::make_unique<State>(*trace_, walk_); }

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
  ActivityOptions walk_;
  Options::Events events_;
  std::unique_ptr<RulePairs> rules_;
  const TraceContext* trace_ = nullptr;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const Options&>(message);
  ActivityOptions walk;
  if (!options.kinds().empty()) walk.kinds = 0;
  for (const std::string& name : options.kinds()) {
    const auto kind = activities::KindFromText(name);
    if (!kind) {
      return Status::InvalidArgument(
          fmt::format("option kinds: no kind \"{}\"; there are app, clr, buildinsights, rules, process, thread", name));
    }
    walk.kinds |= activities::BitOf(*kind);
  }
  if (options.division() == Options::DIVISION_ROOTS) walk.division = activities::DivisionRule::kRoots;
  walk.sampled_cpu = options.cpu() == Options::CPU_SAMPLES;
  auto rules = RulePairs::Parse(options.rule());
  if (!rules.ok()) return rules.status();
  return std::unique_ptr<Stage>(std::make_unique<AnnotateActivity>(walk, options.events(), std::move(*rules)));
}

}  // namespace

Registry::Entry AnnotateActivityEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

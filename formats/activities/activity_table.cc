#include "formats/activities/activity_table.h"

#include <array>
#include <utility>

namespace etwpipe::activities {
namespace {

constexpr std::array<std::string_view, kActivityKinds> kKinds = {"app",   "clr",     "buildinsights",
                                                                 "rules", "process", "thread"};
constexpr std::array<std::string_view, 8> kFlags = {"unterminated",  "truncated_start", "unbalanced", "migrated",
                                                    "late_children", "negative",        "coarse",     "lost_events"};

}  // namespace

std::vector<std::string_view> FlagNames(uint16_t flags) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kFlags.size(); ++i) {
    if ((flags >> i & 1) != 0) names.push_back(kFlags[i]);
  }
  return names;
}

std::string_view ToString(ActivityKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::optional<ActivityKind> KindFromText(std::string_view text) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == text) return static_cast<ActivityKind>(i);
  }
  return std::nullopt;
}

struct ActivityTable::Collector : ActivityListener {
  explicit Collector(std::vector<Activity>& into) : activities(into) {}
  void OnFinal(const Activity& activity) override { activities.push_back(activity); }
  std::vector<Activity>& activities;
};

ActivityTable::ActivityTable(const TraceContext& trace, const ActivityOptions& options)
    : trace_(trace), options_(options), first_(std::make_unique<HistoryWalk>(trace, options)) {}

ActivityTable::~ActivityTable() = default;

void ActivityTable::Observe(const EventBatch& batch, int pass) {
  if (pass == 0) {
    for (const EventHeader& row : batch.rows) first_->Observe(row);
    return;
  }
  if (second_ == nullptr) {
    history_ = first_->Finish();
    first_.reset();
    collector_ = std::make_unique<Collector>(activities_);
    second_ = std::make_unique<ActivityWalk>(trace_, options_, history_, collector_.get());
  }
  for (const EventHeader& row : batch.rows) second_->Observe(row);
}

void ActivityTable::Finish() {
  if (finished_) return;
  finished_ = true;
  if (second_ == nullptr) Observe({}, 1);
  second_->Finish();
  for (size_t i = 0; i < activities_.size(); ++i) {
    by_record_[activities_[i].id] = i;
    if (activities_[i].stop_id != 0) by_record_.try_emplace(activities_[i].stop_id, i);
  }
}

const Activity* ActivityTable::FindByRecord(EventInstanceId id) const {
  const auto found = by_record_.find(id);
  return found == by_record_.end() ? nullptr : &activities_[found->second];
}

std::string_view ActivityTable::NameOf(const Activity& activity) const { return second_->NameOf(activity.name); }
std::string_view ActivityTable::ModuleOf(const Activity& activity) const { return second_->ModuleOf(activity.name); }
int64_t ActivityTable::covered() const { return second_->tracker().covered(); }
const ActivityCounts& ActivityTable::counts() const { return second_->tracker().counts(); }

CpuTime ActivityTable::cpu_time() const {
  if (options_.sampled_cpu) return CpuTime::kSampled;
  const SwitchHistory& switches = history_.switches;
  if (switches.switches == 0) return CpuTime::kNone;
  const int64_t span = history_.trace_stop - history_.trace_start;
  const bool late = switches.first_switch - history_.trace_start > span / 100;
  return late || switches.anomalies != 0 || switches.silent_processors != 0 ? CpuTime::kPartial : CpuTime::kFull;
}

}  // namespace etwpipe::activities

#include "formats/activities/activity_table.h"

#include <array>

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

ActivityTable::ActivityTable(const TraceContext& trace, const ActivityOptions& options)
    : options_(options), walks_(trace, options, &collector_) {}

void ActivityTable::Observe(const EventBatch& batch, int pass) {
  walks_.Observe(batch, pass, [](const EventHeader&) {});
}

void ActivityTable::Finish() {
  if (!walks_.Finish()) return;
  for (size_t i = 0; i < all().size(); ++i) {
    by_record_[all()[i].id] = i;
    if (all()[i].stop_id != 0) by_record_.try_emplace(all()[i].stop_id, i);
  }
}

const Activity* ActivityTable::FindByRecord(EventInstanceId id) const {
  const auto found = by_record_.find(id);
  return found == by_record_.end() ? nullptr : &all()[found->second];
}

std::string_view ActivityTable::NameOf(const Activity& activity) const { return walks_.walk().NameOf(activity.name); }
std::string_view ActivityTable::ModuleOf(const Activity& activity) const {
  return walks_.walk().ModuleOf(activity.name);
}
int64_t ActivityTable::covered() const { return walks_.walk().tracker().covered(); }
const ActivityCounts& ActivityTable::counts() const { return walks_.walk().tracker().counts(); }

CpuTime ActivityTable::cpu_time() const {
  if (options_.sampled_cpu) return CpuTime::kSampled;
  const SwitchHistory& switches = history().switches;
  if (switches.switches == 0) return CpuTime::kNone;
  const int64_t span = history().trace_stop - history().trace_start;
  const bool late = switches.first_switch - history().trace_start > span / 100;
  return late || switches.anomalies != 0 || switches.silent_processors != 0 ? CpuTime::kPartial : CpuTime::kFull;
}

}  // namespace etwpipe::activities

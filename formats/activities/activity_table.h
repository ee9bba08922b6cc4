// All activities of a trace with their values, found in two passes.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/activities/activity_walk.h"
#include "pipeline/batch.h"

namespace etwpipe::activities {

/// unterminated, truncated_start, ...: the names of the flags that are set, in the order of their bits.
std::vector<std::string_view> FlagNames(uint16_t flags);
/// app, clr, buildinsights, rules, process, thread
std::string_view ToString(ActivityKind kind);
/// The kind of that name; nullopt if there is none.
std::optional<ActivityKind> KindFromText(std::string_view text);

/// Made for one trace; collects activities while two passes go over all of its events in order, then gives them.
class ActivityTable {
 public:
  static constexpr int kPasses = TwoPassWalk::kPasses;

  /// Both outlive it.
  ActivityTable(const TraceContext& trace, const ActivityOptions& options);

  /// A batch of pass 0 or 1, unfiltered, in sequence.
  void Observe(const EventBatch& batch, int pass);
  /// After the last batch of pass 1; further calls do nothing.
  void Finish();

  // After Finish():

  /// In the order in which they became final.
  const std::vector<Activity>& all() const { return collector_.activities; }
  /// The activity that the record of that id starts or stops; null if none. A record that stops one activity and starts
  /// another gives the latter.
  const Activity* FindByRecord(EventInstanceId id) const;
  std::string_view NameOf(const Activity& activity) const;
  std::string_view ModuleOf(const Activity& activity) const;
  int64_t covered() const;
  const ActivityCounts& counts() const;
  /// How far CPU ticks can be known: partial where processors have no context switches, the first comes after the first
  /// hundredth of the trace, or switches were lost (semantics.md 3.2).
  CpuTime cpu_time() const;
  const ActivityHistory& history() const { return walks_.history(); }

 private:
  struct Collector : ActivityListener {
    void OnFinal(const Activity& activity) override { activities.push_back(activity); }
    std::vector<Activity> activities;
  };

  const ActivityOptions& options_;
  Collector collector_;
  TwoPassWalk walks_;
  std::unordered_map<EventInstanceId, size_t> by_record_;
};

}  // namespace etwpipe::activities

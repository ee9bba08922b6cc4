// Activities of a trace: the events that start and stop them, followed by a tracker. Two walks over the same events.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "formats/activities/activity.h"
#include "formats/activities/tracker.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe::activities {

/// A set of ActivityKind.
using KindSet = uint8_t;
constexpr KindSet BitOf(ActivityKind kind) { return static_cast<KindSet>(1u << static_cast<unsigned>(kind)); }
constexpr KindSet kDefaultKinds = 0x0F;  ///< app, clr, buildinsights, rules

/// What a declared pair says of one event.
struct DeclaredEvent {
  uint32_t rule = 0;  ///< number of the pair
  bool start = false;
  bool strict = false;   ///< pairs on one thread; else anywhere in the process
  std::string_view key;  ///< what start and stop have in common beside; valid until the next call
};

/// Pairs that the user declared (rule{ name start{where} stop{where} key nest }).
class DeclaredPairs {
 public:
  virtual ~DeclaredPairs() = default;
  /// What the rules say of the event: appended to `events`. One thread at a time.
  virtual void Match(const EventHeader& row, std::vector<DeclaredEvent>& events) = 0;
  virtual std::string_view NameOf(uint32_t rule) const = 0;
};

struct ActivityOptions {
  KindSet kinds = kDefaultKinds;
  DeclaredPairs* rules = nullptr;  ///< may be null; outlives the walks
  DivisionRule division = DivisionRule::kLeaves;
  bool sampled_cpu = false;
};

/// Facts that must be known before a walk.
constexpr FactSet kWalkFacts = kSchemas | kMethods | kProcesses;

/// The first walk: finds what the second must know before its first event. Every event in the order of design.md
/// section 7. One thread at a time; `trace` outlives it.
class HistoryWalk {
 public:
  HistoryWalk(const TraceContext& trace, const ActivityOptions& options);
  ~HistoryWalk();
  void Observe(const EventHeader& row);
  ActivityHistory Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The second walk, and every further one: tells the listener of activities as their events come.
class ActivityWalk {
 public:
  /// `history` is that of a HistoryWalk with the same options; all arguments outlive the walk. Activities without a
  /// start begin now: so the listener is told of them in here.
  ActivityWalk(const TraceContext& trace, const ActivityOptions& options, const ActivityHistory& history,
               ActivityListener* listener);
  ~ActivityWalk();
  /// The next event; true if it starts or stops an activity. Activities whose end is known ahead stop before it.
  bool Observe(const EventHeader& row);
  /// After the last event: activities that still go on end.
  void Finish();

  const ActivityTracker& tracker() const;
  /// Name of an activity by Activity::name: provider/task, GC, the function. Lives as long as the walk.
  std::string_view NameOf(uint32_t name) const;
  /// Module of a function; empty for others.
  std::string_view ModuleOf(uint32_t name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Both walks over the batches of two passes.
class TwoPassWalk {
 public:
  static constexpr int kPasses = 2;

  /// All arguments outlive it.
  TwoPassWalk(const TraceContext& trace, const ActivityOptions& options, ActivityListener* listener)
      : trace_(trace), options_(options), listener_(listener), first_(std::make_unique<HistoryWalk>(trace, options)) {}

  /// A batch of pass 0 or 1, unfiltered, in sequence. In pass 1 `behind(row)` is called behind what the listener is
  /// told of a row.
  template <typename Behind>
  void Observe(const EventBatch& batch, int pass, Behind&& behind) {
    if (pass == 0) {
      for (const EventHeader& row : batch.rows) first_->Observe(row);
      return;
    }
    BeginSecond();
    for (const EventHeader& row : batch.rows) {
      second_->Observe(row);
      behind(row);
    }
  }
  /// After the last batch of pass 1; false if that was done before.
  bool Finish();

  /// What pass 0 found: known in pass 1.
  const ActivityHistory& history() const { return history_; }
  /// From pass 1 on.
  const ActivityWalk& walk() const { return *second_; }

 private:
  void BeginSecond();

  const TraceContext& trace_;
  const ActivityOptions& options_;
  ActivityListener* listener_;
  std::unique_ptr<HistoryWalk> first_;
  ActivityHistory history_;
  std::unique_ptr<ActivityWalk> second_;
  bool finished_ = false;
};

}  // namespace etwpipe::activities

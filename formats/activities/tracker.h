// Follows activities through a trace and finds what their time was spent on, in one walk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "formats/activities/activity.h"
#include "formats/activities/divider.h"
#include "formats/activities/processor_runs.h"

namespace etwpipe::activities {

/// An activity that goes on, by number and id: numbers are used again.
struct OpenActivity {
  uint32_t number = 0xFFFFFFFF;
  EventInstanceId id = 0;
  friend bool operator==(const OpenActivity&, const OpenActivity&) = default;
};

/// Told of activities while a tracker walks. The activity lives until the call returns.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// It begins: stop and all ticks are still 0.
  virtual void OnStart(const Activity&) {}
  /// It has stopped. Its values are final unless it has kLateChildren: then the inclusive ones lack those children.
  virtual void OnStop(const Activity&) {}
  /// All its descendants have stopped too, and its values are final. Children come before their parents.
  virtual void OnFinal(const Activity&) {}
};

/// What went wrong, counted.
struct ActivityCounts {
  uint64_t started = 0;
  uint64_t unterminated = 0;
  uint64_t truncated_start = 0;
  uint64_t unbalanced = 0;
  uint64_t migrated = 0;
  uint64_t negative = 0;
  uint64_t late_children = 0;
  uint64_t time_steps_back = 0;
};

/// What has to be known of a trace before its first event; found by a first walk, empty where nothing was found.
struct ActivityHistory {
  struct MissingStart {
    EventInstanceId id = 0;  ///< of the stop record
    uint32_t pid = kNoId;
    uint32_t tid = kNoId;
    uint32_t name = 0;
    uint16_t processor = 0;
    ActivityKind kind = ActivityKind::kApp;
    bool nests = true;  ///< paired by its thread: among the missing starts of a thread the first to stop is innermost
  };
  std::vector<MissingStart> missing;  ///< in the order of their stops
  SwitchHistory switches;
};

struct TrackerOptions {
  DivisionRule division = DivisionRule::kLeaves;
  int64_t trace_start = 0;   ///< where activities without a start begin
  bool sampled_cpu = false;  ///< CPU ticks from Sample() and not from Switch()
};

/// The normative algorithms of semantics.md 2.3, 3.1 and 3.2 in one walk. Calls come in the order of the trace; a time
/// below that of an earlier call counts as that one. Every call costs O(1), apart from those that end many activities.
/// Memory: activities that go on, those above them, and threads. One thread at a time.
class ActivityTracker {
 public:
  /// Starts the activities of `history.missing`. `listener` may be null; both outlive the tracker.
  ActivityTracker(const TrackerOptions& options, const ActivityHistory& history, ActivityListener* listener);
  ~ActivityTracker();

  struct StartArgs {
    int64_t time = 0;
    EventInstanceId id = 0;
    uint32_t pid = kNoId;
    uint32_t tid = kNoId;  ///< kNoId: of no thread; it gets no CPU ticks and encloses nothing
    uint32_t name = 0;
    uint16_t processor = 0;
    uint16_t flags = 0;
    ActivityKind kind = ActivityKind::kApp;
    OpenActivity parent{};  ///< none, or one that goes on no longer: the innermost of its thread
  };
  OpenActivity Start(const StartArgs& args);

  struct StopArgs {
    int64_t time = 0;
    EventInstanceId id = 0;  ///< of the stop record; 0 if there is none
    uint32_t tid = kNoId;    ///< thread of the stop record
    uint16_t flags = 0;
    bool ends_inner = false;  ///< activities above it on its thread end with it (kUnbalanced); else they go on
  };
  /// Nothing happens if it goes on no longer.
  void Stop(OpenActivity activity, const StopArgs& args);
  /// The activity of ActivityHistory::missing whose stop record has that id.
  OpenActivity FindMissing(EventInstanceId stop_id) const;

  /// An activity that is to stop at a time that is known already: Advance() and every other call stop it when it comes.
  void StopAt(OpenActivity activity, int64_t time);

  bool IsOpen(OpenActivity activity) const;
  /// An open activity, as it stands; null if it goes on no longer. Valid until the next call.
  const Activity* Find(OpenActivity activity) const;
  /// Its parent; a parent that has stopped is no longer there.
  OpenActivity ParentOf(OpenActivity activity) const;
  /// The innermost activity of a thread; none if it has none.
  OpenActivity Innermost(uint32_t tid) const;
  /// The next outer activity of the same thread.
  OpenActivity Below(OpenActivity activity) const;

  /// Any event: time goes on to it.
  void Advance(int64_t time);
  /// CSwitch: also counts as the Advance() of its time. Tid 0 is idle.
  void Switch(uint16_t processor, int64_t time, uint32_t new_tid, uint32_t old_tid);
  /// A profile sample that stands for `ticks`.
  void Sample(uint32_t tid, int64_t ticks);
  /// A thread begins to live: a number used again starts anew.
  void ThreadStart(uint32_t tid, uint32_t pid, int64_t time);
  /// All activities of the thread end (kUnterminated), apart from those of kind kThread.
  void ThreadEnd(uint32_t tid, int64_t time);
  /// The same for all threads of the process.
  void ProcessEnd(uint32_t pid, int64_t time);
  /// The end of the trace: everything ends. `time` is that of the last event.
  void Finish(int64_t time);

  size_t open() const { return open_; }
  /// Ticks in which at least one activity went on: the sum of all exclusive responsibilities after Finish().
  int64_t covered() const { return covered_; }
  const ActivityCounts& counts() const { return counts_; }

 private:
  struct Node;
  struct Thread;
  struct Processor;
  // ... (implementation)
};

}  // namespace etwpipe::activities

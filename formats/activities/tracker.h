// Follows activities through a trace and finds what their time was spent on, in one walk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/activities/activity.h"
#include "formats/activities/divider.h"
#include "formats/activities/processor_runs.h"
#include "pipeline/guid.h"

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

/// What an activity is called.
struct ActivityName {
  std::string text;    ///< Provider/Task, GC, Kind: entity, Namespace.Method(args)
  std::string module;  ///< of a function, where it is known
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
  int64_t trace_start = 0;  ///< raw ticks of the first event
  int64_t trace_stop = 0;   ///< of the last one
  struct MissingStart {
    EventInstanceId id = 0;  ///< of the stop record
    uint32_t pid = kNoId;
    uint32_t tid = kNoId;
    uint32_t name = 0;
    uint16_t processor = 0;
    ActivityKind kind = ActivityKind::kApp;
    bool nests = true;   ///< paired by its thread: among the missing starts of a thread the first to stop is innermost
    Guid activity_id{};  ///< of its stop record, if that has one: children may name it
  };
  std::vector<MissingStart> missing;  ///< in the order of their stops
  /// Activities whose stop is earlier than their start. They take no part in the division and enclose nothing.
  std::unordered_set<EventInstanceId> negative;
  /// Names that MissingStart::name gives by number.
  std::vector<ActivityName> names;
  /// Activities with a stop record that comes after the end of their thread.
  std::unordered_set<EventInstanceId> outlasting;
  /// Processes whose runtime tells when an exception has been handled (ExceptionThrown/Stop).
  std::unordered_set<uint32_t> exceptions_stop;
  SwitchHistory switches;
};

struct TrackerOptions {
  DivisionRule division = DivisionRule::kLeaves;
  int64_t trace_start = 0;   ///< where activities without a start begin
  int64_t same_start = 0;    ///< two starts of a thread at most so many ticks apart are one that two providers tell
  bool sampled_cpu = false;  ///< CPU ticks from Sample() and not from Switch()
  /// For the first walk: activities that others can stop go on after the end of their thread, and those that do stop
  /// are put here. Null: ActivityHistory::outlasting says which go on.
  std::unordered_set<EventInstanceId>* outlasting = nullptr;
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
    bool nests = true;      ///< only its own thread can stop it
    bool strict = false;    ///< cannot outlast an activity below it on its thread (StopArgs::ends_inner)
    OpenActivity parent{};  ///< none, or one that goes on no longer: the innermost of its thread
  };
  OpenActivity Start(const StartArgs& args);

  struct StopArgs {
    int64_t time = 0;
    EventInstanceId id = 0;  ///< of the stop record; 0 if there is none
    uint32_t tid = kNoId;    ///< thread of the stop record
    uint16_t flags = 0;
    bool ends_inner = false;  ///< strict activities above it on its thread end with it (kUnbalanced)
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
  /// Strict activities of the thread end (kUnbalanced): one below all of them has stopped.
  void EndStrict(uint32_t tid, int64_t time);
  /// The next outer activity of the same thread.
  OpenActivity Below(OpenActivity activity) const;

  /// Any event: time goes on to it.
  void Advance(int64_t time);
  /// CSwitch: also counts as the Advance() of its time. Tid 0 is idle.
  void Switch(uint16_t processor, int64_t time, uint32_t new_tid, uint32_t old_tid);
  /// A profile sample that stands for `ticks`; nothing unless TrackerOptions::sampled_cpu.
  void Sample(uint32_t tid, int64_t ticks);
  /// A thread begins to live: a number used again starts anew.
  void ThreadStart(uint32_t tid, uint32_t pid, int64_t time);
  /// All activities of the thread end (kUnterminated), apart from those of kind kThread and those with a stop record to
  /// come.
  void ThreadEnd(uint32_t tid, int64_t time);
  /// The same for all threads of the process.
  void ProcessEnd(uint32_t pid, int64_t time);
  /// The end of the trace: everything ends, what StopAt() told at its time, the rest at `time`, that of the last event.
  void Finish(int64_t time);

  size_t open() const { return open_; }
  /// Ticks in which at least one activity went on: the sum of all exclusive responsibilities after Finish().
  int64_t covered() const { return covered_; }
  const ActivityCounts& counts() const { return counts_; }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct Thread;

  // An activity that goes on, or one that has stopped while descendants go on.
  struct Node {
    Activity activity;
    Share share;
    Thread* thread = nullptr;
    uint32_t parent = kNone;
    uint32_t tree = 0;  // its root
    uint32_t below = kNone;
    uint32_t above = kNone;
    uint32_t live_children = 0;  // children that go on or have descendants that do
    uint32_t open_children = 0;  // children that go on
    int64_t children_since = 0;  // since when open_children is not 0
    int64_t children_ticks = 0;  // while open_children was not 0
    int64_t children_cpu = 0;    // inclusive, of children that are final
    int64_t children_responsibility = 0;
    bool open = false;
    bool nests = true;
    bool strict = false;
    bool stop_known = false;  // an appointment stops it
    bool divides = false;     // goes on in the sense of the division: open and not known to be negative
    bool leaf = false;        // the divider has it
    bool orphan = false;      // its thread has ended
    int64_t begun = 0;        // now_ at its start
  };
  struct Thread {
    uint32_t pid = kNoId;
    uint32_t innermost = kNone;
    uint32_t processors = 0;  // that run it: more than one only where switches were lost
    int64_t since = 0;        // not yet credited; if processors is not 0
    int64_t started = 0;
    bool has_started = false;
  };
  struct Processor {
    bool known = false;  // what it runs
    bool ended = false;  // its last thread ended there
    uint32_t thread = 0;
    uint64_t run = 0;  // number of switches so far
    size_t next_broken = 0;
  };
  // What is known to happen later.
  struct Appointment {
    enum class Kind : uint8_t { kStop, kRunBegins, kRunBreaks };
    int64_t time = 0;
    uint64_t order = 0;
    Kind kind = Kind::kStop;
    OpenActivity activity;
    uint16_t processor = 0;
    uint64_t run = 0;
    bool operator>(const Appointment& other) const {
      if (time != other.time) return time > other.time;
      const bool stops = kind == Kind::kStop;
      const bool other_stops = other.kind == Kind::kStop;
      if (stops != other_stops) return other_stops;
      // Of stops at one time that of the child comes first: it was made last.
      return stops ? order < other.order : order > other.order;
    }
  };

  OpenActivity Begin(const StartArgs& args, uint32_t parent, bool divides);
  void End(uint32_t number, const StopArgs& args);
  void SubtreeEnded(uint32_t number);
  void MoveTo(int64_t time);
  void Settle();
  void Leave(Node& node);
  void Keep(const Appointment& appointment);
  void Make(const Appointment& due);
  uint32_t NumberOf(OpenActivity activity) const;
  OpenActivity OpenOf(uint32_t number) const;
  Thread& ThreadOf(uint32_t tid);
  Thread* FindThread(uint32_t tid);
  void EndOf(const Thread& thread, int64_t time);
  void EndStrict(const Thread& thread, uint32_t last, int64_t time);
  bool Outlasts(const Node& node) const;
  void LeaveThread(Node& node);
  void AddGoingOn(const Thread& thread, std::vector<OpenActivity>& list) const;
  void EndWithoutStop(std::vector<OpenActivity> ending, int64_t time);
  void Credit(Thread& thread);
  void RunBegins(Processor& processor, uint32_t tid);
  void RunEnds(Processor& processor);
  void Flag(uint32_t tid, ActivityFlag flag);
  void ForgetIdleThreads();

  TrackerOptions options_;
  const ActivityHistory& history_;
  ActivityListener silent_;
  ActivityListener* listener_;
  std::unique_ptr<Divider> divider_;
  TickRounding rounding_;
  int64_t now_;
  int64_t divided_until_;          // an instant at which an activity began or ended
  std::vector<uint32_t> changed_;  // may have become leaves at now_, or stopped being
  uint32_t leaves_ = 0;
  int64_t covered_ = 0;
  size_t open_ = 0;
  ActivityCounts counts_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;
  std::vector<OpenActivity> orphans_;  // of the first walk
  std::unordered_map<uint32_t, Thread> threads_;
  size_t threads_limit_ = 1 << 16;
  uint32_t last_tid_ = kNoId;
  Thread* last_thread_ = nullptr;
  std::vector<Processor> processors_;
  std::priority_queue<Appointment, std::vector<Appointment>, std::greater<>> appointments_;
  uint64_t appointments_made_ = 0;
  std::unordered_map<EventInstanceId, OpenActivity> missing_;
};

}  // namespace etwpipe::activities

// What calls of functions cost: the values of the Visual Studio instrumentation profiler (semantics.md 5.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pipeline/event.h"

namespace etwpipe::activities {

/// The four values of something, in raw ticks, and how often it was called. Elapsed values are all the time,
/// application values leave out whole every interval in which the operating system did something for the thread. Of a
/// function or module, an interval is inclusive if it is anywhere on the stack, exclusive if it is the top. Of a
/// thread, a process or the session both are the same: all intervals with a function on the stack.
struct CallValues {
  uint64_t calls = 0;
  int64_t elapsed_inclusive = 0;
  int64_t elapsed_exclusive = 0;
  int64_t application_inclusive = 0;
  int64_t application_exclusive = 0;
  friend bool operator==(const CallValues&, const CallValues&) = default;
};

/// A share as an exact ratio. `part` and `whole` are not negative.
struct CallShare {
  int64_t part = 0;
  int64_t whole = 0;
  /// Hundredths of a percent, rounded half up; 0 where the whole is 0.
  int64_t hundredths() const;
  /// Percent with two decimals: 27.27
  std::string Text() const;
};

/// The four percentages (semantics.md 5.1): both elapsed ones of the session's elapsed inclusive value, both
/// application ones of its application inclusive value.
struct CallShares {
  CallShare elapsed_inclusive;
  CallShare elapsed_exclusive;
  CallShare application_inclusive;
  CallShare application_exclusive;
};
CallShares SharesOf(const CallValues& values, const CallValues& session);

/// What is odd about the calls of a trace, counted.
struct CallCounts {
  uint64_t unordered_leaves = 0;   ///< of a call that was not the top: those above it stay (asynchronous activities)
  uint64_t unmatched_leaves = 0;   ///< of a function that is not on the stack: they end an interval and nothing else
  uint64_t unfinished = 0;         ///< calls that Finish() ended
  uint64_t tail_calls = 0;         ///< calls that ended with a jump to another function
  uint64_t time_steps_back = 0;    ///< events earlier than the one before on the same thread: zero ticks later
  uint64_t os_events = 0;          ///< operating-system events and switches away
  uint64_t intervals = 0;          ///< with a function on the stack and at least one tick
  uint64_t flagged_intervals = 0;  ///< of these, left out of the application values
};

/// Follows calls and finds their values. Every event is a collection event of its thread: it ends the interval that the
/// one before began, [before, this), which goes to the stack as it is just before the event takes effect. What the
/// operating system does at an instant flags the interval that holds the instant, whatever the order of records of one
/// instant. Events of one thread come in the order of the trace; a time below an earlier one counts as that one.
///
/// No event walks a stack: each costs O(1) amortised, at any depth. A thread has two clocks, of elapsed and of
/// application ticks; a call keeps what they showed when it began, a function what they showed at the outermost of its
/// calls. Memory: calls that go on, threads, and the functions and modules of each thread. One thread at a time.
class CallTimes {
 public:
  /// `overhead`: ticks that a probe takes, subtracted from every interval, which does not get below 0.
  explicit CallTimes(int64_t overhead = 0) : overhead_(overhead < 0 ? 0 : overhead) {}

  /// A call that goes on; numbers are used again.
  struct Call {
    uint32_t number = 0xFFFFFFFF;
    uint32_t serial = 0;
  };

  struct EnterArgs {
    uint32_t tid = 0;
    uint32_t pid = kNoId;
    uint32_t function = 0;  ///< dense numbers of the caller
    uint32_t module = 0;    ///< likewise; that of the first call of the function holds
    int64_t time = 0;       ///< raw ticks
  };
  Call Enter(const EnterArgs& args);

  /// The call ends, wherever it stands on its stack. Returns its own values, recursion included: its inclusive values
  /// are all that passed from its Enter to now. Zeros, and nothing happens, if it goes on no longer.
  CallValues Leave(Call call, int64_t time);
  /// The innermost call of `function` on the thread ends.
  CallValues Leave(uint32_t tid, uint32_t pid, uint32_t function, int64_t time);
  /// The top of the thread ends.
  CallValues LeaveTop(uint32_t tid, uint32_t pid, int64_t time);
  /// The same, and the function it jumps to enters next, at its own event (semantics.md 5.5).
  CallValues Tailcall(uint32_t tid, uint32_t pid, uint32_t function, int64_t time);

  /// The operating system did something for the thread.
  void OsEvent(uint32_t tid, int64_t time);
  /// The thread is switched out: the same, and intervals that begin before it is switched in are flagged too.
  void SwitchOut(uint32_t tid, int64_t time);
  void SwitchIn(uint32_t tid, int64_t time);

  /// Ends what goes on, at `time`. The results below are there after it; no event may follow.
  void Finish(int64_t time);

  struct ThreadValues {
    uint32_t pid = kNoId;
    uint32_t tid = 0;
    CallValues values;
    int64_t outside = 0;  ///< ticks between its first and its last event with nothing on the stack: in no other value
  };
  struct ProcessValues {
    uint32_t pid = kNoId;
    CallValues values;
  };
  /// By function number; zeros for numbers that never entered.
  const std::vector<CallValues>& functions() const { return functions_; }
  /// By module number.
  const std::vector<CallValues>& modules() const { return modules_; }
  /// Module of a function that entered.
  uint32_t module_of(uint32_t function) const { return module_of_[function]; }
  const std::vector<ThreadValues>& threads() const { return thread_values_; }      ///< by pid, then tid
  const std::vector<ProcessValues>& processes() const { return process_values_; }  ///< by pid
  const CallValues& session() const { return session_; }
  const CallCounts& counts() const { return counts_; }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  struct Clocks {
    int64_t elapsed = 0;
    int64_t application = 0;
  };
  // A function, or a module, on one thread.
  struct OnStack {
    uint32_t number = 0;
    uint32_t module = kNone;     // of a function: its place in on_stack_
    uint32_t innermost = kNone;  // of a function: its innermost call
    uint32_t calls = 0;          // that go on
    Clocks since;                // when the outermost of them began
  };
  struct Frame {
    uint32_t serial = 0;
    uint32_t thread = kNone;  // kNone: ended
    uint32_t function = 0;    // in on_stack_
    uint32_t below = kNone;
    uint32_t above = kNone;
    uint32_t outer = kNone;  // the same function's next call towards the root
    uint32_t inner = kNone;
    Clocks since;
    Clocks exclusive;
  };
  struct Thread {
    uint32_t pid = kNoId;
    uint32_t tid = 0;
    uint32_t top = kNone;
    bool current = false;  // what the system does for its tid is done for it
    bool begun = false;
    bool off = false;  // does not run
    int64_t last = 0;  // where the interval began
    Clocks clocks;
    int64_t outside = 0;
    uint64_t calls = 0;
    // Whether a touch of the system flags the interval depends on where it will end.
    bool began_off = false;  // the interval began while the thread did not run
    bool touched = false;    // since `last`
    int64_t first_touch = 0;
    int64_t last_touch = 0;
  };
  // What is known of a tid, also before its first call.
  struct System {
    uint32_t thread = kNone;  // whose calls are the latest of that tid
    bool off = false;
    bool touched = false;
    int64_t last_touch = 0;
  };

  static uint64_t KeyOf(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }
  struct Hash {
    size_t operator()(uint64_t key) const { return static_cast<size_t>((key ^ key >> 32) * 0x9E3779B97F4A7C15u >> 13); }
  };

  uint32_t ThreadOf(uint32_t tid, uint32_t pid);
  System& SystemOf(uint32_t tid);
  void MakeCurrent(uint32_t thread, int64_t time);
  uint32_t FunctionOn(uint32_t thread, uint32_t function, uint32_t module);
  uint32_t ModuleOn(uint32_t thread, uint32_t module);
  // The thread, after its interval has ended.
  uint32_t Collect(uint32_t tid, uint32_t pid, int64_t time);
  void EndInterval(Thread& thread, int64_t time);
  CallValues End(uint32_t number);
  void Touch(System& system, int64_t time);

  int64_t overhead_;
  std::vector<Frame> frames_;
  uint32_t free_ = kNone;  // ended ones, chained by `below`
  std::vector<Thread> threads_;
  std::vector<OnStack> on_stack_;
  std::unordered_map<uint64_t, uint32_t, Hash> functions_of_;  // thread, function: in on_stack_
  std::unordered_map<uint64_t, uint32_t, Hash> modules_of_;    // thread, module: likewise
  std::unordered_map<uint64_t, uint32_t, Hash> thread_of_;     // pid, tid
  std::unordered_map<uint32_t, System> systems_;               // by tid
  uint32_t last_thread_ = kNone;
  size_t systems_limit_ = size_t{1} << 16;
  std::vector<CallValues> functions_;
  std::vector<CallValues> modules_;
  std::vector<uint32_t> module_of_;
  std::vector<ThreadValues> thread_values_;
  std::vector<ProcessValues> process_values_;
  CallValues session_;
  CallCounts counts_;
};

}  // namespace etwpipe::activities

// An activity: something with a start and a stop, and what its time was spent on.
#pragma once

#include <cstdint>

#include "pipeline/event.h"

namespace etwpipe::activities {

/// Where an activity comes from: what the option `kinds` of annotate.activity names.
enum class ActivityKind : uint8_t {
  kApp,            ///< starts and stops of providers by opcode, calls of etwpipe.profiler
  kClr,            ///< pairs of the CLR (semantics.md 5.4)
  kBuildInsights,  ///< etwpipe.ingest, and the provider vcperf relogs to
  kRule,           ///< pairs the user declared
  kProcess,        ///< lifetime of a process
  kThread,         ///< lifetime of a thread
};
constexpr int kActivityKinds = 6;

/// What is odd about an activity; a set of bits.
enum ActivityFlag : uint16_t {
  kUnterminated = 1,    ///< no stop in the trace: ended with its thread, its process or the trace (semantics.md 2.2)
  kTruncatedStart = 2,  ///< no start in the trace: begins with the trace (semantics.md 1.3)
  kUnbalanced = 4,      ///< ended by the stop of an activity below it on its thread
  kMigrated = 8,        ///< stopped by another thread
  kLateChildren = 16,   ///< children went on after its stop
  kNegative = 32,       ///< its stop is earlier than its start: counts as zero ticks long
  kCoarse = 64,         ///< its stop comes from a duration in milliseconds or microseconds
  kLostEvents = 128,    ///< context switches of its thread are missing: CPU ticks are too low
};

/// One activity. Times are raw ticks of the session clock, everything else called ticks likewise. The inclusive values
/// are the exclusive ones plus those of all children, on whatever thread (semantics.md 2.2, 3.2).
struct Activity {
  EventInstanceId id = 0;       ///< of its start record; of its stop record where it has no start
  EventInstanceId stop_id = 0;  ///< of its stop record; 0 if it has none
  EventInstanceId parent = 0;   ///< id of the parent activity; 0 for a root
  int64_t start = 0;
  int64_t stop = 0;                ///< where it ended, also without a stop record; 0 while it goes on
  int64_t exclusive_duration = 0;  ///< its duration without the time in which a direct child went on (semantics.md 3.1)
  int64_t cpu = 0;
  int64_t exclusive_cpu = 0;   ///< its thread ran while it was the thread's innermost activity (semantics.md 3.2)
  int64_t responsibility = 0;  ///< wall-clock time responsibility (semantics.md 2)
  int64_t exclusive_responsibility = 0;
  uint32_t pid = kNoId;  ///< process and thread of its start; kNoId where nobody knows
  uint32_t tid = kNoId;
  uint32_t name = 0;       ///< number that the caller of the tracker gave
  uint16_t processor = 0;  ///< of its start
  uint16_t flags = 0;      ///< ActivityFlag
  ActivityKind kind = ActivityKind::kApp;

  /// Ticks from start to stop; 0 while it goes on and where the stop is earlier than the start.
  int64_t duration() const { return stop > start ? stop - start : 0; }
  bool has(ActivityFlag flag) const { return (flags & flag) != 0; }
};

}  // namespace etwpipe::activities

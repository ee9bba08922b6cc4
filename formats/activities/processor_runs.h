// Which thread each processor runs, by context switches (semantics.md 3.2).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pipeline/event.h"

namespace etwpipe::activities {

/// How far on-CPU ticks can be known.
enum class CpuTime : uint8_t {
  kNone,     ///< no context switch in the trace: CPU ticks are 0
  kPartial,  ///< context switches cover a part of it only
  kSampled,  ///< from profile samples, on request
  kFull,
};
/// none, partial, sampled, full
const char* ToString(CpuTime cpu_time);

/// What has to be known of a processor before the first event: a first walk over the trace finds it.
struct ProcessorHistory {
  struct BrokenRun {
    uint64_t run = 0;  ///< 0: before the first switch, n: since the n-th
    int64_t end = 0;   ///< last event of the processor before the switch that does not fit
  };
  uint32_t first_thread = 0;  ///< ran before the first switch; 0: idle or unknown
  int64_t first_since = 0;    ///< since when: the start of the trace or that of the thread
  bool since_start = false;   ///< the latter: from its record on
  uint64_t switches = 0;
  /// Runs whose end the switches do not tell, since switches were lost; in their order.
  std::vector<BrokenRun> broken;
};

/// What a first walk over the trace found.
struct SwitchHistory {
  std::vector<ProcessorHistory> processors;
  uint64_t switches = 0;
  uint64_t anomalies = 0;    ///< switches away from another thread than the one that was switched to
  int64_t first_switch = 0;  ///< raw ticks
  int64_t last_switch = 0;
  uint64_t silent_processors = 0;  ///< processors with events, but without switches, while others have them
};

/// Collects a SwitchHistory: every event in the order of the trace, then Finish().
class SwitchHistoryBuilder {
 public:
  explicit SwitchHistoryBuilder(int64_t trace_start) : trace_start_(trace_start) {}

  /// An event of any kind on a processor.
  void Event(uint16_t processor, int64_t time) {
    if (processor >= processors_.size()) processors_.resize(size_t{processor} + 1);
    Processor& own = processors_[processor];
    own.last_event = time;
    own.events = true;
  }
  /// A context switch; instead of Event().
  void Switch(uint16_t processor, int64_t time, uint32_t new_thread, uint32_t old_thread);
  void ThreadStart(uint32_t thread, int64_t time) { starts_[thread] = time; }
  /// A thread has ended: its run ends with it.
  void ThreadEnd(uint32_t thread);
  SwitchHistory Finish();

 private:
  struct Processor {
    bool events = false;
    bool known = false;  // what runs now
    uint32_t thread = 0;
    int64_t last_event = 0;
  };
  int64_t trace_start_;
  std::vector<Processor> processors_;
  std::unordered_map<uint32_t, int64_t> starts_;  // of threads
  SwitchHistory history_;
};

}  // namespace etwpipe::activities

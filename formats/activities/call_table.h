// Values of all calls of a trace: its activities taken as calls on the stack of their thread, found in two passes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "formats/activities/activity_walk.h"
#include "formats/activities/call_times.h"
#include "formats/activities/os_events.h"
#include "pipeline/batch.h"

namespace etwpipe::activities {

struct CallOptions {
  OsPolicy policy = OsPolicy::kDefault;
  int64_t overhead = 0;    ///< CallTimes: raw ticks of one probe
  bool keep_calls = true;  ///< whether FindByRecord() will be asked
};

/// What the activities of a trace do not say as calls, counted.
struct CallTableCounts {
  uint64_t without_thread = 0;  ///< activities of no thread: they are on no stack, and no calls
};

/// Made for one trace; follows its calls while two passes go over all of its events in order.
///
/// An activity enters with its start, on the thread of its start, and leaves with its stop, whoever stops it; what is
/// on its thread's stack meanwhile is inside it. Starts that are missing are at the beginning of the trace, stops that
/// are missing at the end of thread, process or trace. One that stops before it starts is a call of zero ticks. Memory:
/// as CallTimes, and with `keep_calls` 40 bytes a call and 16 a record.
class CallTable {
 public:
  static constexpr int kPasses = TwoPassWalk::kPasses;
  static constexpr FactSet kFacts = kWalkFacts | kThreads;

  /// `trace` and `options` outlive it.
  CallTable(const TraceContext& trace, const ActivityOptions& options, const CallOptions& calls);
  ~CallTable();

  /// A batch of pass 0 or 1, unfiltered, in sequence.
  void Observe(const EventBatch& batch, int pass);
  /// After the last batch of pass 1; further calls do nothing.
  void Finish();

  // After Finish():

  /// Functions are the names of activities: NameOf() and ModuleName() give those of its numbers.
  const CallTimes& times() const { return times_; }
  /// Own values of the call that the record of that id starts or stops; null if none. A record that stops one call and
  /// starts another gives the latter.
  const CallValues* FindByRecord(EventInstanceId id) const;
  std::string_view NameOf(uint32_t function) const;
  /// Module 0 is that of functions whose module nobody knows: an empty name.
  std::string_view ModuleName(uint32_t module) const;
  const CallOptions& options() const { return call_options_; }
  const CallTableCounts& counts() const { return counts_; }
  const ActivityCounts& activity_counts() const;
  const OsEventCounts& os_counts() const { return os_events_.counts(); }
  const ActivityHistory& history() const { return walks_->history(); }

 private:
  struct Collector;
  struct Record {
    EventInstanceId id = 0;
    uint32_t call = 0;  // in calls_
    bool stops = false;
  };

  CallOptions call_options_;
  OsEvents os_events_;
  CallTimes times_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<TwoPassWalk> walks_;
  std::vector<CallValues> calls_;
  std::vector<Record> records_;  // by id, starts before stops
  CallTableCounts counts_;
};

}  // namespace etwpipe::activities

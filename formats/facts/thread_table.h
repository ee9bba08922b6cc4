// Threads of a trace by tid and time (semantics.md 7.1: an instance is a tid and a start time).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/facts/process_table.h"
#include "pipeline/event.h"

namespace etwpipe::facts {

/// What one record says of a thread.
struct ThreadRecord {
  enum class Kind : uint8_t {
    kStart,
    kEnd,
    kRundown,  ///< lived when the session began or ended
    kName,     ///< was given a name
    kUse,      ///< ran in that process; says nothing of its start or end
  };
  Kind kind = Kind::kStart;
  int64_t timestamp = 0;  ///< raw ticks
  EventInstanceId id = 0;
  uint32_t tid = 0;
  uint32_t pid = 0;
  std::string name;  ///< empty if the record has none
};

/// One thread from its start to its end. Raw ticks; kBeforeTrace and kAfterTrace of ProcessInstance where start or end
/// lie outside the trace.
struct ThreadInstance {
  uint32_t tid = 0;
  uint32_t pid = 0;
  int64_t start = ProcessInstance::kBeforeTrace;
  int64_t end = ProcessInstance::kAfterTrace;
  EventInstanceId first_record = 0;  ///< the first record that speaks of it
  std::string name;                  ///< the last one it was given; mostly empty
};

/// Built once, then read from any thread.
class ThreadTable {
 public:
  /// Order of the records does not matter. Tids are used again: a start ends the instance before it; an end, a rundown
  /// or a name without a start opens one backwards to the end of the instance before it; a record of another process is
  /// of another thread. Two starts or two ends at most `tolerance` ticks apart are one that two providers wrote. Uses
  /// count only for tids of which nothing else is known.
  static ThreadTable Build(std::vector<ThreadRecord> records, int64_t tolerance);

  /// The instance of `tid` that lives at `timestamp`; after its end the last one that lived (a thread that ends is
  /// still seen for a while). Null before the start of the first one, and if the trace says nothing of the tid.
  const ThreadInstance* Find(uint32_t tid, int64_t timestamp) const;

  /// By tid, then start.
  const std::vector<ThreadInstance>& all() const { return instances_; }

 private:
  std::vector<ThreadInstance> instances_;
  std::unordered_map<uint32_t, std::pair<size_t, size_t>> ranges_;  // tid: begin, end in instances_
};

}  // namespace etwpipe::facts

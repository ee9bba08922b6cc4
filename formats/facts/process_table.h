// Processes of a trace by pid and time (semantics.md 7.1: an instance is a pid and a start time).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pipeline/event.h"

namespace etwpipe::facts {

/// What one record says of a process.
struct ProcessRecord {
  enum class Kind : uint8_t {
    kStart,
    kStop,
    kRundownStart,  ///< lived when the session began
    kRundownStop,   ///< lived when the session ended
    kDefunct,       ///< has ended, but somebody holds a handle
  };
  Kind kind = Kind::kStart;
  int64_t timestamp = 0;  ///< raw ticks
  EventInstanceId id = 0;
  uint32_t pid = 0;
  uint32_t parent = 0;
  bool has_parent = false;
  uint64_t unique_key = 0;   ///< of the kernel's object; 0 if the record has none
  std::string image;         ///< file name without a path: devenv.exe
  std::string image_path;    ///< NT path; empty if the record has none
  std::string command_line;  ///< empty if the record has none
};

/// One process from its start to its end. Raw ticks; the extremes of int64 where start or end lie outside the trace.
struct ProcessInstance {
  static constexpr int64_t kBeforeTrace = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kAfterTrace = std::numeric_limits<int64_t>::max();

  uint32_t pid = 0;
  uint32_t parent = kNoId;  ///< pid of the parent; kNoId if nobody says
  int64_t start = kBeforeTrace;
  int64_t end = kAfterTrace;
  uint64_t unique_key = 0;
  EventInstanceId first_record = 0;  ///< the first record that speaks of it
  std::string image;
  std::string image_path;  ///< empty if nobody says; the DOS path if images were collected and a volume maps it
  std::string command_line;
};

/// Built once, then read from any thread.
class ProcessTable {
 public:
  /// Order of the records does not matter. Pids are used again: a start ends the instance before it, a stop or a
  /// rundown without a start opens one backwards to the end of the instance before it. Two starts or two stops at most
  /// `tolerance` ticks apart are one that two providers wrote.
  static ProcessTable Build(std::vector<ProcessRecord> records, int64_t tolerance);

  /// The instance of `pid` that lives at `timestamp`; after its end the last one that lived (records of a process come
  /// for a while after its stop), before its start the first one. Null if the trace says nothing of the pid.
  const ProcessInstance* Find(uint32_t pid, int64_t timestamp) const;

  /// For whoever knows better; before the table is shared. `index` is that of all().
  void SetImagePath(size_t index, std::string path) { instances_[index].image_path = std::move(path); }

  /// By pid, then start.
  const std::vector<ProcessInstance>& all() const { return instances_; }

 private:
  std::vector<ProcessInstance> instances_;
  std::unordered_map<uint32_t, std::pair<size_t, size_t>> ranges_;  // pid: begin, end in instances_
};

}  // namespace etwpipe::facts

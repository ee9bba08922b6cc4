// Which instance of a process a record belongs to, as a number: pids are used again.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "formats/facts/process_table.h"

namespace etwpipe::facts {

/// The instances of some pids one behind the other on the time line. A copy: it outlives the process table.
class ProcessSpans {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  ProcessSpans() = default;
  /// `pids` in any order, also several times. `processes` may be null: then every pid is one process.
  ProcessSpans(std::vector<uint32_t> pids, const ProcessTable* processes);

  /// The instance that ProcessTable::Find() gives: the first one also before its start, each one also between its end
  /// and the start of the next. kNone for a pid that was not asked for.
  uint32_t Find(uint32_t pid, int64_t time) const;
  size_t size() const { return starts_.size(); }
  uint32_t pid(uint32_t span) const { return pids_[span]; }
  /// Lower bound of all lives in it, raw ticks.
  int64_t start(uint32_t span) const { return starts_[span]; }
  /// The last tick before the next instance.
  int64_t end(uint32_t span) const;
  uint64_t memory() const { return starts_.size() * (sizeof starts_[0] + sizeof pids_[0] + 64); }

 private:
  std::vector<int64_t> starts_;  // by pid, then time
  std::vector<uint32_t> pids_;
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> ranges_;  // pid: begin, end in starts_
};

}  // namespace etwpipe::facts

// Which thread ran on a processor, from its context switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace etwpipe::facts {

/// Filled by Add() in one thread, then Finish(), then read from any thread.
class CpuState {
 public:
  /// Switches kept at most: 12 bytes each.
  static constexpr size_t kMaxSwitches = size_t{1} << 24;

  explicit CpuState(size_t max_switches = kMaxSwitches) : room_(max_switches) {}

  /// A switch on `cpu` at `timestamp` (raw ticks). Past the bound only its time counts: nothing is known from there on.
  /// False if it found no room.
  bool Add(uint16_t cpu, int64_t timestamp, uint32_t old_tid, uint32_t new_tid);
  /// Brings the switches of each processor into the order of their times; those of one time keep their order.
  void Finish();

  /// The thread on `cpu` at `timestamp`: the one last switched to, at that very time included; before the first switch
  /// the one it switched from. nullopt where there are no switches, and from the first one on that found no room.
  std::optional<uint32_t> Find(uint16_t cpu, int64_t timestamp) const;

 private:
  struct Cpu {
    std::vector<int64_t> times;
    std::vector<uint32_t> tids;  // from times[i] on
    int64_t first_time = 0;      // the least of times ...
    uint32_t first_tid = 0;      // ... and who ran before it
    std::optional<int64_t> unknown_from;
    bool sorted = true;
  };

  std::vector<Cpu> cpus_;
  size_t room_;
};

}  // namespace etwpipe::facts

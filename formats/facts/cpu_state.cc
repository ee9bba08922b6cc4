#include "formats/facts/cpu_state.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace etwpipe::facts {

bool CpuState::Add(uint16_t cpu, int64_t timestamp, uint32_t old_tid, uint32_t new_tid) {
  if (cpu >= cpus_.size()) cpus_.resize(size_t{cpu} + 1);
  Cpu& state = cpus_[cpu];
  if (room_ == 0) {
    state.unknown_from = std::min(state.unknown_from.value_or(timestamp), timestamp);
    return false;
  }
  --room_;
  if (state.times.empty() || timestamp < state.first_time) {
    state.first_time = timestamp;
    state.first_tid = old_tid;
  }
  if (!state.times.empty() && timestamp < state.times.back()) state.sorted = false;
  state.times.push_back(timestamp);
  state.tids.push_back(new_tid);
  return true;
}

void CpuState::Finish() {
  for (Cpu& cpu : cpus_) {
    if (cpu.sorted) continue;
    std::vector<std::pair<int64_t, uint32_t>> switches(cpu.times.size());
    for (size_t i = 0; i < switches.size(); ++i) switches[i] = {cpu.times[i], cpu.tids[i]};
    std::stable_sort(switches.begin(), switches.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < switches.size(); ++i) std::tie(cpu.times[i], cpu.tids[i]) = switches[i];
    cpu.sorted = true;
  }
}

std::optional<uint32_t> CpuState::Find(uint16_t cpu, int64_t timestamp) const {
  if (cpu >= cpus_.size()) return std::nullopt;
  const Cpu& state = cpus_[cpu];
  if (state.times.empty() || (state.unknown_from && timestamp >= *state.unknown_from)) return std::nullopt;
  const auto after = std::upper_bound(state.times.begin(), state.times.end(), timestamp);
  return after == state.times.begin() ? state.first_tid
                                      : state.tids[static_cast<size_t>(after - state.times.begin()) - 1];
}

}  // namespace etwpipe::facts

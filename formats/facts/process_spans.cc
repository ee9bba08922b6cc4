#include "formats/facts/process_spans.h"

#include <algorithm>

namespace etwpipe::facts {

ProcessSpans::ProcessSpans(std::vector<uint32_t> pids, const ProcessTable* processes) {
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  for (const uint32_t pid : pids) {
    const auto begin = static_cast<uint32_t>(starts_.size());
    if (processes != nullptr) {
      const auto& all = processes->all();
      auto instance = std::lower_bound(all.begin(), all.end(), pid,
                                       [](const ProcessInstance& a, uint32_t wanted) { return a.pid < wanted; });
      for (; instance != all.end() && instance->pid == pid; ++instance) starts_.push_back(instance->start);
    }
    if (starts_.size() == begin) starts_.push_back(ProcessInstance::kBeforeTrace);
    pids_.resize(starts_.size(), pid);
    ranges_[pid] = {begin, static_cast<uint32_t>(starts_.size())};
  }
}

uint32_t ProcessSpans::Find(uint32_t pid, int64_t time) const {
  const auto range = ranges_.find(pid);
  if (range == ranges_.end()) return kNone;
  const auto [begin, end] = range->second;
  if (end - begin == 1) return begin;
  const auto after = std::upper_bound(starts_.begin() + begin, starts_.begin() + end, time);
  return std::max(begin + 1, static_cast<uint32_t>(after - starts_.begin())) - 1;
}

int64_t ProcessSpans::end(uint32_t span) const {
  const bool last = span + 1 == starts_.size() || pids_[span + 1] != pids_[span];
  if (last) return ProcessInstance::kAfterTrace;
  return std::max(starts_[span + 1], ProcessInstance::kBeforeTrace + 1) - 1;
}

}  // namespace etwpipe::facts

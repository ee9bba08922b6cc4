#include "tools/activity_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace etwpipe {

using activities::Activity;
using activities::ActivityTable;

std::vector<const Activity*> SortedActivities(const ActivityTable& table, ReportOrder order) {
  std::vector<const Activity*> sorted;
  sorted.reserve(table.all().size());
  for (const Activity& activity : table.all()) sorted.push_back(&activity);
  const auto key = [order](const Activity& activity) {
    switch (order) {
      case ReportOrder::kResponsibility: return activity.responsibility;
      case ReportOrder::kCpu: return activity.cpu;
      case ReportOrder::kDuration: break;
    }
    return activity.duration();
  };
  std::sort(sorted.begin(), sorted.end(), [&](const Activity* a, const Activity* b) {
    return std::tuple(-key(*a), a->start, a->id) < std::tuple(-key(*b), b->start, b->id);
  });
  return sorted;
}

namespace {

// Activities of one thread may overlap, so that hostile clocks lift their sum past what a number holds: it stays there.
void AddTicks(int64_t& sum, int64_t ticks) {
  if (__builtin_add_overflow(sum, ticks, &sum)) sum = std::numeric_limits<int64_t>::max();
}

}  // namespace

std::vector<ThreadRow> ThreadRows(const ActivityTable& table, const TraceContext& trace, ReportOrder order) {
  std::map<std::pair<uint32_t, uint32_t>, ThreadRow> threads;
  const auto* processes = trace.facts->Get<facts::ProcessTable>();
  const auto* named = trace.facts->Get<facts::ThreadTable>();
  for (const Activity& activity : table.all()) {
    const auto [found, added] = threads.try_emplace({activity.pid, activity.tid});
    ThreadRow& row = found->second;
    if (added) {
      row.pid = activity.pid;
      row.tid = activity.tid;
      if (processes != nullptr) {
        const auto* process = processes->Find(activity.pid, activity.start);
        if (process != nullptr) row.process = process->image;
      }
      if (named != nullptr) {
        const auto* thread = named->Find(activity.tid, activity.start);
        if (thread != nullptr && thread->pid == activity.pid) row.name = thread->name;
      }
    }
    ++row.activities;
    AddTicks(row.duration, activity.exclusive_duration);
    AddTicks(row.cpu, activity.exclusive_cpu);
    AddTicks(row.responsibility, activity.exclusive_responsibility);
  }
  std::vector<ThreadRow> rows;
  rows.reserve(threads.size());
  for (auto& [key, row] : threads) rows.push_back(std::move(row));
  const auto key = [order](const ThreadRow& row) {
    switch (order) {
      case ReportOrder::kResponsibility: return row.responsibility;
      case ReportOrder::kCpu: return row.cpu;
      case ReportOrder::kDuration: break;
    }
    return row.duration;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const ThreadRow& a, const ThreadRow& b) { return key(a) > key(b); });
  return rows;
}

std::vector<FlameFrame> ActivityFrames(const ActivityTable& table) {
  const auto& all = table.all();
  std::unordered_map<EventInstanceId, std::vector<size_t>> children;
  std::unordered_map<EventInstanceId, size_t> by_id;
  for (size_t i = 0; i < all.size(); ++i) by_id.try_emplace(all[i].id, i);
  std::vector<std::pair<size_t, uint32_t>> waiting;  // an activity and the frame of its parent
  for (size_t i = 0; i < all.size(); ++i) {
    const bool nested = all[i].parent != 0 && all[i].parent != all[i].id && by_id.contains(all[i].parent);
    if (nested) {
      children[all[i].parent].push_back(i);
    } else {
      waiting.emplace_back(i, kNoFrame);
    }
  }
  std::vector<FlameFrame> frames;
  frames.reserve(all.size());
  while (!waiting.empty()) {
    const auto [place, parent] = waiting.back();
    waiting.pop_back();
    const Activity& activity = all[place];
    const auto frame = static_cast<uint32_t>(frames.size());
    frames.push_back({std::string(table.NameOf(activity)), parent, activity.exclusive_responsibility, 1});
    if (by_id.at(activity.id) != place) continue;  // two with the same id: the first has the children
    if (const auto found = children.find(activity.id); found != children.end()) {
      for (const size_t child : found->second) waiting.emplace_back(child, frame);
    }
  }
  return frames;
}

}  // namespace etwpipe

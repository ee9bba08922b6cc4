#include "tools/activity_report.h"

#include <algorithm>
#include <map>
#include <tuple>
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
    row.duration += activity.exclusive_duration;
    row.cpu += activity.exclusive_cpu;
    row.responsibility += activity.exclusive_responsibility;
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

}  // namespace etwpipe

// What `analyze` shows of activities and threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/activities/activity_table.h"
#include "formats/facts/process_table.h"
#include "formats/facts/thread_table.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// By what rows are sorted: the largest first; equal ones by start and id.
enum class ReportOrder : uint8_t { kResponsibility, kCpu, kDuration };

/// Pointers into the table, by its inclusive values.
std::vector<const activities::Activity*> SortedActivities(const activities::ActivityTable& table, ReportOrder order);

/// What the activities of one thread add up to: their exclusive values, so that threads add up to the trace.
struct ThreadRow {
  uint32_t pid = kNoId;
  uint32_t tid = kNoId;
  std::string process;  ///< image name; empty if nobody says
  std::string name;     ///< of the thread; empty if nobody says
  uint64_t activities = 0;
  int64_t duration = 0;
  int64_t cpu = 0;
  int64_t responsibility = 0;
};
std::vector<ThreadRow> ThreadRows(const activities::ActivityTable& table, const TraceContext& trace, ReportOrder order);

}  // namespace etwpipe

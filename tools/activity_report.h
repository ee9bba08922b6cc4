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
#include "tools/flame_chart.h"

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

/// A frame per activity, inside that of its parent, as wide as its exclusive responsibility: a flame chart of them is
/// as wide as the covered time. Parents stand before their children; an activity whose parent the table lacks is a
/// root.
std::vector<FlameFrame> ActivityFrames(const activities::ActivityTable& table);

}  // namespace etwpipe

// The reports of `analyze`: activities, threads and functions as text, JSON and csv.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "formats/activities/activity_table.h"
#include "formats/activities/call_report.h"
#include "pipeline/trace_context.h"
#include "tools/activity_report.h"

namespace etwpipe {

/// What a report is about. `table` is finished.
struct ActivityReport {
  const std::string& file;
  const TraceContext& trace;
  const activities::ActivityTable& table;
  ReportOrder order = ReportOrder::kResponsibility;
  size_t top = 0;  ///< rows to show; 0: all
};
/// `format`: text, json or csv.
std::string ActivitiesReport(const ActivityReport& report, std::string_view format);
std::string ThreadsReport(const ActivityReport& report, std::string_view format);

struct FunctionReport {
  const std::string& file;
  const TraceContext& trace;
  const activities::CallTable& table;
  activities::CallColumn order = activities::CallColumn::kElapsedInclusive;
  size_t top = 0;
};
std::string FunctionsReport(const FunctionReport& report, std::string_view format);

}  // namespace etwpipe

// The values of calls as tables: functions, modules, threads, processes and the session.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/activities/call_table.h"
#include "formats/activities/call_times.h"

namespace etwpipe::activities {

/// What a report is sorted by: the largest first.
enum class CallColumn : uint8_t {
  kElapsedInclusive,
  kElapsedExclusive,
  kApplicationInclusive,
  kApplicationExclusive,
  kCalls,
};
/// elapsed_inclusive, elapsed_exclusive, application_inclusive, application_exclusive, calls
std::string_view ToString(CallColumn column);
std::optional<CallColumn> CallColumnOf(std::string_view text);

struct FunctionRow {
  std::string name;
  std::string module;  ///< empty: unknown
  CallValues values;
  CallShares shares;
};
struct ModuleRow {
  std::string name;  ///< empty: of all functions whose module is unknown
  CallValues values;
  CallShares shares;
};
struct CallThreadRow {
  uint32_t pid = kNoId;
  uint32_t tid = kNoId;
  CallValues values;
  CallShares shares;
  int64_t outside = 0;  ///< CallTimes::ThreadValues
};
struct CallProcessRow {
  uint32_t pid = kNoId;
  CallValues values;
  CallShares shares;
};

/// Owns its texts. Equal values stand in the order of names and numbers, so the same trace gives the same report.
struct CallReport {
  std::vector<FunctionRow> functions;  ///< those that were called
  std::vector<ModuleRow> modules;
  std::vector<CallThreadRow> threads;  ///< those with calls
  std::vector<CallProcessRow> processes;
  CallValues session;
  CallShares session_shares;
  CallCounts counts;
};

/// Names of the numbers that a CallTimes was given.
struct CallNames {
  std::function<std::string_view(uint32_t function)> function;
  std::function<std::string_view(uint32_t module)> module;
};

/// `times` is finished.
CallReport MakeCallReport(const CallTimes& times, const CallNames& names,
                          CallColumn sort = CallColumn::kElapsedInclusive);
/// Of a table that is finished.
CallReport MakeCallReport(const CallTable& table, CallColumn sort = CallColumn::kElapsedInclusive);

}  // namespace etwpipe::activities

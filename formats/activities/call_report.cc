#include "formats/activities/call_report.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace etwpipe::activities {
namespace {

constexpr std::array<std::string_view, 5> kColumns = {"elapsed_inclusive", "elapsed_exclusive", "application_inclusive",
                                                      "application_exclusive", "calls"};

uint64_t ValueOf(const CallValues& values, CallColumn column) {
  // None is negative.
  switch (column) {
    case CallColumn::kElapsedInclusive: return static_cast<uint64_t>(values.elapsed_inclusive);
    case CallColumn::kElapsedExclusive: return static_cast<uint64_t>(values.elapsed_exclusive);
    case CallColumn::kApplicationInclusive: return static_cast<uint64_t>(values.application_inclusive);
    case CallColumn::kApplicationExclusive: return static_cast<uint64_t>(values.application_exclusive);
    case CallColumn::kCalls: break;
  }
  return values.calls;
}

template <typename Row, typename KeyOf>
void Sort(std::vector<Row>& rows, CallColumn column, KeyOf key_of) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const uint64_t left = ValueOf(a.values, column), right = ValueOf(b.values, column);
    return left != right ? left > right : key_of(a) < key_of(b);
  });
}

}  // namespace

std::string_view ToString(CallColumn column) { return kColumns[static_cast<size_t>(column)]; }

std::optional<CallColumn> CallColumnOf(std::string_view text) {
  for (size_t i = 0; i < kColumns.size(); ++i) {
    if (kColumns[i] == text) return static_cast<CallColumn>(i);
  }
  return std::nullopt;
}

CallReport MakeCallReport(const CallTimes& times, const CallNames& names, CallColumn sort) {
  CallReport report;
  report.session = times.session();
  report.session_shares = SharesOf(report.session, report.session);
  report.counts = times.counts();
  for (uint32_t number = 0; number < times.functions().size(); ++number) {
    const CallValues& values = times.functions()[number];
    if (values.calls == 0) continue;
    FunctionRow& row = report.functions.emplace_back();
    row.name = names.function(number);
    row.module = names.module(times.module_of(number));
    row.values = values;
    row.shares = SharesOf(values, report.session);
  }
  for (uint32_t number = 0; number < times.modules().size(); ++number) {
    const CallValues& values = times.modules()[number];
    if (values.calls == 0) continue;
    report.modules.push_back({std::string(names.module(number)), values, SharesOf(values, report.session)});
  }
  for (const CallTimes::ThreadValues& thread : times.threads()) {
    if (thread.values.calls == 0) continue;
    report.threads.push_back(
        {thread.pid, thread.tid, thread.values, SharesOf(thread.values, report.session), thread.outside});
  }
  for (const CallTimes::ProcessValues& process : times.processes()) {
    if (process.values.calls == 0) continue;
    report.processes.push_back({process.pid, process.values, SharesOf(process.values, report.session)});
  }
  Sort(report.functions, sort, [](const FunctionRow& row) { return std::tie(row.name, row.module); });
  Sort(report.modules, sort, [](const ModuleRow& row) { return std::tie(row.name); });
  Sort(report.threads, sort, [](const CallThreadRow& row) { return std::tie(row.pid, row.tid); });
  Sort(report.processes, sort, [](const CallProcessRow& row) { return std::tie(row.pid); });
  return report;
}

CallReport MakeCallReport(const CallTable& table, CallColumn sort) {
  const CallNames names = {[&](uint32_t function) { return table.NameOf(function); },
                           [&](uint32_t module) { return table.ModuleName(module); }};
  return MakeCallReport(table.times(), names, sort);
}

}  // namespace etwpipe::activities

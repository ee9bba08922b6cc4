// Calls of a trace of records, and their report.
#include "formats/activities/call_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "formats/activities/call_report.h"
#include "tests/formats/activities/call_rows.h"

namespace etwpipe::activities {
namespace {

constexpr uint32_t kPid = 100, kTid = 200;
constexpr std::string_view kOther = "11111111-2222-3333-4444-555555555555";

class CallTableTest : public testing::Test {
 protected:
  const CallTable& Table(const CallOptions& calls = {}) {
    table_ = std::make_unique<CallTable>(trace_, options_, calls);
    const EventBatch batch = BatchOf(rows_);
    table_->Observe(batch, 0);
    table_->Observe(batch, 1);
    table_->Finish();
    return *table_;
  }
  // calls EI EE AI AE of a row of the report
  static std::string Text(const CallValues& values) {
    return std::to_string(values.calls) + " " + std::to_string(values.elapsed_inclusive) + " " +
           std::to_string(values.elapsed_exclusive) + " " + std::to_string(values.application_inclusive) + " " +
           std::to_string(values.application_exclusive);
  }
  std::string OfRecord(const EventHeader& row) const {
    const CallValues* values = table_->FindByRecord(row.instance_id);
    return values == nullptr ? "none" : Text(*values);
  }
  std::string OfFunction(std::string_view name) const {
    for (const FunctionRow& row : MakeCallReport(*table_).functions) {
      if (row.name == name) return Text(row.values);
    }
    return "none";
  }
  EventHeader& Pair(uint8_t opcode, int64_t time, uint16_t task = 1, uint32_t tid = kTid) {
    EventHeader& row = rows_.Add(HeaderKind::kEvent64, kOther, time, 0, kPid, tid);
    row.opcode = opcode;
    row.task = task;
    return row;
  }

  TraceContext trace_;
  ActivityOptions options_;
  facts::FactRows rows_{trace_};
  std::unique_ptr<CallTable> table_;
};

TEST_F(CallTableTest, WorkedExampleAsRecords) {
  AddWorkedExample(rows_, kPid, kTid);
  Table();
  const CallReport report = MakeCallReport(*table_);
  ASSERT_EQ(report.functions.size(), 3u);
  EXPECT_EQ(report.functions[0].name, "0x10");
  EXPECT_EQ(Text(report.functions[0].values), "1 110 30 75 30");
  EXPECT_EQ(report.functions[0].shares.elapsed_exclusive.Text(), "27.27");
  EXPECT_EQ(report.functions[1].name, "0xa");
  EXPECT_EQ(Text(report.functions[1].values), "3 80 65 45 45");
  EXPECT_EQ(report.functions[1].shares.elapsed_inclusive.Text(), "72.73");
  EXPECT_EQ(report.functions[2].name, "0xb");
  EXPECT_EQ(Text(report.functions[2].values), "1 15 15 0 0");
  ASSERT_EQ(report.modules.size(), 1u);
  EXPECT_EQ(report.modules[0].name, "") << "nobody knows";
  EXPECT_EQ(Text(report.modules[0].values), "5 110 110 75 75");
  ASSERT_EQ(report.threads.size(), 1u);
  EXPECT_EQ(report.threads[0].tid, kTid);
  ASSERT_EQ(report.processes.size(), 1u);
  EXPECT_EQ(report.processes[0].pid, kPid);
  EXPECT_EQ(Text(report.session), "5 110 110 75 75");
  EXPECT_EQ(report.session_shares.application_exclusive.Text(), "100.00");

  // Each record has its own call's values.
  EXPECT_EQ(OfRecord(rows_.rows[0]), "1 110 30 75 30");
  EXPECT_EQ(OfRecord(rows_.rows[12]), "1 110 30 75 30");
  EXPECT_EQ(OfRecord(rows_.rows[1]), "1 50 35 35 35");  // the first A: [10, 60)
  EXPECT_EQ(OfRecord(rows_.rows[7]), "1 30 10 10 10");  // the second: [70, 100)
  EXPECT_EQ(OfRecord(rows_.rows[8]), "1 20 20 0 0");    // the one it calls
  EXPECT_EQ(OfRecord(rows_.rows[10]), "1 20 20 0 0");
  EXPECT_EQ(OfRecord(rows_.rows[3]), "none") << "a context switch";
}

TEST_F(CallTableTest, SortsByAnyColumn) {
  AddWorkedExample(rows_, kPid, kTid);
  Table();
  const auto first = [&](CallColumn column) { return MakeCallReport(*table_, column).functions.front().name; };
  EXPECT_EQ(first(CallColumn::kElapsedInclusive), "0x10");
  EXPECT_EQ(first(CallColumn::kElapsedExclusive), "0xa");
  EXPECT_EQ(first(CallColumn::kApplicationInclusive), "0x10");
  EXPECT_EQ(first(CallColumn::kApplicationExclusive), "0xa");
  EXPECT_EQ(first(CallColumn::kCalls), "0xa");
  EXPECT_EQ(CallColumnOf("calls"), CallColumn::kCalls);
  EXPECT_EQ(CallColumnOf("cpu"), std::nullopt);
  for (int i = 0; i < 5; ++i) {
    const auto column = static_cast<CallColumn>(i);
    EXPECT_EQ(CallColumnOf(ToString(column)), column);
  }
}

TEST_F(CallTableTest, OverheadIsTakenFromEveryInterval) {
  AddWorkedExample(rows_, kPid, kTid);
  CallOptions calls;
  calls.overhead = 6;  // the intervals of 5 ticks vanish
  Table(calls);
  EXPECT_EQ(Text(table_->times().session()), "5 58 58 35 35");
}

TEST_F(CallTableTest, CallsThatLackAStartOrAnEnd) {
  Pair(0, 5);
  const auto& leave = AddCall(rows_, kLeaveId, 0xA, 20, kPid, kTid);
  const auto& enter = AddCall(rows_, kEnterId, 0xB, 30, kPid, kTid);
  Pair(0, 100);
  Table();
  EXPECT_EQ(OfRecord(leave), "1 15 15 15 15") << "since the trace began";
  EXPECT_EQ(OfRecord(enter), "1 70 70 70 70") << "until it ended";
  EXPECT_EQ(Text(table_->times().session()), "2 85 85 85 85");
  EXPECT_EQ(table_->times().threads().front().outside, 10);
  EXPECT_EQ(table_->activity_counts().unterminated, 1u);
}

TEST_F(CallTableTest, TailCalls) {
  AddCall(rows_, kEnterId, 0xA, 0, kPid, kTid);
  const auto& tail = AddCall(rows_, kTailcallId, 0xA, 10, kPid, kTid);
  AddCall(rows_, kEnterId, 0xB, 10, kPid, kTid);
  AddCall(rows_, kLeaveId, 0xB, 40, kPid, kTid);
  Table();
  EXPECT_EQ(OfRecord(tail), "1 10 10 10 10");
  EXPECT_EQ(OfFunction("0xa"), "1 10 10 10 10");
  EXPECT_EQ(OfFunction("0xb"), "1 30 30 30 30");
}

TEST_F(CallTableTest, ActivitiesThatEndOutOfOrder) {
  Pair(1, 0, 1);
  Pair(1, 10, 2);
  const auto& first = Pair(2, 30, 1);
  const auto& second = Pair(2, 40, 2);
  Table();
  EXPECT_EQ(OfRecord(first), "1 30 10 30 10");
  EXPECT_EQ(OfRecord(second), "1 30 30 30 30");
  EXPECT_EQ(table_->times().counts().unordered_leaves, 1u);
  EXPECT_EQ(Text(table_->times().session()), "2 40 40 40 40");
}

TEST_F(CallTableTest, AStopBeforeItsStartIsACallOfNoTicks) {
  AddCall(rows_, kEnterId, 0xA, 0, kPid, kTid);
  const auto& start = Pair(1, 50);
  AddCall(rows_, kEnterId, 0xB, 60, kPid, kTid);
  AddCall(rows_, kLeaveId, 0xB, 70, kPid, kTid);
  const auto& stop = Pair(2, 40);
  AddCall(rows_, kLeaveId, 0xA, 100, kPid, kTid);
  Table();
  EXPECT_EQ(OfRecord(start), "1 0 0 0 0");
  EXPECT_EQ(OfRecord(stop), "1 0 0 0 0");
  EXPECT_EQ(OfFunction("0xa"), "1 100 90 100 90");
  EXPECT_EQ(OfFunction("0xb"), "1 10 10 10 10");
}

TEST_F(CallTableTest, EmptyTraceAndTraceWithoutCalls) {
  EXPECT_EQ(Text(Table().times().session()), "0 0 0 0 0");
  EXPECT_TRUE(MakeCallReport(*table_).functions.empty());
  AddSwitch(rows_, 1, 2, 5);
  EXPECT_EQ(Text(Table().times().session()), "0 0 0 0 0");
  EXPECT_EQ(MakeCallReport(*table_).session_shares.elapsed_inclusive.Text(), "0.00");
}

TEST_F(CallTableTest, WithoutCallsKeptTheTotalsAreTheSame) {
  AddWorkedExample(rows_, kPid, kTid);
  CallOptions calls;
  calls.keep_calls = false;
  Table(calls);
  EXPECT_EQ(Text(table_->times().session()), "5 110 110 75 75");
  EXPECT_EQ(OfRecord(rows_.rows[0]), "none");
}

TEST_F(CallTableTest, ReportNamesModulesByTheirNumbers) {
  CallTimes times;
  times.Enter({kTid, kPid, 0, 1, 0});
  times.Enter({kTid, kPid, 2, 0, 10});
  times.LeaveTop(kTid, kPid, 15);
  times.LeaveTop(kTid, kPid, 30);
  times.Finish(30);
  const CallReport report = MakeCallReport(
      times, {[](uint32_t function) { return function == 0 ? std::string_view("main") : std::string_view("f"); },
              [](uint32_t module) { return module == 1 ? std::string_view("app.dll") : std::string_view("lib.dll"); }});
  ASSERT_EQ(report.functions.size(), 2u) << "number 1 was never called";
  EXPECT_EQ(report.functions[0].name + " " + report.functions[0].module, "main app.dll");
  EXPECT_EQ(report.functions[1].name + " " + report.functions[1].module, "f lib.dll");
  ASSERT_EQ(report.modules.size(), 2u);
  EXPECT_EQ(report.modules[0].name + " " + Text(report.modules[0].values), "app.dll 1 30 25 30 25");
  EXPECT_EQ(report.modules[1].name + " " + Text(report.modules[1].values), "lib.dll 1 5 5 5 5");
}

}  // namespace
}  // namespace etwpipe::activities

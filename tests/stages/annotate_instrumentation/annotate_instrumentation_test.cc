// annotate.instrumentation over records made by hand.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/formats/activities/call_rows.h"
#include "tests/stages/stage_fixture.h"

namespace etwpipe::test {
namespace {

using activities::AddCall;
using activities::kEnterId;
using activities::kLeaveId;

constexpr uint32_t kPid = 100, kTid = 200;

class AnnotateInstrumentationTest : public testing::Test {
 protected:
  // The batch of all rows after the stage, of which a filter dropped every other one before.
  EventBatch Run(std::string_view argument, bool filtered = false) {
    StageRunner runner(argument, trace_);
    EventBatch batch = activities::BatchOf(rows_);
    EXPECT_TRUE(runner.status().ok()) << runner.status().message();
    if (!runner.status().ok()) return batch;
    Stage& stage = runner.stage();
    const auto state = stage.NewState();
    EXPECT_EQ(stage.info().analysis_passes, 2);
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_TRUE(stage.Analyze({batch, trace_, state.get(), &diagnostics_}, pass).ok());
    }
    if (filtered) std::erase_if(batch.selection, [](uint16_t index) { return index % 2 != 0; });
    EXPECT_TRUE(stage.Process({batch, trace_, state.get(), &diagnostics_}).ok());
    return batch;
  }
  static std::string Text(EventBatch& batch, size_t row) {
    std::string text;
    for (const char* name :
         {"elapsed_inclusive", "elapsed_exclusive", "application_inclusive", "application_exclusive"}) {
      const auto* column = batch.FindAnnotation(std::string("annotate.instrumentation.") + name);
      if (column == nullptr || !column->has(row)) return "none";
      text += std::to_string(column->i64(row)) + " ";
    }
    return text + std::string(batch.FindAnnotation("annotate.instrumentation.os_events")->string(row));
  }
  std::string Problem(std::string_view argument) {
    return std::string(StageRunner(argument, trace_).status().message());
  }

  TraceContext trace_;
  Diagnostics diagnostics_;
  facts::FactRows rows_{trace_};
};

TEST_F(AnnotateInstrumentationTest, WorkedExample) {
  activities::AddWorkedExample(rows_, kPid, kTid);
  EventBatch batch = Run("annotate.instrumentation");
  EXPECT_EQ(Text(batch, 0), "110 30 75 30 default");
  EXPECT_EQ(Text(batch, 12), "110 30 75 30 default");
  EXPECT_EQ(Text(batch, 2), "15 15 0 0 default");
  EXPECT_EQ(Text(batch, 5), "15 15 0 0 default");
  EXPECT_EQ(Text(batch, 3), "none") << "a context switch";
}

TEST_F(AnnotateInstrumentationTest, FiltersBeforeItChangeNoValue) {
  activities::AddWorkedExample(rows_, kPid, kTid);
  EventBatch batch = Run("annotate.instrumentation", true);
  EXPECT_EQ(Text(batch, 0), "110 30 75 30 default");
  EXPECT_EQ(Text(batch, 1), "none") << "dropped";
  EXPECT_EQ(Text(batch, 2), "15 15 0 0 default");
}

TEST_F(AnnotateInstrumentationTest, Policies) {
  AddCall(rows_, kEnterId, 1, 0, kPid, kTid);
  EventHeader& fault = rows_.Add(HeaderKind::kPerfInfo64, "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c", 5, 0,
                                 facts::Bytes().Pointers({0, 0, 0, 0}).Add(kTid).Add(uint32_t{0}).bytes);
  fault.opcode = 32;
  fault.version = 2;
  AddCall(rows_, kLeaveId, 1, 10, kPid, kTid);
  EventBatch any = Run("annotate.instrumentation:policy=default");
  EXPECT_EQ(Text(any, 0), "10 10 0 0 default");
  EventBatch vs = Run("annotate.instrumentation:policy=vs");
  EXPECT_EQ(Text(vs, 0), "10 10 10 10 vs");
}

TEST_F(AnnotateInstrumentationTest, Overhead) {
  trace_.info.clock.frequency = 10'000'000;
  activities::AddWorkedExample(rows_, kPid, kTid);
  EventBatch batch = Run("annotate.instrumentation:overhead=600ns");
  EXPECT_EQ(Text(batch, 0), "58 18 35 18 default");
  EXPECT_NE(Problem("annotate.instrumentation:overhead=49ns").find("overhead: 49 ns is less than half a tick"),
            std::string::npos);
  EXPECT_EQ(Problem("annotate.instrumentation:overhead=50ns"), "");
  EXPECT_NE(Problem("annotate.instrumentation:overhead=fast").find("option overhead"), std::string::npos);
}

TEST_F(AnnotateInstrumentationTest, KindsSayWhatIsACall) {
  activities::AddWorkedExample(rows_, kPid, kTid);
  EventBatch clr = Run("annotate.instrumentation:kinds=clr");
  EXPECT_EQ(Text(clr, 0), "none");
  EventBatch app = Run("annotate.instrumentation:kinds=app");
  EXPECT_EQ(Text(app, 0), "110 30 75 30 default");
  EXPECT_NE(Problem("annotate.instrumentation:kinds=apps").find("no kind \"apps\""), std::string::npos);
}

TEST_F(AnnotateInstrumentationTest, WhatDoesNotFitIsCounted) {
  for (const auto& [opcode, task, time] : {std::tuple{1, 1, 0}, {1, 2, 10}, {2, 1, 20}, {2, 2, 30}}) {
    EventHeader& row = rows_.Add(HeaderKind::kEvent64, kOtherGuid, time, 0, kPid, kTid);
    row.opcode = static_cast<uint8_t>(opcode);
    row.task = static_cast<uint16_t>(task);
  }
  activities::AddDiskRead(rows_, kNoId, 15);
  EventBatch batch = Run("annotate.instrumentation");
  EXPECT_EQ(Text(batch, 2), "20 10 20 10 default");
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kCallsUnordered), 1u);
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kOsEventUnattributed), 1u);
}

}  // namespace
}  // namespace etwpipe::test

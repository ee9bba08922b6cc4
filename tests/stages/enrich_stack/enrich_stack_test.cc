// enrich.stack: frames by name beside the events they belong to; nothing is dropped or changed.
#include <gtest/gtest.h>

#include <fstream>

#include "formats/facts/stack_survey.h"
#include "tests/stages/stage_fixture.h"
#include "tests/support/temp_folder.h"

namespace etwpipe {
namespace {

using Texts = std::vector<std::string>;

class EnrichStackTest : public testing::Test {
 protected:
  // A stack of user addresses for the event of `owner_time`.
  EventHeader Stack(int64_t owner_time, const std::vector<uint64_t>& frames) {
    EventHeader row = rows_.PerfInfo(test::kStackWalkGuid, 32, owner_time + 1);
    std::vector<std::byte> payload(16 + 8 * frames.size());
    const uint32_t pid = 12;
    const uint32_t tid = 200;
    std::memcpy(payload.data(), &owner_time, 8);
    std::memcpy(payload.data() + 8, &pid, 4);
    std::memcpy(payload.data() + 12, &tid, 4);
    std::memcpy(payload.data() + 16, frames.data(), 8 * frames.size());
    rows_.SetPayload(row, payload);
    return row;
  }
  EventHeader Sample(int64_t time) {
    EventHeader row = rows_.PerfInfo(test::kPerfInfoGuid, 46, time);
    std::vector<std::byte> payload(16);
    payload[8] = std::byte{200};
    rows_.SetPayload(row, payload);
    return row;
  }

  // What the stage says of each row.
  std::vector<Texts> Run(const std::string& argument, const std::vector<EventHeader>& rows) {
    EventBatch batch;
    batch.rows = rows;
    batch.SelectAll();
    const auto surveyor = facts::MakeStackSurveyor();
    EXPECT_TRUE(surveyor->Observe(batch, trace_).ok());
    EXPECT_TRUE(surveyor->Finish(trace_, nullptr).ok());
    test::StageRunner runner(argument, trace_);
    EXPECT_TRUE(runner.status().ok()) << runner.status().message();
    if (!runner.status().ok()) return {};
    EXPECT_TRUE(runner.stage().Process({batch, trace_, nullptr, &diagnostics_}).ok());
    EXPECT_EQ(batch.selection.size(), rows.size());
    EXPECT_EQ(batch.annotations.size(), 1u);
    const AnnotationColumn* column = batch.FindAnnotation("enrich.stack.stack");
    std::vector<Texts> all;
    for (size_t row = 0; row < rows.size(); ++row) {
      Texts& texts = all.emplace_back();
      if (!column->has(row)) continue;
      for (const uint64_t number : column->list_view(row)) texts.emplace_back(column->text(number));
      EXPECT_FALSE(texts.empty());
    }
    return all;
  }

  TraceContext trace_;
  test::Rows rows_{trace_};
  Diagnostics diagnostics_;
};

TEST_F(EnrichStackTest, FramesStandBesideTheirEventLeafFirst) {
  const std::vector<EventHeader> rows = {Sample(10), Stack(10, {0x7ff0001, 0x7ff0002, 0x7ff0001}), Sample(20)};
  EXPECT_EQ(Run("enrich.stack", rows), (std::vector<Texts>{{"0x7ff0001", "0x7ff0002", "0x7ff0001"}, {}, {}}));
}

TEST_F(EnrichStackTest, SymbolsNameFrames) {
  test::TempFolder folder;
  std::ofstream(folder / "perf-12.map") << "7ff0000 10 jitted\n7ff0010 10 stub\nbad\n";
  const std::vector<EventHeader> rows = {Sample(10), Stack(10, {0x7ff0001, 0x7ff0010, 0x7ff0020})};
  EXPECT_EQ(Run("enrich.stack:symbols=" + folder.path().string(), rows)[0], (Texts{"jitted+0x1", "stub", "0x7ff0020"}));
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kSymbolsBad), 1u);
}

TEST_F(EnrichStackTest, MissingSymbolFileIsAnError) {
  test::StageRunner runner("enrich.stack:symbols=/no/such/file.sym", trace_);
  ASSERT_FALSE(runner.status().ok());
  EXPECT_NE(runner.status().message().find("/no/such/file.sym"), std::string::npos) << runner.status().message();
}

TEST_F(EnrichStackTest, TraceWithoutStacksGetsAnEmptyColumn) {
  test::StageRunner runner("enrich.stack", trace_);
  EventBatch batch;
  batch.rows = {Sample(10)};
  batch.SelectAll();
  ASSERT_TRUE(runner.stage().Process({batch, trace_, nullptr, nullptr}).ok());
  ASSERT_EQ(batch.annotations.size(), 1u);
  EXPECT_FALSE(batch.annotations[0].has(0));
}

}  // namespace
}  // namespace etwpipe

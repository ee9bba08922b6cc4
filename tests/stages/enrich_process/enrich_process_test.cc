#include "stages/enrich_process/enrich_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/facts/cpu_state.h"
#include "formats/facts/process_table.h"
#include "formats/facts/thread_table.h"
#include "tests/stages/stage_fixture.h"

namespace etwpipe::test {
namespace {

class EnrichProcessTest : public testing::Test {
 protected:
  EnrichProcessTest() {
    std::vector<facts::ProcessRecord> processes;
    const auto process = [&](facts::ProcessRecord::Kind kind, int64_t time, uint32_t pid, EventInstanceId id,
                             std::string image) {
      facts::ProcessRecord& record = processes.emplace_back();
      record.kind = kind;
      record.timestamp = time;
      record.pid = pid;
      record.id = id;
      record.image = std::move(image);
    };
    process(facts::ProcessRecord::Kind::kRundownStart, 1, 7, 1001, "old.exe");
    process(facts::ProcessRecord::Kind::kStart, 50, 7, 1002, "new.exe");
    trace_.facts->Set(std::make_shared<const facts::ProcessTable>(facts::ProcessTable::Build(processes, 0)));
    facts::ThreadRecord thread{facts::ThreadRecord::Kind::kRundown, 1, 1003, 44, 7, "worker"};
    trace_.facts->Set(std::make_shared<const facts::ThreadTable>(facts::ThreadTable::Build({thread}, 0)));
    auto cpu = std::make_shared<facts::CpuState>();
    cpu->Add(0, 1000, 44, 0);
    cpu->Finish();
    trace_.facts->Set(std::shared_ptr<const facts::CpuState>(std::move(cpu)));
  }

  // What the stage says of a row: "process instance thread pid/tid", '-' for each that is null.
  std::vector<std::string> Say(const std::vector<EventHeader>& rows, std::vector<uint16_t> selection = {}) {
    StageRunner runner("enrich.process", trace_);
    EXPECT_TRUE(runner.status().ok()) << runner.status().message();
    EventBatch batch;
    batch.rows = rows;
    batch.SelectAll();
    if (!selection.empty()) batch.selection = selection;
    EXPECT_TRUE(runner.stage().Process({batch, trace_, nullptr, nullptr}).ok());
    EXPECT_EQ(batch.annotations.size(), runner.stage().info().produces.size());
    std::vector<std::string> said;
    for (size_t row = 0; row < rows.size(); ++row) {
      EXPECT_EQ(std::memcmp(&batch.rows[row], &rows[row], sizeof(EventHeader)), 0);
      const auto text = [&](const char* name) -> std::string {
        const AnnotationColumn* column = batch.FindAnnotation(name);
        if (column == nullptr || !column->has(row)) return "-";
        return column->info().type == AnnotationType::kString ? std::string(column->string(row))
                                                              : std::to_string(column->u64(row));
      };
      said.push_back(text("enrich.process.process") + " " + text("enrich.process.process_instance") + " " +
                     text("enrich.process.thread") + " " + text("enrich.process.pid") + "/" +
                     text("enrich.process.tid"));
    }
    return said;
  }

  TraceContext trace_;
  Rows rows_{trace_};
};

TEST_F(EnrichProcessTest, EventsAreNamedByTheirHeader) {
  EXPECT_THAT(
      Say({rows_.Event(kOtherGuid, 10, 7, 44), rows_.Event(kOtherGuid, 60, 7, 1), rows_.Event(kOtherGuid, 60, 8, 2),
           rows_.Event(kOtherGuid, 60, kNoId, kNoId)}),
      testing::ElementsAre("old.exe 1001 worker -/-", "new.exe 1002 - -/-", "- - - -/-", "new.exe 1002 worker 7/44"));
}

TEST_F(EnrichProcessTest, RecordsWithoutIdsAreNamedByPayloadThenProcessor) {
  std::vector<std::byte> payload(16);
  payload[8] = std::byte{44};
  auto sample = rows_.PerfInfo(kPerfInfoGuid, 46, 10);
  sample.version = 2;
  rows_.SetPayload(sample, payload);
  auto unknown = sample;
  payload[8] = std::byte{48};
  rows_.SetPayload(unknown, payload);
  const auto system_call = rows_.PerfInfo(kPerfInfoGuid, 51, 10);
  auto elsewhere = system_call;
  elsewhere.cpu = 1;
  EXPECT_THAT(Say({sample, unknown, system_call, elsewhere, rows_.Stack(32, 70, 65, 7, 9)}),
              testing::ElementsAre("old.exe 1001 worker 7/44", "- - - -/48", "old.exe 1001 worker 7/44", "- - - -/-",
                                   "new.exe 1002 - 7/9"));
}

TEST_F(EnrichProcessTest, RecordsAboutSomebodyElseAreNamedByWhomTheyAreAbout) {
  std::vector<std::byte> payload(60);
  payload[8] = std::byte{7};
  auto start = rows_.Event(kProcessGuid, 50, 100, 200);
  start.kind = HeaderKind::kSystem64;
  start.opcode = 1;
  start.version = 4;
  rows_.SetPayload(start, payload);
  EXPECT_THAT(Say({start}), testing::ElementsAre("new.exe 1002 - 7/-"));
}

TEST_F(EnrichProcessTest, OnlySelectedRowsAreNamed) {
  EXPECT_THAT(Say({rows_.Event(kOtherGuid, 10, 7, 44), rows_.Event(kOtherGuid, 60, 7, 1)}, {1}),
              testing::ElementsAre("- - - -/-", "new.exe 1002 - -/-"));
}

TEST_F(EnrichProcessTest, WithoutFactsNothingIsNamed) {
  trace_.facts = std::make_shared<Facts>();
  EXPECT_THAT(Say({rows_.Event(kOtherGuid, 10, 7, 44)}), testing::ElementsAre("- - - -/-"));
}

TEST_F(EnrichProcessTest, ContextSwitchesAreCollectedUnlessToldNotTo) {
  EXPECT_EQ(StageRunner("enrich.process", trace_).stage().info().facts, kProcesses | kThreads | kCpuState);
  EXPECT_EQ(StageRunner("enrich.process:payload_only=true", trace_).stage().info().facts, kProcesses | kThreads);
}

}  // namespace
}  // namespace etwpipe::test

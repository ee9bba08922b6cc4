#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/facts/cpu_state.h"
#include "formats/facts/thread_table.h"
#include "tests/stages/stage_fixture.h"

namespace etwpipe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FilterProcessTest : public testing::Test {
 protected:
  TraceContext trace_;
  Rows rows_{trace_};
};

TEST_F(FilterProcessTest, KeepsTheGivenProcesses) {
  std::vector<EventHeader> rows;
  for (const uint32_t pid : {0u, 4u, 1234u, 5678u, 12345u}) rows.push_back(rows_.Event(kOtherGuid, 1, pid));
  EXPECT_THAT(StageRunner("filter.process:1234", trace_).Run(rows), ElementsAre(2));
  EXPECT_THAT(StageRunner("filter.process:5678,1234", trace_).Run(rows), ElementsAre(2, 3));
  EXPECT_THAT(StageRunner("filter.process:pids=0, 0x4", trace_).Run(rows), ElementsAre(0, 1));
}

TEST_F(FilterProcessTest, StacksGoByTheProcessOfTheirEvent) {
  const std::vector<EventHeader> rows = {rows_.Stack(32, 5, 4, 1234, 1), rows_.Stack(37, 5, 4, 99, 1),
                                         rows_.Stack(38, 5, 4, 1234, 1)};
  for (const char* argument : {"filter.process:1234", "filter.process:1234,context=drop,unattributed=drop"}) {
    StageRunner runner(argument, trace_);
    EXPECT_THAT(runner.Run(rows), ElementsAre(0, 2)) << argument;
    EXPECT_EQ(runner.diagnostics().count(DiagnosticId::kUnattributed), 0u);
  }
}

TEST_F(FilterProcessTest, OptionsDecideOnBookkeepingAndUnattributedRecords) {
  const auto context_of_other = [&] {
    auto row = rows_.Event(kProcessGuid, 1, 99);
    row.kind = HeaderKind::kSystem64;
    row.opcode = 1;
    return row;
  }();
  const auto context_without_pid = rows_.PerfInfo(kThreadGuid, 3, 1);
  const auto sample = rows_.PerfInfo(kPerfInfoGuid, 46, 1);
  auto pid_is_none = rows_.Event(kOtherGuid, 1, kNoId);
  const auto other = rows_.Event(kOtherGuid, 1, 99);
  const auto wanted = rows_.Event(kOtherGuid, 1, 1234);
  const std::vector<EventHeader> rows = {context_of_other, context_without_pid, sample, pid_is_none, other, wanted};

  const struct {
    std::string options;
    std::vector<size_t> kept;
    uint64_t unattributed;
  } cases[] = {
      {"", {0, 1, 2, 3, 5}, 2},
      {",context=keep,unattributed=keep", {0, 1, 2, 3, 5}, 2},
      {",unattributed=drop", {0, 1, 5}, 2},
      {",context=drop", {1, 2, 3, 5}, 3},
      {",context=drop,unattributed=drop", {5}, 3},
  };
  for (const auto& expected : cases) {
    StageRunner runner("filter.process:1234" + expected.options, trace_);
    EXPECT_EQ(runner.Run(rows), expected.kept) << expected.options;
    EXPECT_EQ(runner.diagnostics().count(DiagnosticId::kUnattributed), expected.unattributed) << expected.options;
  }
}

// A sample names its thread, a connection its process, a system call nobody: the processor knows.
TEST_F(FilterProcessTest, RecordsWithoutIdsGoByTheirPayloadOrProcessor) {
  facts::ThreadRecord thread{facts::ThreadRecord::Kind::kRundown, 1, 1, 44, 1234, ""};
  trace_.facts->Set(std::make_shared<const facts::ThreadTable>(facts::ThreadTable::Build({thread}, 0)));
  auto cpu = std::make_shared<facts::CpuState>();
  cpu->Add(0, 1000, 44, 0);
  cpu->Finish();
  trace_.facts->Set(std::shared_ptr<const facts::CpuState>(std::move(cpu)));

  const auto with_id = [&](std::string_view provider, uint8_t opcode, size_t offset, uint32_t id) {
    auto row = rows_.PerfInfo(provider, opcode, 1);
    row.version = 2;
    std::vector<std::byte> payload(56);
    std::memcpy(payload.data() + offset, &id, sizeof(id));
    rows_.SetPayload(row, payload);
    return row;
  };
  constexpr std::string_view kTcpIpGuid = "9a280ac0-c8e0-11d1-84e2-00c04fb998a2";
  const std::vector<EventHeader> rows = {
      with_id(kPerfInfoGuid, 46, 8, 44), with_id(kPerfInfoGuid, 46, 8, 48), with_id(kTcpIpGuid, 27, 0, 1234),
      with_id(kTcpIpGuid, 27, 0, 99),    with_id(kPerfInfoGuid, 51, 0, 0),
  };
  const struct {
    std::string options;
    FactSet facts;
    std::vector<size_t> kept;
    uint64_t unattributed;
  } cases[] = {
      {"", kThreads, {0, 1, 2, 4}, 2},
      {",unattributed=drop", kThreads, {0, 2}, 2},
      {",unattributed=drop,attribute=payload", kThreads, {0, 2}, 2},
      {",unattributed=drop,attribute=all", kThreads | kCpuState, {0, 2, 4}, 1},
      {",unattributed=drop,attribute=none", kNoFacts, {}, 5},
      {",attribute=none", kNoFacts, {0, 1, 2, 3, 4}, 5},
  };
  for (const auto& expected : cases) {
    StageRunner runner("filter.process:1234" + expected.options, trace_);
    EXPECT_EQ(runner.stage().info().facts, expected.facts) << expected.options;
    EXPECT_EQ(runner.Run(rows), expected.kept) << expected.options;
    EXPECT_EQ(runner.diagnostics().count(DiagnosticId::kUnattributed), expected.unattributed) << expected.options;
  }
}

TEST_F(FilterProcessTest, BadPidsAreErrorsThatSayWhatIsAllowed) {
  const struct {
    const char* argument;
    const char* says;
  } cases[] = {
      {"filter.process:abc",
       "option pids: 'abc' is not allowed; write a list with commas, each a whole number from 0 to 4294967295"},
      {"filter.process:1,,2", "option pids: '' is not allowed"},
      {"filter.process:4294967296", "'4294967296' is not allowed"},
      {"filter.process:-1", "'-1' is not allowed"},
      {"filter.process:4294967295", "stands for no process"},
      {"filter.process:1,context=perhaps", "option context: 'perhaps' is not allowed; write keep or drop"},
      {"filter.process:1,contxt=drop", "unknown option 'contxt'; did you mean context?"},
  };
  for (const auto& bad : cases) {
    StageRunner runner(bad.argument, trace_);
    EXPECT_EQ(runner.status().code(), StatusCode::kInvalidArgument) << bad.argument;
    EXPECT_THAT(std::string(runner.status().message()), HasSubstr(bad.says)) << bad.argument;
  }
}

}  // namespace
}  // namespace etwpipe::test

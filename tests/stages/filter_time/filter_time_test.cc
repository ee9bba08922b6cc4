#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stages/stage_fixture.h"

namespace etwpipe::test {
namespace {

using testing::ElementsAre;

class FilterTimeTest : public testing::Test {
 protected:
  FilterTimeTest() { trace_.info.clock = {ClockType::kQpc, 1000, 0, 132'404'548'206'236'167}; }

  TraceContext trace_;
  Rows rows_{trace_};
};

TEST_F(FilterTimeTest, KeepsFromInclusiveToExclusive) {
  StageRunner runner("filter.time:1s..2s", trace_);
  std::vector<EventHeader> rows;
  for (const int64_t tick : {999, 1000, 1500, 1999, 2000}) rows.push_back(rows_.Event(kOtherGuid, tick));
  EXPECT_THAT(runner.Run(rows), ElementsAre(1, 2, 3));
}

TEST_F(FilterTimeTest, StacksGoByTheTimeOfTheirEvent) {
  std::vector<EventHeader> rows;
  for (const uint8_t opcode : {uint8_t{32}, uint8_t{37}, uint8_t{38}}) {
    rows.push_back(rows_.Stack(opcode, 2500, 1999, 1, 2));  // event inside, record outside
    rows.push_back(rows_.Stack(opcode, 1500, 999, 1, 2));   // event outside, record inside
  }
  for (const char* argument : {"filter.time:1s..2s", "filter.time:1s..2s,context=drop"}) {
    StageRunner runner(argument, trace_);
    EXPECT_THAT(runner.Run(rows), ElementsAre(0, 2, 4)) << argument;
  }
}

TEST_F(FilterTimeTest, AStackTooShortToNameItsEventGoesByItsOwnTime) {
  StageRunner runner("filter.time:1s..2s", trace_);
  auto inside = rows_.Stack(32, 1500, 0, 1, 2);
  rows_.SetPayload(inside, std::vector<std::byte>(15));
  auto outside = rows_.Stack(32, 2500, 1500, 1, 2);
  rows_.SetPayload(outside, std::vector<std::byte>(15));
  EXPECT_THAT(runner.Run({inside, outside}), ElementsAre(0));
}

TEST_F(FilterTimeTest, ContextDecidesWhetherBookkeepingPassesAtAnyTime) {
  auto method_load = rows_.Event(kClrGuid, 5000);
  method_load.id = 143;
  auto allocation = rows_.Event(kClrGuid, 5000);
  allocation.id = 10;
  auto process_start = rows_.PerfInfo(kProcessGuid, 1, 5000);
  auto stack_key = rows_.PerfInfo(kStackWalkGuid, 36, 5000);
  auto inside = rows_.PerfInfo(kProcessGuid, 1, 1500);
  const std::vector<EventHeader> rows = {method_load, allocation, process_start, stack_key, inside};
  EXPECT_THAT(StageRunner("filter.time:1s..2s", trace_).Run(rows), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(StageRunner("filter.time:1s..2s,context=keep", trace_).Run(rows), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(StageRunner("filter.time:1s..2s,context=drop", trace_).Run(rows), ElementsAre(4));
}

TEST_F(FilterTimeTest, ARangeThatEndsBeforeItBeginsIsAnErrorAtBind) {
  StageRunner runner("filter.time:3s..2s", trace_);
  EXPECT_EQ(runner.status().code(), StatusCode::kInvalidArgument);
  // The label of the stage is put before it by whoever runs the stage.
  EXPECT_TRUE(runner.status().message().starts_with("option range: ")) << runner.status().message();
}

TEST_F(FilterTimeTest, DeselectedRowsStayDeselected) {
  StageRunner runner("filter.time:1s..2s", trace_);
  EventBatch batch;
  batch.rows = {rows_.Event(kOtherGuid, 1500), rows_.Event(kOtherGuid, 1600)};
  batch.selection = {1};
  ASSERT_TRUE(runner.stage().Process({batch, trace_, nullptr, nullptr}).ok());
  EXPECT_THAT(batch.selection, ElementsAre(1));
}

}  // namespace
}  // namespace etwpipe::test

#include "stages/filter_where/filter_where.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stages/stage_fixture.h"

namespace etwpipe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FilterWhere, KeepsWhatTheExpressionSaysAndNothingElse) {
  TraceContext trace;
  Rows rows(trace);
  StageRunner runner("filter.where:pid == 4 and level <= 3", trace);
  auto kept = rows.Event(kOtherGuid, 1, 4);
  kept.level = 3;
  auto level = rows.Event(kOtherGuid, 1, 4);
  level.level = 4;
  const auto bookkeeping = rows.PerfInfo(kProcessGuid, 1, 1);
  EXPECT_THAT(runner.Run({bookkeeping, kept, level, rows.Stack(32, 2, 1, 4, 200)}), ElementsAre(1));
}

TEST(FilterWhere, AnErrorNamesTheStageTheOptionAndTheColumn) {
  TraceContext trace;
  StageRunner runner("filter.where:pid == 4 and levl <= 3", trace);
  EXPECT_EQ(runner.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(runner.status().message()),
              HasSubstr("stage 1 'filter.where': option expression: column 14: unknown name 'levl'"));
}

TEST(FilterWhere, IsFreeOfOrderAndState) {
  TraceContext trace;
  StageRunner runner("filter.where:true", trace);
  EXPECT_FALSE(runner.stage().info().ordered);
  EXPECT_EQ(runner.stage().info().order, Order::kPerCpu);
  EXPECT_TRUE(runner.stage().info().drops);
}

}  // namespace
}  // namespace etwpipe::test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "tests/stages/stage_fixture.h"

namespace etwpipe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SampleEveryTest : public testing::Test {
 protected:
  TraceContext trace_;
  Rows rows_{trace_};
};

TEST_F(SampleEveryTest, AgreesWithANaiveReferenceAcrossBatches) {
  std::mt19937 random(7);
  const auto pick = [&](unsigned n) { return random() % n; };
  for (const uint64_t n : {1u, 2u, 3u, 10u}) {
    StageRunner runner("sample.every:" + std::to_string(n), trace_);
    std::map<std::tuple<ProviderIndex, uint16_t, uint16_t, uint8_t, HeaderKind, uint8_t>, uint64_t> seen;
    for (int batch = 0; batch < 20; ++batch) {
      std::vector<EventHeader> rows;
      std::vector<size_t> expected;
      for (size_t i = 0; i < 300; ++i) {
        auto row = rows_.Event(pick(2) == 0 ? kOtherGuid : kPerfInfoGuid, batch * 1000 + static_cast<int64_t>(i));
        row.id = static_cast<uint16_t>(pick(2));
        row.version = static_cast<uint16_t>(pick(2) * 256);
        row.opcode = static_cast<uint8_t>(pick(2));
        row.kind = pick(3) == 0 ? HeaderKind::kUnknown : HeaderKind::kEvent64;
        row.header_type = row.kind == HeaderKind::kUnknown ? static_cast<uint8_t>(pick(2)) : uint8_t{19};
        rows.push_back(row);
        if (seen[{row.provider, row.id, row.version, row.opcode, row.kind, row.header_type}]++ % n == 0) {
          expected.push_back(i);
        }
      }
      ASSERT_EQ(runner.Run(rows), expected) << "n " << n << " batch " << batch;
    }
  }
}

TEST_F(SampleEveryTest, BookkeepingIsKeptAndNotCountedUnlessContextIsDrop) {
  std::vector<EventHeader> rows;
  for (int i = 0; i < 4; ++i) rows.push_back(rows_.PerfInfo(kProcessGuid, 1, i));
  EXPECT_THAT(StageRunner("sample.every:2", trace_).Run(rows), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(StageRunner("sample.every:2,context=drop", trace_).Run(rows), ElementsAre(0, 2));
}

TEST_F(SampleEveryTest, AStackIsKeptExactlyIfItsEventWas) {
  StageRunner runner("sample.every:2,context=drop", trace_);
  const std::vector<EventHeader> rows = {
      rows_.Event(kOtherGuid, 10, 1, 501),                                   // kept
      rows_.Stack(32, 11, 10, 1, 501),                                       // follows it
      rows_.Event(kOtherGuid, 20, 1, 501),                                   // dropped
      rows_.Stack(37, 21, 20, 1, 501),                                       // follows it
      rows_.Event(kOtherGuid, 30, 1, 501),                                   // kept
      rows_.Stack(37, 31, 30, 1, 501),                                       // both halves follow
      rows_.Stack(38, 99, 30, 1, 501),     rows_.Stack(32, 99, 30, 1, 502),  // another thread at that time
  };
  EXPECT_THAT(runner.Run(rows), ElementsAre(0, 1, 4, 5, 6));
}

TEST_F(SampleEveryTest, AStackFindsAnEventOfAnEarlierBatchThatNamesNoThread) {
  StageRunner runner("sample.every:3", trace_);
  EXPECT_THAT(runner.Run({rows_.PerfInfo(kPerfInfoGuid, 46, 10), rows_.PerfInfo(kPerfInfoGuid, 46, 20)}),
              ElementsAre(0));
  EXPECT_THAT(runner.Run({rows_.Stack(32, 30, 10, 1, 77), rows_.Stack(32, 31, 20, 1, 77)}), ElementsAre(0));
}

TEST_F(SampleEveryTest, StacksOfBookkeepingRecordsAreKeptWithThem) {
  StageRunner runner("sample.every:1000", trace_);
  EXPECT_THAT(runner.Run({rows_.PerfInfo(kThreadGuid, 1, 10), rows_.PerfInfo(kThreadGuid, 1, 20),
                          rows_.Stack(32, 21, 20, 1, 2)}),
              ElementsAre(0, 1, 2));
}

TEST_F(SampleEveryTest, AsksForTimeOrderOneBatchAtATime) {
  StageRunner runner("sample.every:2", trace_);
  EXPECT_TRUE(runner.stage().info().ordered);
  EXPECT_EQ(runner.stage().info().order, Order::kTime);
}

TEST_F(SampleEveryTest, ZeroIsAnError) {
  StageRunner runner("sample.every:0", trace_);
  EXPECT_THAT(std::string(runner.status().message()), HasSubstr("option n: it must be at least 1"));
}

}  // namespace
}  // namespace etwpipe::test

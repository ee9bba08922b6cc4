// Lives of processes: pids used again, starts and ends outside the trace, records in any order.
#include "formats/facts/process_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace etwpipe::facts {
namespace {

using Kind = ProcessRecord::Kind;
constexpr int64_t kBefore = ProcessInstance::kBeforeTrace;
constexpr int64_t kAfter = ProcessInstance::kAfterTrace;

ProcessRecord Record(Kind kind, int64_t time, uint32_t pid, std::string image, uint64_t key = 0) {
  ProcessRecord record;
  record.kind = kind;
  record.timestamp = time;
  record.id = static_cast<EventInstanceId>(time);
  record.pid = pid;
  record.image = std::move(image);
  record.unique_key = key;
  return record;
}

TEST(ProcessTable, RundownAtEitherEndMeansTheWholeTrace) {
  for (const Kind kind : {Kind::kRundownStart, Kind::kRundownStop}) {
    const auto table = ProcessTable::Build({Record(kind, 50, 4, "System")}, 5);
    ASSERT_EQ(table.all().size(), 1u);
    EXPECT_EQ(table.all()[0].start, kBefore);
    EXPECT_EQ(table.all()[0].end, kAfter);
    ASSERT_NE(table.Find(4, 1), nullptr);
    EXPECT_EQ(table.Find(4, 1)->image, "System");
    EXPECT_EQ(table.Find(5, 1), nullptr);
  }
}

TEST(ProcessTable, APidUsedThreeTimes) {
  std::vector<ProcessRecord> records = {Record(Kind::kRundownStart, 10, 7, "a", 1), Record(Kind::kStop, 20, 7, "a", 1),
                                        Record(Kind::kStart, 30, 7, "b", 2), Record(Kind::kStart, 50, 7, "c", 3),
                                        Record(Kind::kRundownStop, 90, 7, "c", 3)};
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    const auto table = ProcessTable::Build(records, 5);
    ASSERT_EQ(table.all().size(), 3u);
    EXPECT_EQ(table.all()[1].start, 30);
    EXPECT_EQ(table.all()[1].end, 50) << "its stop is lost; the next start ends it";
    for (const auto& [time, image] :
         {std::pair(0, "a"), {20, "a"}, {29, "a"}, {30, "b"}, {49, "b"}, {50, "c"}, {99, "c"}}) {
      ASSERT_NE(table.Find(7, time), nullptr);
      EXPECT_EQ(table.Find(7, time)->image, image) << time;
    }
  }
}

TEST(ProcessTable, AStopAloneOpensBackwardsToTheEndBefore) {
  const auto table = ProcessTable::Build(
      {Record(Kind::kStart, 10, 7, "a", 1), Record(Kind::kStop, 20, 7, "a", 1), Record(Kind::kStop, 60, 7, "b", 2)}, 5);
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.all()[1].start, 20);
  EXPECT_EQ(table.all()[1].end, 60);
}

TEST(ProcessTable, TwoProvidersWriteOneProcess) {
  const auto table = ProcessTable::Build(
      {Record(Kind::kStart, 10, 7, "a"), Record(Kind::kStart, 14, 7, "a", 1), Record(Kind::kStop, 40, 7, "a", 1),
       Record(Kind::kStop, 43, 7, "a"), Record(Kind::kStart, 60, 7, "b"), Record(Kind::kStart, 66, 7, "c")},
      5);
  ASSERT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.all()[0].start, 10);
  EXPECT_EQ(table.all()[0].end, 40);
  EXPECT_EQ(table.all()[0].unique_key, 1u);
  EXPECT_EQ(table.all()[1].end, 66) << "farther apart than the tolerance";
}

TEST(ProcessTable, AnotherKeyIsAnotherProcess) {
  const auto table =
      ProcessTable::Build({Record(Kind::kRundownStart, 10, 7, "a", 1), Record(Kind::kRundownStop, 90, 7, "b", 2)}, 5);
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.Find(7, 89)->image, "a");
  EXPECT_EQ(table.Find(7, 90)->image, "b");
}

TEST(ProcessTable, ADefunctProcessHasEnded) {
  const auto alone = ProcessTable::Build({Record(Kind::kDefunct, 90, 7, "a", 1)}, 5);
  ASSERT_EQ(alone.all().size(), 1u);
  EXPECT_EQ(alone.all()[0].end, 90);
  const auto known = ProcessTable::Build(
      {Record(Kind::kStart, 10, 7, "a", 1), Record(Kind::kStop, 20, 7, "a", 1), Record(Kind::kDefunct, 90, 7, "a", 1)},
      5);
  ASSERT_EQ(known.all().size(), 1u);
  EXPECT_EQ(known.all()[0].end, 20);
}

}  // namespace
}  // namespace etwpipe::facts

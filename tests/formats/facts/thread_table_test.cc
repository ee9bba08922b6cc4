// Lives of threads: tids used again, starts and ends outside the trace, names, uses, records in any order.
#include "formats/facts/thread_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace etwpipe::facts {
namespace {

using Kind = ThreadRecord::Kind;
constexpr int64_t kBefore = ProcessInstance::kBeforeTrace;
constexpr int64_t kAfter = ProcessInstance::kAfterTrace;

ThreadRecord Record(Kind kind, int64_t time, uint32_t tid, uint32_t pid, std::string name = {}) {
  return {kind, time, static_cast<EventInstanceId>(time), tid, pid, std::move(name)};
}

TEST(ThreadTable, ARundownMeansTheWholeTrace) {
  const auto table = ThreadTable::Build({Record(Kind::kRundown, 50, 8, 4)}, 5);
  ASSERT_EQ(table.all().size(), 1u);
  EXPECT_EQ(table.all()[0].start, kBefore);
  EXPECT_EQ(table.all()[0].end, kAfter);
  ASSERT_NE(table.Find(8, kBefore), nullptr);
  EXPECT_EQ(table.Find(8, kBefore)->pid, 4u);
  EXPECT_EQ(table.Find(9, 50), nullptr);
}

TEST(ThreadTable, NothingIsKnownBeforeAStart) {
  const auto table = ThreadTable::Build({Record(Kind::kStart, 50, 8, 4)}, 5);
  EXPECT_EQ(table.Find(8, 49), nullptr);
  EXPECT_NE(table.Find(8, 50), nullptr);
}

TEST(ThreadTable, ATidUsedInThreeProcesses) {
  std::vector<ThreadRecord> records = {
      Record(Kind::kRundown, 10, 8, 1), Record(Kind::kEnd, 20, 8, 1),     Record(Kind::kStart, 30, 8, 2),
      Record(Kind::kStart, 50, 8, 3),   Record(Kind::kRundown, 90, 8, 3),
  };
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    const auto table = ThreadTable::Build(records, 5);
    ASSERT_EQ(table.all().size(), 3u);
    EXPECT_EQ(table.all()[0].end, 20);
    EXPECT_EQ(table.all()[1].end, 50) << "its end is lost; the next start ends it";
    for (const auto& [time, pid] : {std::pair(0, 1u), {20, 1u}, {29, 1u}, {30, 2u}, {49, 2u}, {50, 3u}, {99, 3u}}) {
      ASSERT_NE(table.Find(8, time), nullptr);
      EXPECT_EQ(table.Find(8, time)->pid, pid) << time;
    }
  }
}

TEST(ThreadTable, AnotherProcessIsAnotherThread) {
  const auto table = ThreadTable::Build({Record(Kind::kRundown, 10, 8, 1), Record(Kind::kEnd, 60, 8, 2)}, 5);
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.all()[0].end, 60);
  EXPECT_EQ(table.all()[1].pid, 2u);
}

TEST(ThreadTable, AnEndAloneOpensBackwardsToTheEndBefore) {
  const auto table = ThreadTable::Build(
      {Record(Kind::kStart, 10, 8, 1), Record(Kind::kEnd, 20, 8, 1), Record(Kind::kEnd, 60, 8, 2)}, 5);
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.all()[1].start, 20);
  EXPECT_EQ(table.all()[1].end, 60);
}

TEST(ThreadTable, TwoProvidersWriteOneThread) {
  const auto table =
      ThreadTable::Build({Record(Kind::kStart, 10, 8, 1), Record(Kind::kStart, 15, 8, 1), Record(Kind::kEnd, 40, 8, 1),
                          Record(Kind::kEnd, 45, 8, 1), Record(Kind::kStart, 46, 8, 1), Record(Kind::kStart, 52, 8, 1)},
                         5);
  ASSERT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.all()[0].start, 10);
  EXPECT_EQ(table.all()[0].end, 40);
  EXPECT_EQ(table.all()[1].end, 52) << "farther apart than the tolerance";
}

TEST(ThreadTable, TheLastNameStays) {
  const auto table = ThreadTable::Build({Record(Kind::kRundown, 10, 8, 1, "a"), Record(Kind::kName, 20, 8, 1, "b"),
                                         Record(Kind::kRundown, 90, 8, 1), Record(Kind::kName, 20, 12, 1, "c")},
                                        5);
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.all()[0].name, "b");
  EXPECT_EQ(table.all()[1].name, "c");
  EXPECT_EQ(table.all()[1].start, kBefore);
}

TEST(ThreadTable, UsesCountWhereNothingElseIsKnown) {
  const auto table =
      ThreadTable::Build({Record(Kind::kUse, 10, 8, 1), Record(Kind::kUse, 20, 8, 1), Record(Kind::kUse, 30, 8, 2),
                          Record(Kind::kUse, 10, 12, 7), Record(Kind::kStart, 40, 12, 9)},
                         5);
  ASSERT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.Find(8, 29)->pid, 1u);
  EXPECT_EQ(table.Find(8, 30)->pid, 2u);
  EXPECT_EQ(table.Find(12, 10), nullptr);
}

// Complete lives, as a plain list: who lived at a time is who started last before it.
TEST(ThreadTable, LooksUpWhatALinearScanFinds) {
  std::mt19937 random(7);
  const auto below = [&](int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random); };
  std::vector<ThreadRecord> records;
  struct Life {
    uint32_t tid;
    uint32_t pid;
    int64_t start;
  };
  std::vector<Life> lives;
  for (uint32_t tid = 4; tid < 200; tid += 4) {
    int64_t time = 0;
    for (int64_t n = below(6); n > 0; --n) {
      time += 100 + below(1000);
      const auto pid = static_cast<uint32_t>(below(50));
      lives.push_back({tid, pid, time});
      records.push_back(Record(Kind::kStart, time, tid, pid));
      if (below(4) == 0) continue;  // its end is lost
      time += 100 + below(1000);
      records.push_back(Record(Kind::kEnd, time, tid, pid));
    }
  }
  std::shuffle(records.begin(), records.end(), random);
  const auto table = ThreadTable::Build(records, 5);
  EXPECT_EQ(table.all().size(), lives.size());
  for (int i = 0; i < 20000; ++i) {
    const auto tid = static_cast<uint32_t>(below(210));
    const int64_t time = below(12000);
    const Life* expected = nullptr;
    for (const Life& life : lives) {
      if (life.tid == tid && life.start <= time && (expected == nullptr || life.start > expected->start)) {
        expected = &life;
      }
    }
    const ThreadInstance* found = table.Find(tid, time);
    ASSERT_EQ(found == nullptr, expected == nullptr) << tid << ' ' << time;
    if (expected != nullptr) {
      ASSERT_EQ(found->pid, expected->pid);
      ASSERT_EQ(found->start, expected->start);
    }
  }
}

}  // namespace
}  // namespace etwpipe::facts

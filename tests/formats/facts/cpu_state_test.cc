// Who runs on a processor: edges, order, the bound.
#include "formats/facts/cpu_state.h"

#include <gtest/gtest.h>

#include <random>

namespace etwpipe::facts {
namespace {

TEST(CpuState, AnswersByTheLastSwitch) {
  CpuState state;
  state.Add(1, 10, 100, 200);
  state.Add(1, 20, 200, 300);
  state.Finish();
  EXPECT_EQ(state.Find(1, 9), 100u);
  EXPECT_EQ(state.Find(1, 10), 200u);
  EXPECT_EQ(state.Find(1, 19), 200u);
  EXPECT_EQ(state.Find(1, 20), 300u);
  EXPECT_EQ(state.Find(1, 1000), 300u);
  EXPECT_EQ(state.Find(0, 10), std::nullopt);
  EXPECT_EQ(state.Find(2, 10), std::nullopt);
}

TEST(CpuState, OfSwitchesAtOneTimeTheLastCounts) {
  CpuState state;
  state.Add(0, 10, 100, 200);
  state.Add(0, 10, 200, 300);
  state.Add(0, 5, 90, 100);
  state.Add(0, 7, 95, 101);
  state.Finish();
  EXPECT_EQ(state.Find(0, 10), 300u);
  EXPECT_EQ(state.Find(0, 4), 90u) << "before the earliest, whatever the order they came in";
  EXPECT_EQ(state.Find(0, 9), 101u);
}

TEST(CpuState, KnowsNothingFromWhereItIsFull) {
  CpuState state(2);
  state.Add(0, 10, 1, 2);
  state.Add(0, 20, 2, 3);
  state.Add(0, 30, 3, 4);
  state.Add(1, 5, 7, 8);
  state.Finish();
  EXPECT_EQ(state.Find(0, 29), 3u);
  EXPECT_EQ(state.Find(0, 30), std::nullopt);
  EXPECT_EQ(state.Find(1, 5), std::nullopt);
}

TEST(CpuState, LooksUpWhatALinearScanFinds) {
  std::mt19937 random(3);
  struct Switch {
    uint16_t cpu;
    int64_t time;
    uint32_t from;
    uint32_t to;
  };
  std::vector<Switch> all;
  CpuState state;
  for (int i = 0; i < 2000; ++i) {
    all.push_back({static_cast<uint16_t>(random() % 4), i * 3 + static_cast<int64_t>(random() % 3),
                   static_cast<uint32_t>(random() % 50), static_cast<uint32_t>(random() % 50)});
    state.Add(all.back().cpu, all.back().time, all.back().from, all.back().to);
  }
  state.Finish();
  for (int i = 0; i < 20000; ++i) {
    const auto cpu = static_cast<uint16_t>(random() % 4);
    const auto time = static_cast<int64_t>(random() % 6100);
    std::optional<uint32_t> expected;
    for (const Switch& change : all) {
      if (change.cpu != cpu) continue;
      if (change.time > time && !expected) expected = change.from;
      if (change.time > time) break;
      expected = change.to;
    }
    ASSERT_EQ(state.Find(cpu, time), expected) << cpu << ' ' << time;
  }
}

}  // namespace
}  // namespace etwpipe::facts

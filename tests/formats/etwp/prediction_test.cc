// Rows by key: what a reader keeps is what the writer saw, against a plain map.
#include "formats/etwp/prediction.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace etwpipe::etwp {
namespace {

TEST(KeyIndex, FindsWhatWasAddedAndNothingElse) {
  std::mt19937_64 random(1);
  KeyIndex index;
  EXPECT_EQ(index.Find(0), KeyIndex::kNone);
  std::map<uint64_t, uint32_t> plain;
  for (uint32_t place = 0; place < 20'000; ++place) {
    // Small keys, pointers and keys that differ in their high bits only.
    const uint64_t key = place % 3 == 0   ? random() % 30'000
                         : place % 3 == 1 ? 0xFFFFF80000000000 + random() % 100'000 * 16
                                          : random() << 40;
    if (!plain.try_emplace(key, place).second) continue;
    index.Add(key, place);
  }
  for (const auto& [key, place] : plain) {
    EXPECT_EQ(index.Find(key), place);
    EXPECT_TRUE(plain.contains(key + 1) || index.Find(key + 1) == KeyIndex::kNone);
  }
}

// Single u64 numbers, each of a context of its own, from 1.
PayloadLayout NumbersLayout(uint32_t count) {
  PayloadLayout layout;
  layout.fields.resize(count);
  for (uint32_t field = 0; field < count; ++field) {
    layout.fields[field].shape = v1::LayoutField::SHAPE_NUMBER;
    layout.fields[field].width = 8;
    layout.fields[field].context = field + 1;
  }
  return layout;
}

TEST(PredictionState, RowsAndThoseBelowAreThoseOfAMap) {
  PayloadLayout layout = NumbersLayout(2);
  layout.key = 1;
  const PayloadLayout* layouts[] = {&layout};
  PredictionState writer;
  writer.Start(layouts, PredictionState::Keep::kAll);
  writer.Prepare();
  PredictionState reader;
  reader.Start(layouts, PredictionState::Keep::kUsed);
  EXPECT_FALSE(reader.used(0));
  reader.UseRows(0, true);
  reader.Prepare();
  EXPECT_TRUE(reader.used(0) && reader.ordered(0) && writer.used(0) && writer.ordered(0));
  std::mt19937_64 random(2);
  std::map<uint64_t, uint64_t> plain;
  for (int i = 0; i < 5'000; ++i) {
    const uint64_t key = random() % 500 << (i % 2 == 0 ? 0 : 50);
    const uint64_t values[] = {key, random()};
    const auto known = plain.find(key);
    const auto below = plain.lower_bound(key);
    for (PredictionState* state : {&writer, &reader}) {
      const auto row = state->Row(0, key);
      ASSERT_EQ(row.size(), 2u);
      EXPECT_EQ(row[state->slot(0, 1)], known == plain.end() ? 0 : known->second);
      const auto lower = state->Below(0, key);
      ASSERT_EQ(lower.empty(), below == plain.begin());
      EXPECT_TRUE(lower.empty() || lower[state->slot(0, 1)] == std::prev(below)->second);
      state->Update(0, values, state->Row(0, key));
    }
    plain[key] = values[1];
  }
}

TEST(PredictionState, LastValuesAreKeptOfContextsInUse) {
  PayloadLayout layout = NumbersLayout(3);
  layout.fields[2].repeated = true;
  const PayloadLayout* layouts[] = {nullptr, &layout};
  PredictionState writer;
  writer.Start(layouts, PredictionState::Keep::kAll);
  writer.Prepare();
  PredictionState reader;
  reader.Start(layouts, PredictionState::Keep::kUsed);
  reader.UseLast(2);
  reader.Prepare();
  const uint64_t values[] = {5, 6, 7};
  writer.Update(1, values, {});
  reader.Update(1, values, {});
  EXPECT_EQ(writer.last(1), 5u);
  EXPECT_EQ(writer.last(2), 6u);
  EXPECT_EQ(writer.last(3), 0u);  // an array is told from itself
  EXPECT_EQ(reader.last(2), 6u);
}

TEST(PredictionState, PayloadsBeforeAreKeptByKindAndProcessorUpToABound) {
  const PayloadLayout wide = NumbersLayout(1024);
  const PayloadLayout narrow = NumbersLayout(2);
  const PayloadLayout* layouts[] = {&wide, &narrow};
  PredictionState state;
  state.Start(layouts, PredictionState::Keep::kUsed);
  state.Prepare();
  constexpr uint16_t kRoom = PredictionState::kMaxRowValues / 1024;
  state.OnProcessor(1, 7)[1] = 5;
  for (uint16_t cpu = 0; cpu < kRoom - 1; ++cpu) {
    const auto row = state.OnProcessor(0, cpu);
    ASSERT_EQ(row.size(), 1024u);
    EXPECT_EQ(row[1], 0u);
    row[1] = cpu;
  }
  EXPECT_TRUE(state.OnProcessor(0, kRoom).empty());
  EXPECT_EQ(state.OnProcessor(0, 9)[1], 9u);
  EXPECT_EQ(state.OnProcessor(1, 7)[1], 5u);
  state.Start(layouts, PredictionState::Keep::kUsed);
  EXPECT_EQ(state.OnProcessor(1, 7)[1], 0u);
}

}  // namespace
}  // namespace etwpipe::etwp

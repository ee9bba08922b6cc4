#include "pipeline/diagnostics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace etwpipe {
namespace {

TEST(Diagnostics, IdsAreUniqueAndFindable) {
  std::set<std::string_view> ids;
  for (size_t i = 0; i < static_cast<size_t>(DiagnosticId::kCount); ++i) {
    const auto id = static_cast<DiagnosticId>(i);
    EXPECT_TRUE(ids.insert(InfoOf(id).id).second) << InfoOf(id).id;
    EXPECT_EQ(DiagnosticFromText(InfoOf(id).id), id);
    EXPECT_FALSE(InfoOf(id).help.empty());
  }
  EXPECT_EQ(DiagnosticFromText("no-such-thing"), std::nullopt);
}

TEST(Diagnostics, KeepsTheLowestPlaceWhateverTheOrder) {
  Diagnostics diagnostics;
  diagnostics.Add(DiagnosticId::kRecordBad, {900, 4}, "later");
  diagnostics.Add(DiagnosticId::kRecordBad, {100, 4}, "first");
  diagnostics.Add(DiagnosticId::kRecordBad, {500, 4}, "middle");
  const auto entries = diagnostics.entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].count, 3u);
  EXPECT_EQ(entries[0].first_offset, 100u);
  EXPECT_EQ(entries[0].text, "first");
}

TEST(Diagnostics, BoundsItsMemoryAndStaysDeterministic) {
  std::vector<uint64_t> offsets(Diagnostics::kMaxRanges * 3);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * 8;
  std::vector<DamagedRange> reference;
  for (int round = 0; round < 3; ++round) {
    std::shuffle(offsets.begin(), offsets.end(), std::mt19937(static_cast<unsigned>(round)));
    Diagnostics diagnostics;
    for (const uint64_t offset : offsets) diagnostics.Add(DiagnosticId::kRecordBad, {offset, 1}, "x");
    EXPECT_EQ(diagnostics.count(DiagnosticId::kRecordBad), offsets.size());
    const auto ranges = diagnostics.ranges();
    ASSERT_EQ(ranges.size(), Diagnostics::kMaxRanges);
    for (size_t i = 0; i < ranges.size(); ++i) ASSERT_EQ(ranges[i].place.offset, i * 8);
  }
}

TEST(Diagnostics, InformationIsNoDamage) {
  Diagnostics diagnostics;
  diagnostics.Add(DiagnosticId::kTimeStepBack, {8, 0}, "back");
  diagnostics.AddCount(DiagnosticId::kEventsLost, 5);
  EXPECT_TRUE(diagnostics.ranges().empty());
  EXPECT_EQ(diagnostics.entries().size(), 2u);
  EXPECT_EQ(diagnostics.count(DiagnosticId::kEventsLost), 5u);
}

}  // namespace
}  // namespace etwpipe

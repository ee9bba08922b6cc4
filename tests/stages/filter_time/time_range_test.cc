#include "stages/filter_time/time_range.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace etwpipe {
namespace {

__extension__ using Int128 = __int128;

Clock QpcClock() { return {ClockType::kQpc, 3'579'545, 1'000'003, 132'404'548'206'236'167}; }
Clock SystemClock() { return {ClockType::kSystemTime, 10'000'000, 132'404'548'206'236'167, 132'404'548'206'236'167}; }
Clock CyclesClock() { return {ClockType::kCycles, 3'592'000'000, 7'777'777, 132'404'548'206'236'167}; }

TickRange Resolved(const std::string& text, const Clock& clock) {
  const auto range = TimeRange::Parse(text);
  EXPECT_TRUE(range.ok()) << text << ": " << range.status().message();
  if (!range.ok()) return {};
  const auto ticks = range->Resolve(clock);
  EXPECT_TRUE(ticks.ok()) << text << ": " << ticks.status().message();
  return ticks.ok() ? *ticks : TickRange{};
}

// A tick is in [from, to) exactly if its elapsed time, as a fraction, is: compared by cross-multiplication.
TEST(TimeRange, BoundsAreExactToTheTickOnEveryClock) {
  std::mt19937_64 random(1);
  for (const Clock& clock : {QpcClock(), SystemClock(), CyclesClock()}) {
    const int64_t frequency = clock.type == ClockType::kSystemTime ? 10'000'000 : clock.frequency;
    const int64_t base = clock.type == ClockType::kSystemTime ? clock.start_time : clock.base_ticks;
    for (int round = 0; round < 500; ++round) {
      const auto from = static_cast<int64_t>(random() % 20'000'000'000);
      const auto to = from + static_cast<int64_t>(random() % 20'000'000'000);
      const TickRange range = Resolved(std::to_string(from) + "ns.." + std::to_string(to) + "ns", clock);
      for (const int64_t bound : {range.first, range.last}) {
        for (int64_t tick = bound - 2; tick <= bound + 2; ++tick) {
          const Int128 elapsed = static_cast<Int128>(tick - base) * 1'000'000'000;
          const bool inside =
              elapsed >= static_cast<Int128>(from) * frequency && elapsed < static_cast<Int128>(to) * frequency;
          ASSERT_EQ(range.Contains(tick), inside) << ToString(clock.type) << " " << from << ".." << to << " @" << tick;
        }
      }
    }
  }
}

TEST(TimeRange, FromIsInclusiveAndToExclusiveAtExactTicks) {
  const TickRange ticks = Resolved("ticks:100..ticks:200", QpcClock());
  EXPECT_FALSE(ticks.Contains(99));
  EXPECT_TRUE(ticks.Contains(100));
  EXPECT_TRUE(ticks.Contains(199));
  EXPECT_FALSE(ticks.Contains(200));
  // One second of a 3,579,545 Hz counter.
  const TickRange second = Resolved("1s..2s", QpcClock());
  EXPECT_EQ(second.first, 1'000'003 + 3'579'545);
  EXPECT_EQ(second.last, 1'000'003 + 2 * 3'579'545 - 1);
}

TEST(TimeRange, IsoTimesMeanTheTimesThatOutputsShow) {
  for (const Clock& clock : {QpcClock(), SystemClock(), CyclesClock()}) {
    for (const int64_t tick : {clock.base_ticks, clock.base_ticks + 12'345'678'901}) {
      const std::string shown = FormatFileTime(clock.ToFileTime(tick));
      EXPECT_TRUE(Resolved(shown + "..", clock).Contains(tick)) << shown;
      EXPECT_FALSE(Resolved(".." + shown, clock).Contains(tick)) << shown;
    }
  }
}

TEST(TimeRange, AnOpenEndHasNoBound) {
  EXPECT_TRUE(Resolved("..ticks:5", QpcClock()).Contains(std::numeric_limits<int64_t>::min()));
  EXPECT_TRUE(Resolved("ticks:5..", QpcClock()).Contains(std::numeric_limits<int64_t>::max()));
}

TEST(TimeRange, SpellingsOfOneRangeAgree) {
  const Clock clock = SystemClock();
  const TickRange expected = Resolved("10s..20s", clock);
  for (const char* text :
       {"10..20", "10000ms..20000ms", " 10s .. 20s ", "10.0s..20.0", "10..20s",
        "2020-07-29T00:07:10.6236167Z..2020-07-29T00:07:20.6236167Z", "2020-07-29T02:07:10.6236167+02:00..20s"}) {
    const TickRange range = Resolved(text, clock);
    EXPECT_EQ(range.first, expected.first) << text;
    EXPECT_EQ(range.last, expected.last) << text;
  }
}

TEST(TimeRange, NegativeBoundsLieBeforeTheStart) {
  const TickRange range = Resolved("-1s..0", QpcClock());
  EXPECT_EQ(range.first, 1'000'003 - 3'579'545);
  EXPECT_EQ(range.last, 1'000'002);
}

TEST(TimeRange, AnEmptyRangeHoldsNothing) {
  EXPECT_FALSE(Resolved("5s..5s", QpcClock()).Contains(QpcClock().FromNanoseconds(5'000'000'000)));
  const TickRange lowest = Resolved("..ticks:-9223372036854775808", QpcClock());
  EXPECT_FALSE(lowest.Contains(std::numeric_limits<int64_t>::min()));
  EXPECT_FALSE(lowest.Contains(0));
}

TEST(TimeRange, ARangeThatEndsBeforeItBeginsIsAnError) {
  const auto range = TimeRange::Parse("20s..10s");
  ASSERT_TRUE(range.ok());
  const auto ticks = range->Resolve(QpcClock());
  ASSERT_FALSE(ticks.ok());
  EXPECT_EQ(ticks.status().code(), StatusCode::kInvalidArgument);
}

TEST(TimeRange, OtherTextIsAnErrorThatNamesIt) {
  for (const char* text : {"", "10s", "..", "10s...20s", "10q..", "ticks:..", "ticks:1x..",
                           "ticks:99999999999999999999..", "2020-13-01..", "1s..2s..3s", "a..b", "--1s.."}) {
    const auto range = TimeRange::Parse(text);
    EXPECT_EQ(range.status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(TimeRange, ADateThatIsNoneIsToldWhatADateLooksLike) {
  for (const char* text : {"2020-13-01..", "..2020-02-30T00:00:00Z", "2020-7-29..", "29/07/2020..", "12:30:00..",
                           "2020-07-29T25:00..", "2020-07-29T00:07:00 CET.."}) {
    const auto range = TimeRange::Parse(text);
    ASSERT_EQ(range.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(range.status().message().find("write 2020-07-29"), std::string_view::npos) << range.status().message();
  }
  // What is no date is not taken for one.
  for (const char* text : {"-1q..", "10q..", "--1s.."}) {
    EXPECT_EQ(TimeRange::Parse(text).status().message().find("write 2020-07-29"), std::string_view::npos) << text;
  }
}

}  // namespace
}  // namespace etwpipe

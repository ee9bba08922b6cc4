#include "pipeline/clock.h"

#include <gtest/gtest.h>

#include <random>

namespace etwpipe {
namespace {

__extension__ using Int128 = __int128;

TEST(FileTime, FormatsKnownInstants) {
  EXPECT_EQ(FormatFileTime(0), "1601-01-01T00:00:00.0000000Z");
  EXPECT_EQ(FormatFileTime(116444736000000000), "1970-01-01T00:00:00.0000000Z");
  EXPECT_EQ(FormatFileTime(125911584000000000), "2000-01-01T00:00:00.0000000Z");
  EXPECT_EQ(FormatFileTime(132404548206236167), "2020-07-29T00:07:00.6236167Z");
  EXPECT_EQ(FormatFileTime(2650467743999999999), "9999-12-31T23:59:59.9999999Z");
}

TEST(FileTime, ClampsWhatNoCalendarHolds) {
  EXPECT_EQ(FormatFileTime(-1), "1601-01-01T00:00:00.0000000Z");
  EXPECT_EQ(FormatFileTime(INT64_MIN), "1601-01-01T00:00:00.0000000Z");
  EXPECT_EQ(FormatFileTime(INT64_MAX), "9999-12-31T23:59:59.9999999Z");
}

TEST(FileTime, ShowsLocalTimeWithItsOffset) {
  // UTC = local + bias, so a bias of -60 is one hour east.
  EXPECT_EQ(FormatFileTime(116444736000000000, -60), "1970-01-01T01:00:00.0000000+01:00");
  EXPECT_EQ(FormatFileTime(116444736000000000, 420), "1969-12-31T17:00:00.0000000-07:00");
  EXPECT_EQ(FormatFileTime(116444736000000000, -330), "1970-01-01T05:30:00.0000000+05:30");
}

TEST(FileTime, ReadsBackEveryDayOfFourCenturies) {
  constexpr int64_t kDay = 864'000'000'000;
  for (int64_t day = 0; day < 146'097; ++day) {
    const int64_t time = day * kDay + day * 7 % kDay;
    ASSERT_EQ(ParseFileTime(FormatFileTime(time)), time);
  }
}

TEST(FileTime, ReadsShortAndZonedForms) {
  EXPECT_EQ(ParseFileTime("2020-07-29"), ParseFileTime("2020-07-29T00:00:00Z"));
  EXPECT_EQ(ParseFileTime("2020-07-29 00:07"), ParseFileTime("2020-07-29T00:07:00.0Z"));
  EXPECT_EQ(ParseFileTime("2020-07-29T02:07:00+02:00"), ParseFileTime("2020-07-29T00:07:00Z"));
  EXPECT_EQ(ParseFileTime("2020-07-28T17:07:00-07:00"), ParseFileTime("2020-07-29T00:07:00Z"));
  EXPECT_EQ(ParseFileTime("1970-01-01T00:00:00.123456789Z"), 116444736001234567);
}

TEST(FileTime, RefusesWhatIsNoTime) {
  for (const char* text : {"", "2020", "2020-13-01", "2020-02-30", "2019-02-29", "2020-01-01T24:00", "2020-01-01T00:60",
                           "2020-01-01T00:00:00.", "2020-01-01T00:00:00X", "1500-01-01", "2020-01-01T00:00+25:00"}) {
    EXPECT_EQ(ParseFileTime(text), std::nullopt) << text;
  }
  EXPECT_TRUE(ParseFileTime("2020-02-29").has_value());
}

TEST(Clock, ConvertsQpcExactly) {
  const Clock clock{ClockType::kQpc, 3, 1000, 5'000};
  EXPECT_EQ(clock.ToFileTime(1000), 5'000);
  EXPECT_EQ(clock.ToFileTime(1001), 5'000 + 3'333'333);
  EXPECT_EQ(clock.ToFileTime(1003), 5'000 + 10'000'000);
  EXPECT_EQ(clock.ToFileTime(999), 5'000 - 3'333'334) << "rounded down, not towards zero";
}

TEST(Clock, KeepsSystemTimeAsItIs) {
  const Clock clock{ClockType::kSystemTime, 10'000'000, 77, 99};
  EXPECT_EQ(clock.ToFileTime(132404584206236167), 132404584206236167);
  EXPECT_EQ(clock.ToNanoseconds(100), 100);
}

TEST(Clock, DoesNotOverflowAfterYearsOfUptime) {
  // Ten years at 10 GHz: far beyond 64 bits once multiplied.
  const int64_t ticks = int64_t{10} * 365 * 86'400 * 300'000'000;
  const Clock fast{ClockType::kCycles, 10'000'000'000, 0, 0};
  EXPECT_EQ(fast.ToFileTime(ticks), ticks / 1000);
  const Clock odd{ClockType::kQpc, 3'579'545, 0, 116444736000000000};
  for (const int64_t t : {int64_t{1}, int64_t{3'579'544}, int64_t{3'579'545}, int64_t{1} << 52, INT64_MAX / 4}) {
    const auto exact = static_cast<Int128>(t) * 10'000'000 / 3'579'545 + 116444736000000000;
    if (exact <= INT64_MAX) {
      EXPECT_EQ(odd.ToFileTime(t), static_cast<int64_t>(exact));
    } else {
      EXPECT_EQ(odd.ToFileTime(t), INT64_MAX);
    }
  }
}

TEST(Clock, FindsTheFirstTickAtOrAfterATime) {
  std::mt19937_64 random(1);
  for (const int64_t frequency : {int64_t{1}, int64_t{3'579'545}, int64_t{10'000'000}, int64_t{24'000'000},
                                  int64_t{1'000'000'000}, int64_t{10'000'000'000}}) {
    const Clock clock{ClockType::kQpc, frequency, 1'000'000, 132404584206236167};
    for (int i = 0; i < 1000; ++i) {
      const auto span = static_cast<int64_t>(random() % 1'000'000'000'000) - 500'000'000'000;
      const int64_t tick = clock.FromNanoseconds(span);
      EXPECT_GE(clock.ToNanoseconds(tick), span);
      EXPECT_LT(clock.ToNanoseconds(tick - 1), span);
      const int64_t time = clock.start_time + span / 100;
      const int64_t at = clock.FromFileTime(time);
      EXPECT_GE(clock.ToFileTime(at), time);
      EXPECT_LT(clock.ToFileTime(at - 1), time);
    }
  }
}

}  // namespace
}  // namespace etwpipe

// Values of sessions: ticks as nanoseconds, kinds of events, views.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "pipeline/session/build_events.h"
#include "pipeline/session/control.h"

namespace etwpipe::session {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Ticks, SplitDivisionIsExactAndDoesNotOverflow) {
  EXPECT_EQ(TicksToNanoseconds(0, 10'000'000), 0);
  EXPECT_EQ(TicksToNanoseconds(1, 10'000'000), 100);
  EXPECT_EQ(TicksToNanoseconds(1, 3), 333'333'333);
  EXPECT_EQ(TicksToNanoseconds(2, 3), 666'666'666);
  EXPECT_EQ(TicksToNanoseconds(3, 3), 1'000'000'000);
  EXPECT_EQ(TicksToNanoseconds(-1, 3), -333'333'333);
  // ticks * 1e9 alone would exceed 64 bits: 10 days at 3 GHz.
  EXPECT_EQ(TicksToNanoseconds(2'592'000'000'000'001, 3'000'000'000), 864'000'000'000'000);
  // The remainder times 1e9 exceeds 64 bits too.
  EXPECT_EQ(TicksToNanoseconds(kMax - 1, kMax), 999'999'999);
  EXPECT_EQ(TicksToNanoseconds(10'000'000'000, 10'000'000'001), 999'999'999);
  EXPECT_EQ(TicksToNanoseconds(kMax, 1), kMax);
  EXPECT_EQ(TicksToNanoseconds(std::numeric_limits<int64_t>::min(), 1), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(TicksToNanoseconds(5, 0), 0);
  EXPECT_EQ(TicksToNanoseconds(5, -1), 0);
}

TEST(Ticks, EveryRemainderOfSmallFrequencies) {
  for (int64_t frequency = 1; frequency <= 64; ++frequency) {
    for (int64_t ticks = 0; ticks <= 200; ++ticks) {
      ASSERT_EQ(TicksToNanoseconds(ticks, frequency), ticks * 1'000'000'000 / frequency) << ticks << "/" << frequency;
    }
  }
}

TEST(EventKinds, NumbersAreDenseAndNamesEndWithNul) {
  for (uint16_t id = 1; id <= 31; ++id) {
    const EventKindInfo* kind = FindEventKind(id);
    ASSERT_NE(kind, nullptr);
    EXPECT_EQ(static_cast<uint16_t>(kind->id), id);
    EXPECT_EQ(kind->name.data()[kind->name.size()], '\0');
    EXPECT_EQ(std::u16string(kind->wide_name), std::u16string(kind->name.begin(), kind->name.end()));
  }
  EXPECT_EQ(FindEventKind(0), nullptr);
  EXPECT_EQ(FindEventKind(32), nullptr);
  EXPECT_EQ(FindEventKind(kOtherEvent), nullptr);
}

TEST(EventKinds, SimpleOnesAreThoseOfTheTable) {
  // semantics.md 4.1, column Kind.
  constexpr uint16_t kSimple[] = {6, 8, 9, 10, 11, 12, 16, 17, 20, 27};
  for (uint16_t id = 1; id <= 31; ++id) {
    const bool simple = std::find(std::begin(kSimple), std::end(kSimple), id) != std::end(kSimple);
    EXPECT_EQ(FindEventKind(id)->activity, !simple) << id;
  }
}

TEST(Views, DurationOfActivities) {
  EventData data;
  data.flags = kIsActivity;
  data.tick_frequency = 10;
  data.start_timestamp = 30;
  EXPECT_EQ(Activity(data).duration_ticks(), 0) << "no stop";
  data.stop_timestamp = 45;
  EXPECT_EQ(Activity(data).duration_ticks(), 15);
  EXPECT_EQ(Activity(data).Duration(), std::chrono::milliseconds(1500));
  data.stop_timestamp = 29;
  EXPECT_EQ(Activity(data).duration_ticks(), 0) << "stops before it starts";
  data.stop_timestamp = kMax;
  data.start_timestamp = -5;
  EXPECT_EQ(Activity(data).duration_ticks(), kMax);
  data.exclusive_wall_clock_time_responsibility_ticks = 7;
  EXPECT_EQ(RawEvent(data).ExclusiveWallClockTimeResponsibility(), std::chrono::milliseconds(700));
  EXPECT_TRUE(RawEvent(data).is_activity());
  EXPECT_FALSE(SimpleEvent::Matches(data));
}

TEST(Results, NumbersAreThoseOfTheSdk) {
  EXPECT_EQ(static_cast<int>(ResultCode::kSuccess), 0);
  EXPECT_EQ(static_cast<int>(ResultCode::kMissingAnalysisCallback), 5);
  EXPECT_EQ(static_cast<int>(ResultCode::kMissingRelogCallback), 6);
  EXPECT_EQ(static_cast<int>(ResultCode::kDroppedEvents), 10);
  EXPECT_EQ(static_cast<int>(ResultCode::kMergeTraces), 23);
  EXPECT_EQ(static_cast<int>(ResultCode::kUnknown), 24);
  EXPECT_EQ(static_cast<int>(Control::kContinue), 1);
  EXPECT_EQ(static_cast<int>(Control::kFailure), 2);
  EXPECT_EQ(static_cast<int>(Control::kCancel), 4);
}

}  // namespace
}  // namespace etwpipe::session

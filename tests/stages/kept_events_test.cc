#include "stages/kept_events.h"

#include <gtest/gtest.h>

namespace etwpipe {
namespace {

TEST(KeptEvents, FindsTimeAndThreadTogether) {
  KeptEvents kept;
  EXPECT_FALSE(kept.Contains(0, 0));
  kept.Add(5, 1);
  kept.Add(-5, 2);
  EXPECT_TRUE(kept.Contains(5, 1));
  EXPECT_TRUE(kept.Contains(-5, 2));
  EXPECT_FALSE(kept.Contains(5, 2));
  EXPECT_FALSE(kept.Contains(6, 1));
  EXPECT_FALSE(kept.Contains(0, 0));
}

TEST(KeptEvents, RemembersAtLeastThePromisedNumberAndForgetsTheRest) {
  KeptEvents kept;
  constexpr auto kMany = static_cast<int64_t>(KeptEvents::kRemembered) * 5 / 2;
  for (int64_t i = 0; i < kMany; ++i) {
    kept.Add(i, 7);
    kept.Add(i, 7);  // the same again takes no room
  }
  for (int64_t i = kMany - static_cast<int64_t>(KeptEvents::kRemembered); i < kMany; ++i)
    ASSERT_TRUE(kept.Contains(i, 7)) << i;
  EXPECT_FALSE(kept.Contains(0, 7));
}

}  // namespace
}  // namespace etwpipe

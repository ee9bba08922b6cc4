#include "stages/duration.h"

#include <gtest/gtest.h>

namespace etwpipe {
namespace {

std::optional<int64_t> Duration(std::string_view text) {
  std::string reason;
  const auto value = ParseDuration(text, &reason);
  EXPECT_EQ(value.has_value(), reason.empty()) << text;
  return value;
}

TEST(Duration, UnitsAreExact) {
  EXPECT_EQ(Duration("10s"), 10'000'000'000);
  EXPECT_EQ(Duration("5ms"), 5'000'000);
  EXPECT_EQ(Duration("3us"), 3'000);
  EXPECT_EQ(Duration("10ns"), 10);
  EXPECT_EQ(Duration("0s"), 0);
}

TEST(Duration, FractionsAreExactDownToANanosecond) {
  EXPECT_EQ(Duration("1.5s"), 1'500'000'000);
  EXPECT_EQ(Duration("0.000000001s"), 1);
  EXPECT_EQ(Duration("0.1ms"), 100'000);
  EXPECT_EQ(Duration("1.50000000000s"), 1'500'000'000);
  EXPECT_EQ(Duration("0.0000000001s"), std::nullopt);
  EXPECT_EQ(Duration("1.5ns"), std::nullopt);
}

TEST(Duration, SixtyFourBitsAreTheLimit) {
  EXPECT_EQ(Duration("9223372036854775807ns"), 9223372036854775807);
  EXPECT_EQ(Duration("9223372036854775808ns"), std::nullopt);
  EXPECT_EQ(Duration("9223372036.854775807s"), 9223372036854775807);
  EXPECT_EQ(Duration("9223372036.854775808s"), std::nullopt);
  EXPECT_EQ(Duration("99999999999999999999s"), std::nullopt);
}

TEST(Duration, OtherTextIsAnErrorWithAReason) {
  for (const char* text : {"", "s", "10", "10 s", "10m", ".5s", "1.s", "1..5s", "-1s", "10S", "1e3s"}) {
    EXPECT_EQ(Duration(text), std::nullopt) << text;
  }
}

TEST(Duration, SecondsHaveNoUnit) {
  std::string reason;
  EXPECT_EQ(ParseSeconds("10", &reason), 10'000'000'000);
  EXPECT_EQ(ParseSeconds("0.25", &reason), 250'000'000);
  EXPECT_EQ(ParseSeconds("10s", &reason), std::nullopt);
  EXPECT_EQ(ParseSeconds("", &reason), std::nullopt);
  EXPECT_EQ(ParseSeconds("1.", &reason), std::nullopt);
}

}  // namespace
}  // namespace etwpipe

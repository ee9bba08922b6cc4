#include "pipeline/guid.h"

#include <gtest/gtest.h>

namespace etwpipe {
namespace {

TEST(Guid, ReadsAndWritesText) {
  const auto guid = ParseGuid("{68FDD900-4a3e-11d1-84f4-0000f80464e3}");
  ASSERT_TRUE(guid.has_value());
  EXPECT_EQ(ToString(*guid), "68fdd900-4a3e-11d1-84f4-0000f80464e3");
  EXPECT_EQ(std::to_integer<int>(guid->bytes[0]), 0x00);
  EXPECT_EQ(std::to_integer<int>(guid->bytes[3]), 0x68);
  EXPECT_EQ(std::to_integer<int>(guid->bytes[8]), 0x84);
}

TEST(Guid, RefusesWhatIsNone) {
  for (const char* text :
       {"", "68fdd900", "68fdd900-4a3e-11d1-84f4-0000f80464e", "68fdd900x4a3e-11d1-84f4-0000f80464e3",
        "g8fdd900-4a3e-11d1-84f4-0000f80464e3", "{68fdd900-4a3e-11d1-84f4-0000f80464e3"}) {
    EXPECT_FALSE(ParseGuid(text).has_value()) << text;
  }
}

TEST(Guid, NamesGiveTheProvidersOfTheDesign) {
  EXPECT_EQ(ToString(ProviderGuidFromName("etwpipe")), "56e4a0cd-0f35-5584-7110-f7ea1385f7bd");
  EXPECT_EQ(ToString(ProviderGuidFromName("etwpipe.ingest")), "db0dcde2-b09f-5816-161d-383eaa5152ec");
  EXPECT_EQ(ToString(ProviderGuidFromName("etwpipe.profiler")), "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc");
}

}  // namespace
}  // namespace etwpipe

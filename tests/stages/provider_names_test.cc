#include "formats/schema/provider_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

TEST(ProviderNames, EveryGuidIsListedOnce) {
  std::set<Guid> seen;
  for (const auto& provider : KnownProviders()) EXPECT_TRUE(seen.insert(provider.guid).second) << provider.name;
}

TEST(ProviderNames, GuidsOfEventSourcesAreTheHashOfTheirNames) {
  for (const char* name : {"etwpipe", "etwpipe.ingest", "etwpipe.profiler", "PerfView", "System.Runtime",
                           "System.Net.Http", "Microsoft-Diagnostics-DiagnosticSource", "Microsoft-Extensions-Logging",
                           "Microsoft.AspNetCore.Hosting", "Microsoft-Antimalware-Scan-Interface"}) {
    const ProviderName* known = FindProvider(ProviderGuidFromName(name));
    ASSERT_NE(known, nullptr) << name;
    EXPECT_EQ(known->name, name);
  }
}

TEST(ProviderNames, ANameIsFoundInAnyCase) {
  EXPECT_EQ(ProvidersNamed("microsoft-windows-dotnetruntime"),
            std::vector<Guid>{GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4")});
  EXPECT_TRUE(ProvidersNamed("").empty());
  EXPECT_TRUE(ProvidersNamed("Microsoft-Windows-DotNET").empty());
}

TEST(ProviderNames, WindowsKernelIsEveryGroupAndAClassIsOne) {
  EXPECT_EQ(ProvidersNamed("Windows Kernel").size(), 32u);
  EXPECT_EQ(ProvidersNamed("diskio"), std::vector<Guid>{GuidOf("3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c")});
}

TEST(ProviderNames, AnUnknownNameHasNearOnes) {
  EXPECT_THAT(NearProviderNames("Microsoft-Windows-DotNETRuntim"),
              testing::Contains("Microsoft-Windows-DotNETRuntime"));
}

// The manifests are Microsoft's own files.
TEST(ProviderNames, ClrNamesAreThoseOfTheManifest) {
  const auto path = test::TestDataDir() / "manifests" / "ClrEtwAll.man";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  std::ifstream file(path);
  std::stringstream buffer;
  buffer << file.rdbuf();
  const std::string text = buffer.str();
  const std::regex pattern("<provider name=\"([^\"]+)\"\\s+guid=\"([^\"]+)\"");
  int found = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    const auto guid = ParseGuid((*match)[2].str());
    ASSERT_TRUE(guid.has_value());
    const ProviderName* known = FindProvider(*guid);
    ASSERT_NE(known, nullptr) << (*match)[1];
    EXPECT_EQ(known->name, (*match)[1].str());
    ++found;
  }
  EXPECT_EQ(found, 4);
}

}  // namespace
}  // namespace etwpipe::schema

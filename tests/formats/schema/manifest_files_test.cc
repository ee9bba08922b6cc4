// Manifests in files and folders: what is read, in which order, and what is said of what cannot be.
#include "formats/schema/manifest_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace etwpipe::schema {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ManifestFilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  static std::string Manifest(const std::string& symbol) {
    return fmt::format(
        R"(<instrumentationManifest><instrumentation><events><provider name="P"
        guid="{{11111111-2222-3333-4444-555555555555}}"><events><event value="1" symbol="{}"/></events></provider>
        </events></instrumentation></instrumentationManifest>)",
        symbol);
  }
  static constexpr const char* kText = "provider T 21111111-2222-3333-4444-555555555555\nevent Text id 5\n  A u32\n";

  static std::vector<std::string> Names(const ManifestFiles& files) {
    std::vector<std::string> names;
    for (const auto& schema : files.schemas) {
      EXPECT_EQ(schema->origin, SchemaOrigin::kManifestFile);
      names.push_back(schema->name);
    }
    return names;
  }

  ManifestFiles Load(const std::vector<std::string>& paths, const char* environment = nullptr) {
    auto files = LoadManifestFiles(paths, environment);
    EXPECT_TRUE(files.ok()) << files.status().message();
    return files.ok() ? std::move(*files) : ManifestFiles();
  }

  test::TempFolder folder_;
};

TEST_F(ManifestFilesTest, NamedFilesInTheirOrderThenTheEnvironment) {
  const std::string b = Write("b.man", Manifest("B"));
  const std::string a = Write("a.txt", Manifest("A"));
  const std::string text = Write("c.schema", kText);
  Write("env1/e.man", Manifest("E1"));
  Write("env2/e.man", Manifest("E2"));
  const std::string environment = (folder_ / "env1").string() + "::" + (folder_ / "env2").string() + ":";
  const ManifestFiles files = Load({b, a, text}, environment.c_str());
  EXPECT_THAT(Names(files), ElementsAre("B", "A", "Text", "E1", "E2"));
  EXPECT_THAT(files.problems, IsEmpty());
}

TEST_F(ManifestFilesTest, NothingGivesNothing) {
  EXPECT_THAT(Load({}).schemas, IsEmpty());
  EXPECT_THAT(Load({}, "").schemas, IsEmpty());
  EXPECT_THAT(Load({folder_.path().string()}).schemas, IsEmpty());
}

TEST_F(ManifestFilesTest, AFolderIsReadInTheOrderOfNamesAndSkipsWhatIsNoManifest) {
  Write("d/z.man", Manifest("Z"));
  Write("d/a.XML", Manifest("A"));
  Write("d/m.schema", kText);
  Write("d/pom.xml", "<project/>");
  Write("d/bad.schema", "event before provider\n");
  Write("d/readme.txt", "not asked for");
  Write("d/sub/deeper.man", Manifest("Deeper"));
  std::filesystem::create_directory(folder_ / "d/folder.man");
  ASSERT_EQ(::mkfifo((folder_ / "d/pipe.xml").c_str(), 0600), 0);
  const ManifestFiles files = Load({(folder_ / "d").string()});
  EXPECT_THAT(Names(files), ElementsAre("A", "Text", "Z"));
  EXPECT_THAT(files.problems, ElementsAre(AllOf(StartsWith("skipped "), HasSubstr("bad.schema")),
                                          AllOf(StartsWith("skipped "), HasSubstr("pom.xml: no instrumentation"))));
}

TEST_F(ManifestFilesTest, ProblemsOfAManifestNameItsFile) {
  const std::string path = Write("a.man", R"(<instrumentationManifest><instrumentation><events><provider name="P"
      guid="none"/></events></instrumentation></instrumentationManifest>)");
  EXPECT_THAT(Load({path}).problems, ElementsAre(AllOf(StartsWith(path), HasSubstr("guid"))));
}

TEST_F(ManifestFilesTest, ANamedFileMustBeThereAndBeAManifest) {
  const std::string cases[] = {
      (folder_ / "missing.man").string(),
      Write("pom.xml", "<project/>"),
      Write("empty.man", ""),
      Write("bad.schema", "event before provider\n"),
  };
  for (const std::string& path : cases) {
    const auto files = LoadManifestFiles({path}, nullptr);
    ASSERT_FALSE(files.ok()) << path;
    EXPECT_EQ(files.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(files.status().message()), StartsWith(path));
  }
  EXPECT_THAT(std::string(LoadManifestFiles({cases[0]}, nullptr).status().message()),
              HasSubstr("No such file or directory"));
}

TEST_F(ManifestFilesTest, AFileOverTheLimitIsAnError) {
  const std::string path = Write("big.man", "");
  std::filesystem::resize_file(path, (size_t{64} << 20) + 1);
  const auto files = LoadManifestFiles({path}, nullptr);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("larger than the 64 MiB"));
}

TEST_F(ManifestFilesTest, AFolderOfTheEnvironmentMayBeMissing) {
  const std::string missing = (folder_ / "gone").string();
  const ManifestFiles files = Load({}, missing.c_str());
  EXPECT_THAT(files.problems,
              ElementsAre(AllOf(StartsWith("ETWPIPE_MANIFEST_PATH: "), HasSubstr(missing), HasSubstr("No such file"))));
}

}  // namespace
}  // namespace etwpipe::schema

// Files: outputs appear whole or not at all.
#include "pipeline/platform.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_folder.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Platform : public testing::Test {
 protected:
  size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  test::TempFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

TEST_F(Platform, AnOutputAppearsOnCommitOnly) {
  const auto path = folder_ / "out";
  auto out = OutputFile::Create(path.string(), false, OutputFile::Stdout::kStream);
  ASSERT_TRUE(out.ok());
  ASSERT_TRUE((*out)->Append(Bytes("hello world")).ok());
  ASSERT_TRUE((*out)->WriteAt(6, Bytes("there")).ok());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE((*out)->Commit().ok());
  EXPECT_EQ(ReadText(path), "hello there");
  out->reset();
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(Platform, AnAbandonedOutputLeavesNothing) {
  {
    auto out = OutputFile::Create((folder_ / "out").string(), false, OutputFile::Stdout::kStream);
    ASSERT_TRUE(out.ok());
    ASSERT_TRUE((*out)->Append(Bytes("half")).ok());
  }
  EXPECT_EQ(FilesInFolder(), 0u);
}

TEST_F(Platform, AnExistingFileIsOverwrittenOnlyByForce) {
  const auto path = folder_ / "out";
  std::ofstream(path) << "precious";
  const auto refused = OutputFile::Create(path.string(), false, OutputFile::Stdout::kStream);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kOutput);
  EXPECT_NE(refused.status().message().find("--force"), std::string_view::npos);
  auto out = OutputFile::Create(path.string(), true, OutputFile::Stdout::kStream);
  ASSERT_TRUE(out.ok());
  ASSERT_TRUE((*out)->Append(Bytes("new")).ok());
  EXPECT_EQ(ReadText(path), "precious");
  ASSERT_TRUE((*out)->Commit().ok());
  EXPECT_EQ(ReadText(path), "new");
}

TEST_F(Platform, AFileThatAppearsMeanwhileIsNotOverwritten) {
  const auto path = folder_ / "out";
  auto out = OutputFile::Create(path.string(), false, OutputFile::Stdout::kStream);
  ASSERT_TRUE(out.ok());
  std::ofstream(path) << "precious";
  EXPECT_FALSE((*out)->Commit().ok());
  EXPECT_EQ(ReadText(path), "precious");
}

TEST_F(Platform, PartsAreAppendedInOrder) {
  const auto path = folder_ / "out";
  auto out = OutputFile::Create(path.string(), false, OutputFile::Stdout::kStream);
  ASSERT_TRUE(out.ok());
  const std::vector<std::span<const std::byte>> parts = {Bytes("a"), Bytes(""), Bytes("bc"), Bytes("def")};
  ASSERT_TRUE((*out)->AppendParts(parts).ok());
  EXPECT_EQ((*out)->size(), 6u);
  ASSERT_TRUE((*out)->Commit().ok());
  EXPECT_EQ(ReadText(path), "abcdef");
}

TEST_F(Platform, InputErrorsNameThePathAndTheReason) {
  const auto missing = InputFile::Open((folder_ / "none.etl").string());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kInput);
  EXPECT_NE(missing.status().message().find("none.etl"), std::string_view::npos);
  const auto directory = InputFile::Open(folder_.string());
  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.status().message().find("directory"), std::string_view::npos);
}

TEST_F(Platform, ReadsShortOnlyAtTheEnd) {
  const auto path = folder_ / "in";
  std::ofstream(path) << "0123456789";
  auto file = InputFile::Open(path.string());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size(), 10u);
  std::byte bytes[8];
  EXPECT_EQ(*(*file)->ReadAt(0, bytes), 8u);
  EXPECT_EQ(*(*file)->ReadAt(5, bytes), 5u);
  EXPECT_EQ(*(*file)->ReadAt(10, bytes), 0u);
  EXPECT_TRUE((*file)->IsSameFile(path.string()));
  EXPECT_FALSE((*file)->IsSameFile((folder_ / "other").string()));
}

TEST_F(Platform, AFolderIsReplacedAsAWhole) {
  const auto path = folder_ / "tables";
  fs::create_directories(path);
  std::ofstream(path / "old.csv") << "old";
  EXPECT_FALSE(OutputFolder::Create(path.string(), false, ".csv").ok());
  EXPECT_FALSE(OutputFolder::Create(path.string(), true, ".txt").ok()) << "it holds something else";
  EXPECT_TRUE(fs::exists(path / "old.csv"));
  auto folder = OutputFolder::Create(path.string(), true, ".csv");
  ASSERT_TRUE(folder.ok());
  const auto append = [&](std::string_view text) {
    return (*folder)->Append("new.csv", std::as_bytes(std::span(text.data(), text.size()))).ok();
  };
  ASSERT_TRUE(append("n") && append("ew"));
  ASSERT_TRUE((*folder)->Commit().ok());
  EXPECT_FALSE(fs::exists(path / "old.csv"));
  EXPECT_EQ(ReadText(path / "new.csv"), "new");
  EXPECT_EQ(FilesInFolder(), 1u);
}

}  // namespace
}  // namespace etwpipe

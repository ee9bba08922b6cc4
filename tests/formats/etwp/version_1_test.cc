// Archives that the version before wrote. version_1.etwp is one of a synthetic trace, with extended items.
#include <gtest/gtest.h>

#include "formats/etwp/frame.h"
#include "formats/etwp/restore.h"
#include "formats/etwp/verify.h"
#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::test {
namespace {

constexpr uint64_t kEvents = 581;

std::string FixturePath() { return std::string(ETWPIPE_SOURCE_DIR) + "/tests/formats/etwp/version_1.etwp"; }

TEST(Version1, TheOriginalComesBack) {
  const auto file = InputFile::Open(FixturePath());
  ASSERT_TRUE(file.ok());
  etwp::FrameWalker walker(**file);
  etwp::ReadFrame first;
  ASSERT_TRUE(*walker.Next(first, nullptr));
  ASSERT_EQ(first.body.format_version(), 1u);
  const auto archive = etwp::Archive::Open(*file, nullptr);
  ASSERT_TRUE(archive.ok());
  const TemporaryFolder folder;
  auto out = OutputFile::Create(folder.File("back.etl"), false, OutputFile::Stdout::kSpool);
  ASSERT_TRUE(out.ok());
  // Compares the SHA-256 that the archive has of the original.
  const auto result = etwp::RestoreEtl(*archive, **out, {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->identical);
  EXPECT_EQ(result->events, kEvents);
}

}  // namespace
}  // namespace etwpipe::test

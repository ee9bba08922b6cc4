// The hash of a file that is written in pieces is that of the file, in whatever order they come.
#include "formats/etwp/written_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace etwpipe::etwp {
namespace {

class WrittenHashTest : public testing::Test {
 protected:
  void SetUp() override {
    auto out = OutputFile::Create("-", false, OutputFile::Stdout::kSpool, "");
    ASSERT_TRUE(out.ok());
    out_ = std::move(*out);
    std::mt19937_64 random(5);
    bytes_.resize(1'000'000);
    for (auto& byte : bytes_) byte = static_cast<std::byte>(random());
    Sha256 plain;
    plain.Update(bytes_);
    expected_ = plain.Finish();
    ASSERT_TRUE(out_->Append(bytes_).ok());
  }

  std::unique_ptr<OutputFile> out_;
  std::vector<std::byte> bytes_;
  std::string expected_;
};

TEST_F(WrittenHashTest, AnyOrderGivesTheHashOfTheFile) {
  std::mt19937_64 random(6);
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<std::pair<size_t, size_t>> pieces;
    for (size_t at = 0; at < bytes_.size();) {
      const size_t size = std::min<size_t>(1 + random() % 100'000, bytes_.size() - at);
      pieces.emplace_back(at, size);
      at += size;
    }
    if (turn > 0) std::shuffle(pieces.begin(), pieces.end(), random);
    // Of the last turns some pieces are never told of.
    if (turn >= 15) pieces.resize(pieces.size() / 2);
    WrittenHash hash(*out_);
    for (const auto& [at, size] : pieces) ASSERT_TRUE(hash.Add(at, std::span(bytes_).subspan(at, size)).ok());
    const auto written = hash.Finish();
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, expected_) << turn;
  }
}

TEST_F(WrittenHashTest, WhatIsHashedIsNotWrittenAgain) {
  WrittenHash hash(*out_);
  const auto bytes = std::span<const std::byte>(bytes_);
  ASSERT_TRUE(hash.Add(0, bytes.first(1'000)).ok());
  EXPECT_EQ(hash.Add(999, bytes.subspan(999, 2)).code(), StatusCode::kInput);
  EXPECT_TRUE(hash.Add(1'000, bytes.subspan(1'000, 1)).ok());
}

}  // namespace
}  // namespace etwpipe::etwp

// A proof is worth what it refuses: one byte changed anywhere in the original must show.
#include "formats/verify_against.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/etl/etl_source.h"
#include "pipeline/executor.h"
#include "tests/formats/etwp/synthetic_trace.h"
#include "tests/support/test_data.h"

namespace etwpipe::test {
namespace {

using Level = VerifyFinding::Level;

class VerifyAgainstTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto path = SamplePath(GetParam());
    if (const auto missing = MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
    original_ = ReadBytes(path.string());
    archive_ = Archive(path.string(), "a.etwp", false);
  }

  std::shared_ptr<InputFile> Archive(const std::string& path, const std::string& name, bool normalize) {
    const auto file = *InputFile::Open(path);
    const auto source = etl::EtlSource::Open(file, {});
    EXPECT_TRUE(source.ok());
    etwp::EtwpSinkOptions options;
    options.path = folder_.File(name);
    options.original = file;
    options.normalize = normalize;
    options.level = etwp::Level::kFast;
    etwp::EtwpSink sink(options);
    Diagnostics diagnostics;
    EXPECT_TRUE(Execute(**source, sink, 1, &diagnostics).ok());
    return *InputFile::Open(options.path);
  }

  // "ok", or the first error; a file that is no trace any more is one too.
  std::string Against(const std::shared_ptr<InputFile>& copy, std::span<const std::byte> original, int threads = 1) {
    const MemoryFile memory(original);
    const auto findings = VerifyAgainst(copy, *memory.Open(), threads, nullptr);
    if (!findings.ok()) {
      EXPECT_EQ(findings.status().code(), StatusCode::kInput);
      return std::string(findings.status().message());
    }
    EXPECT_EQ(findings->size(), 3u);
    for (const auto& finding : *findings) {
      if (finding.level == Level::kError) return finding.check + ": " + finding.text;
    }
    return "ok";
  }

  TemporaryFolder folder_;
  std::vector<std::byte> original_;
  std::shared_ptr<InputFile> archive_;
};

TEST_P(VerifyAgainstTest, TheOriginalIsAllThere) {
  for (const int threads : {1, 2}) EXPECT_EQ(Against(archive_, original_, threads), "ok");
}

TEST_P(VerifyAgainstTest, AnyOtherByteShows) {
  // What is compressed may be compressed otherwise.
  if (std::string(GetParam()) == "SelfDescribingSingleEvent.etl") GTEST_SKIP() << "compressed";
  const size_t step = 1 + original_.size() / 1'000;
  for (size_t at = 0; at < original_.size(); at += at < 600 ? 1 : step) {
    auto bytes = original_;
    bytes[at] ^= std::byte{0x10};
    ASSERT_NE(Against(archive_, bytes), "ok") << "byte " << at;
  }
}

TEST_P(VerifyAgainstTest, AShorterOrLongerOriginalShows) {
  auto bytes = original_;
  bytes.push_back(std::byte{0});
  EXPECT_NE(Against(archive_, bytes), "ok");
  for (size_t size = 0; size < original_.size(); size += 1 + original_.size() / 100) {
    ASSERT_NE(Against(archive_, std::span(original_).first(size)), "ok") << size;
  }
}

// Without a restore section the events must still be equal, one by one.
TEST_P(VerifyAgainstTest, EventsOfANormalizedArchiveAreComparedToo) {
  const auto normalized = Archive(SamplePath(GetParam()).string(), "n.etwp", true);
  EXPECT_EQ(Against(normalized, original_), "ok");
  const auto file = *InputFile::Open(SamplePath(GetParam()).string());
  const auto source = std::move(*etl::EtlSource::Open(file, {}));
  // Every byte of every record but those of sizes and types, which would make other records of it.
  size_t records = 0;
  auto pass = source->StartPass({Order::kTime, 1, nullptr});
  ASSERT_TRUE(pass.ok());
  EventBatch batch;
  while (*(*pass)->Next(batch)) {
    ASSERT_TRUE((*pass)->Fill(batch).ok());
    for (const auto& row : batch.rows) {
      if (source->context().info.compressed_buffers > 0 || row.record_size <= row.payload_begin) continue;
      if (++records > 50) continue;
      const uint64_t buffer = row.instance_id >> kInstanceIdBufferShift & kMaxBufferOrdinal;
      const uint64_t offset = (row.instance_id & ((1u << kInstanceIdBufferShift) - 1)) * 8;
      auto bytes = original_;
      const size_t at = source->index().entries[buffer].file_offset + offset + row.record_size - 1;
      bytes[at] ^= std::byte{1};
      const auto found = Against(normalized, bytes);
      // The first buffer is the recording's fingerprint.
      if (buffer == 0) {
        ASSERT_TRUE(found.starts_with("original-header: made from another recording")) << found;
        continue;
      }
      ASSERT_NE(found.find(fmt::format("id {} (buffer {}, offset {}): byte {} (payload)", row.instance_id, buffer,
                                       offset, row.record_size - 1)),
                std::string::npos)
          << found;
    }
    batch.Clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, VerifyAgainstTest,
                         testing::Values("waasmedic.etl", "primitive-types.etl", "gcevents.etl",
                                         "SelfDescribingSingleEvent.etl"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace etwpipe::test

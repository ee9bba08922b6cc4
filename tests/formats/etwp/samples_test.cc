// Real recordings through archives: the same rows, and the same file back.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/etl/etl_source.h"
#include "formats/etwp/restore.h"
#include "formats/etwp/verify.h"
#include "pipeline/executor.h"
#include "tests/formats/etwp/synthetic_trace.h"
#include "tests/support/collect.h"
#include "tests/support/test_data.h"

namespace etwpipe::test {
namespace {

constexpr const char* kSamples[] = {
    "DynamicEvents.etl",
    "KernelNetwork.etl",
    "SelfDescribingSingleEvent.etl",
    "ShutdownPerfDiagLogger.etl",
    "diaghub.etl",
    "diaghub.kernel.1.etl",
    "gcevents.etl",
    "lxcore_kernel.etl",
    "net.4.5.2.x64.etl",
    "powershell.etl",
    "primitive-types.etl",
    "waasmedic.etl",
};

class Samples : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = SamplePath(GetParam()).string();
    if (const auto missing = MissingData(path_); !missing.empty()) GTEST_SKIP() << missing;
    archive_path_ = folder_.File("a.etwp");
    auto file = InputFile::Open(path_);
    ASSERT_TRUE(file.ok());
    auto source = etl::EtlSource::Open(*file, {});
    ASSERT_TRUE(source.ok()) << source.status().message();
    etl_ = std::move(*source);
    etwp::EtwpSinkOptions options;
    options.path = archive_path_;
    options.original = *file;
    options.level = etwp::Level::kFast;
    etwp::EtwpSink sink(options);
    Diagnostics diagnostics;
    const auto summary = Execute(*etl_, sink, 2, &diagnostics);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_TRUE(sink.exact());
  }

  TemporaryFolder folder_;
  std::string path_;
  std::string archive_path_;
  std::unique_ptr<etl::EtlSource> etl_;
};

TEST_P(Samples, RowsAreThoseOfTheRecording) {
  CollectSink expected;
  ASSERT_TRUE(Execute(*etl_, expected, 1, nullptr).ok());
  const auto source = etwp::EtwpSource::Open(*InputFile::Open(archive_path_));
  ASSERT_TRUE(source.ok());
  CollectSink actual;
  Diagnostics diagnostics;
  ASSERT_TRUE(Execute(**source, actual, 2, &diagnostics).ok());
  ASSERT_EQ(actual.events.size(), expected.events.size());
  for (size_t i = 0; i < expected.events.size(); ++i) {
    const auto& a = expected.events[i];
    const auto& b = actual.events[i];
    ASSERT_TRUE(a.bytes == b.bytes) << i;
    ASSERT_EQ(a.provider, b.provider) << i;
    const EventHeader& x = a.header;
    const EventHeader& y = b.header;
    ASSERT_EQ(x.instance_id, y.instance_id) << i;
    ASSERT_EQ(x.timestamp, y.timestamp) << i;
    ASSERT_EQ(x.cpu, y.cpu) << i;
    ASSERT_EQ(x.kind, y.kind) << i;
    ASSERT_EQ(x.header_type, y.header_type) << i;
    ASSERT_EQ(x.flags & ~unsigned{kPadded}, y.flags & ~unsigned{kPadded}) << i;
    ASSERT_TRUE(x.pid == y.pid && x.tid == y.tid && x.id == y.id && x.version == y.version && x.opcode == y.opcode &&
                x.level == y.level && x.task == y.task && x.channel == y.channel && x.keyword == y.keyword &&
                x.extended_begin == y.extended_begin && x.payload_begin == y.payload_begin)
        << i;
  }
}

TEST_P(Samples, ArchiveVerifies) {
  const auto findings = etwp::VerifyArchive(*InputFile::Open(archive_path_), 1, nullptr);
  ASSERT_TRUE(findings.ok());
  for (const auto& finding : *findings) {
    EXPECT_EQ(finding.level, VerifyFinding::Level::kOk) << finding.check << ": " << finding.text;
  }
}

// What Windows reads of a file: headers and inflated records in order, buffer after buffer.
std::vector<std::shared_ptr<const SourceBuffer>> BuffersOf(const std::string& path) {
  auto source = etl::EtlSource::Open(*InputFile::Open(path), {});
  EXPECT_TRUE(source.ok());
  std::vector<std::shared_ptr<const SourceBuffer>> buffers;
  const auto pass = (*source)->StartPass({});
  EventBatch batch;
  while (*(*pass)->Next(batch)) {
    buffers.insert(buffers.end(), batch.opened.begin(), batch.opened.end());
    batch.Clear();
  }
  std::sort(buffers.begin(), buffers.end(), [](const auto& a, const auto& b) { return a->ordinal < b->ordinal; });
  return buffers;
}

TEST_P(Samples, OriginalComesBack) {
  const auto archive = etwp::Archive::Open(*InputFile::Open(archive_path_), nullptr);
  ASSERT_TRUE(archive.ok());
  const std::string back = folder_.File("back.etl");
  auto out = OutputFile::Create(back, false, OutputFile::Stdout::kSpool);
  ASSERT_TRUE(out.ok());
  const auto result = etwp::RestoreEtl(*archive, **out, {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_TRUE((*out)->Commit().ok());
  if (etl_->context().info.compressed_buffers == 0) {
    EXPECT_TRUE(result->identical);
    EXPECT_TRUE(ReadBytes(back) == ReadBytes(path_));
    return;
  }
  // Compressed anew: the same buffers, apart from their size on disk and, where compression does not pay, its flag.
  EXPECT_FALSE(result->identical);
  EXPECT_TRUE(result->checked);
  const auto expected = BuffersOf(path_);
  const auto actual = BuffersOf(back);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    auto was = expected[i]->image;
    auto is = actual[i]->image;
    ASSERT_EQ(is.size(), was.size()) << i;
    for (auto* image : {&was, &is}) {
      std::fill_n(image->begin(), 4, std::byte{0});
      (*image)[0x34] &= ~std::byte{0x40};
    }
    ASSERT_TRUE(was == is) << "buffer " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, Samples, testing::ValuesIn(kSamples), [](const auto& info) {
  std::string name(info.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace etwpipe::test

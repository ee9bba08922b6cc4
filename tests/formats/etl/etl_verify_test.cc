// What the structural check says of the time order of files. The input is the independent Python writer's
// (tests/oracle): its processors step back in time within buffers, between buffers and below the file header.
#include "formats/etl/etl_verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "formats/etl/etl_sink.h"
#include "formats/etl/etl_source.h"
#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"
#include "pipeline/executor.h"
#include "tests/support/temp_folder.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;
using Level = VerifyFinding::Level;

const fs::path kStepsBack = fs::path(ETWPIPE_BINARY_DIR) / "oracle_cases" / "time_back.etl";

std::unique_ptr<etl::EtlSource> Open(const fs::path& path) {
  auto file = InputFile::Open(path.string());
  EXPECT_TRUE(file.ok()) << file.status().message();
  auto source = etl::EtlSource::Open(*file, {});
  EXPECT_TRUE(source.ok()) << source.status().message();
  return std::move(*source);
}

void Relog(const fs::path& input, const fs::path& output) {
  const auto source = Open(input);
  etl::EtlSinkOptions options;
  options.path = output.string();
  etl::EtlSink sink(options);
  const auto summary = Execute(*source, sink, 1, nullptr);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
}

std::vector<VerifyFinding> Verify(const fs::path& path) {
  auto file = InputFile::Open(path.string());
  EXPECT_TRUE(file.ok()) << file.status().message();
  auto findings = etl::VerifyEtl(*file, 1, nullptr);
  EXPECT_TRUE(findings.ok()) << findings.status().message();
  return std::move(*findings);
}

VerifyFinding Find(const std::vector<VerifyFinding>& findings, const std::string& check) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const auto& f) { return f.check == check; });
  EXPECT_NE(found, findings.end());
  return found == findings.end() ? VerifyFinding{} : *found;
}

TEST(VerifyEtl, StepsBackOfARecordingAreANote) {
  const auto findings = Verify(kStepsBack);
  EXPECT_EQ(Find(findings, "cpu-order").level, Level::kNote);
  for (const auto& finding : findings) EXPECT_NE(finding.level, Level::kError) << finding.check << finding.text;
}

TEST(VerifyEtl, StepsBackOfTheInputAreANoteInARelogOfARelog) {
  test::TempFolder folder;
  Relog(kStepsBack, folder / "1.etl");
  Relog(folder / "1.etl", folder / "2.etl");
  for (const char* name : {"1.etl", "2.etl"}) {
    const auto findings = Verify(folder / name);
    EXPECT_EQ(Find(findings, "cpu-order").level, Level::kNote);
    EXPECT_EQ(Find(findings, "id-map").level, Level::kOk);
    for (const auto& finding : findings) EXPECT_NE(finding.level, Level::kError) << finding.check << finding.text;
  }
}

// Writes `input` to `output` with the first two buffers of processor 0 in each other's turn.
void TradeSequenceNumbers(const fs::path& input, const fs::path& output) {
  std::ifstream file(input, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto source = Open(input);
  std::vector<uint64_t> places;
  for (const auto& entry : source->index().entries) {
    if (entry.ordinal != 0 && entry.cpu == 0 && entry.has_records()) places.push_back(entry.file_offset);
  }
  ASSERT_GE(places.size(), 2u);
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(places[0] + etl::buffer::kSequenceNumber);
  const auto second = bytes.begin() + static_cast<ptrdiff_t>(places[1] + etl::buffer::kSequenceNumber);
  std::swap_ranges(first, first + sizeof(int64_t), second);
  std::ofstream(output, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The recording's own order, odd as it is; its ids fall along the processor.
TEST(VerifyEtl, SequenceNumbersOfTheInputThatDoNotRiseAreANote) {
  test::TempFolder folder;
  TradeSequenceNumbers(kStepsBack, folder / "traded.etl");
  Relog(folder / "traded.etl", folder / "relogged.etl");
  const auto findings = Verify(folder / "relogged.etl");
  EXPECT_EQ(Find(findings, "cpu-order").level, Level::kNote);
  for (const auto& finding : findings) EXPECT_NE(finding.level, Level::kError) << finding.check << finding.text;
}

// 700 ticks then stand before 100.
TEST(VerifyEtl, BuffersOutOfTheOrderOfTheRecordingAreAnError) {
  test::TempFolder folder;
  Relog(kStepsBack, folder / "good.etl");
  TradeSequenceNumbers(folder / "good.etl", folder / "bad.etl");

  const auto findings = Verify(folder / "bad.etl");
  const auto order = Find(findings, "cpu-order");
  EXPECT_EQ(order.level, Level::kError);
  EXPECT_NE(order.text.find("processor 0 steps back"), std::string::npos) << order.text;
  EXPECT_EQ(Find(findings, "sequence-dense").level, Level::kOk);
  EXPECT_EQ(Find(findings, "id-map").level, Level::kOk);
}

}  // namespace
}  // namespace etwpipe

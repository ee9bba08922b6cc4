#include "formats/etwp/verify.h"

#include <gtest/gtest.h>

#include "tests/formats/etwp/synthetic_trace.h"

namespace etwpipe::test {
namespace {

std::vector<VerifyFinding> Verify(const SyntheticTrace& trace) {
  TemporaryFolder folder;
  etwp::EtwpSinkOptions options;
  options.path = folder.File("a.etwp");
  options.block_bytes = 10'000;
  EXPECT_TRUE(WriteArchive(trace, options).ok());
  const auto findings = etwp::VerifyArchive(*InputFile::Open(options.path), 1, nullptr);
  EXPECT_TRUE(findings.ok());
  return *findings;
}

VerifyFinding::Level LevelOf(const std::vector<VerifyFinding>& findings, const std::string& check) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const VerifyFinding& f) { return f.check == check; });
  EXPECT_NE(found, findings.end()) << check;
  return found->level;
}

// Ids that occur once, as in a recording.
SyntheticTrace TraceWithUniqueIds(size_t events) {
  auto trace = MakeTrace(events, 51);
  uint64_t next = 9;
  for (auto& event : trace.events) event.instance_id = next++;
  return trace;
}

TEST(VerifyArchive, WhatTheSinkWritesIsRight) {
  for (const auto& finding : Verify(TraceWithUniqueIds(3'000))) {
    // It was not made from an .etl, so it is not exact.
    const auto expected = finding.check == "restore" ? VerifyFinding::Level::kNote : VerifyFinding::Level::kOk;
    EXPECT_EQ(finding.level, expected) << finding.check << ": " << finding.text;
  }
}

TEST(VerifyArchive, AnIdThatOccursTwiceIsAnError) {
  auto trace = TraceWithUniqueIds(3'000);
  trace.events[2'900].instance_id = trace.events[17].instance_id;
  const auto findings = Verify(trace);
  EXPECT_EQ(LevelOf(findings, "ids"), VerifyFinding::Level::kError);
  EXPECT_EQ(LevelOf(findings, "blocks"), VerifyFinding::Level::kOk);
}

// Sound and damaged files alike: what is found, and what is named first, does not depend on who decodes.
TEST(VerifyArchive, ThreadsDoNotChangeTheFindings) {
  TemporaryFolder folder;
  etwp::EtwpSinkOptions options;
  options.path = folder.File("a.etwp");
  options.block_bytes = 10'000;
  auto trace = TraceWithUniqueIds(3'000);
  trace.events[2'900].instance_id = trace.events[17].instance_id;
  trace.events[2'500].instance_id = trace.events[18].instance_id;
  ASSERT_TRUE(WriteArchive(trace, options).ok());
  const auto whole = ReadBytes(options.path);
  for (size_t at = 0; at < whole.size(); at += whole.size() / 12) {
    auto bytes = whole;
    // The first round leaves the file as it is.
    if (at != 0) bytes[at] ^= std::byte{1};
    WriteBytes(options.path, bytes);
    const auto file = *InputFile::Open(options.path);
    const auto expected = etwp::VerifyArchive(file, 1, nullptr);
    ASSERT_TRUE(expected.ok());
    for (const int threads : {2, 3, 8}) {
      const auto findings = etwp::VerifyArchive(file, threads, nullptr);
      ASSERT_TRUE(findings.ok());
      ASSERT_EQ(findings->size(), expected->size());
      for (size_t i = 0; i < findings->size(); ++i) {
        EXPECT_EQ((*findings)[i].level, (*expected)[i].level) << (*expected)[i].check;
        EXPECT_EQ((*findings)[i].text, (*expected)[i].text);
      }
    }
  }
}

}  // namespace
}  // namespace etwpipe::test

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

}  // namespace
}  // namespace etwpipe::test

// Small files written by the independent Python writer (tests/oracle), with the truth known by construction.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "formats/etl/etl_source.h"
#include "pipeline/header_name.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"

namespace etwpipe {
namespace {

const std::filesystem::path kCases = std::filesystem::path(ETWPIPE_BINARY_DIR) / "oracle_cases";

std::string Hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

std::span<const std::byte> PayloadOf(const test::CollectedEvent& event) {
  return std::span(event.bytes).subspan(event.header.payload_begin);
}

class OracleCase : public testing::TestWithParam<std::string> {};

TEST_P(OracleCase, ReadsWhatWasWritten) {
  const auto expected = test::ReadJson(kCases / (GetParam() + ".json"));
  ASSERT_TRUE(expected.IsObject());
  auto file = InputFile::Open((kCases / (GetParam() + ".etl")).string());
  ASSERT_TRUE(file.ok()) << file.status().message();
  Diagnostics diagnostics;
  auto source = etl::EtlSource::Open(*file, {false, &diagnostics});
  ASSERT_TRUE(source.ok()) << source.status().message();
  const TraceInfo& info = (*source)->context().info;
  test::CollectSink sink;
  const auto summary = Execute(**source, sink, 1, &diagnostics);
  ASSERT_TRUE(summary.ok()) << summary.status().message();

  const auto events = expected["events"].GetArray();
  EXPECT_EQ(sink.events.size(), events.Size());
  const size_t count = std::min<size_t>(sink.events.size(), events.Size());
  for (size_t i = 0; i < count; ++i) {
    const auto& event = sink.events[i];
    const EventHeader& row = event.header;
    const auto& want = events[static_cast<rapidjson::SizeType>(i)];
    SCOPED_TRACE("event " + std::to_string(i) + " id " + want["id"].GetString());
    ASSERT_EQ(std::to_string(row.instance_id), want["id"].GetString());
    EXPECT_EQ(row.timestamp, want["ts"].GetInt64());
    EXPECT_EQ(row.cpu, want["cpu"].GetUint());
    EXPECT_EQ(row.has(kHasPid), !want["pid"].IsNull());
    if (row.has(kHasPid)) {
      EXPECT_EQ(row.pid, want["pid"].GetUint());
      EXPECT_EQ(row.tid, want["tid"].GetUint());
    }
    EXPECT_EQ(HeaderName(row.kind, row.header_type), want["header"].GetString());
    EXPECT_EQ(row.has(kHasProvider), !want["provider"].IsNull());
    if (row.has(kHasProvider)) {
      EXPECT_EQ(ToString(event.provider), want["provider"].GetString());
    }
    EXPECT_EQ(row.id, want["event_id"].GetUint());
    EXPECT_EQ(row.version, want["version"].GetUint());
    EXPECT_EQ(row.opcode, want["opcode"].GetUint());
    EXPECT_EQ(row.level, want["level"].GetUint());
    EXPECT_EQ(row.task, want["task"].GetUint());
    EXPECT_EQ(row.keyword, std::stoull(want["keyword"].GetString(), nullptr, 16));
    EXPECT_EQ(row.record_size, want["size"].GetUint());
    EXPECT_EQ(Hex(PayloadOf(event)), want["payload"].GetString());
    EXPECT_EQ(info.clock.ToFileTime(row.timestamp),
              expected["filetimes"][static_cast<rapidjson::SizeType>(i)].GetInt64());
  }

  const auto& header = expected["header"];
  EXPECT_EQ(info.buffers, expected["buffers"].GetUint64());
  EXPECT_EQ(info.pointer_size, header["pointer_size"].GetUint());
  EXPECT_EQ(info.processors, header["processors"].GetUint());
  EXPECT_EQ(ToString(info.clock.type), header["clock"].GetString());
  EXPECT_EQ(FormatFileTime(info.clock.start_time), header["start_time"].GetString());
  EXPECT_EQ(info.logger_name, header["logger_name"].GetString());

  // Every damaged place is counted with its offset, and nothing else is called damage.
  std::set<uint64_t> damaged;
  for (const auto& range : diagnostics.ranges()) {
    if (range.id != DiagnosticId::kExtendedItemBad) damaged.insert(range.place.offset);
  }
  std::set<uint64_t> wanted;
  for (const auto& range : expected["damaged"].GetArray()) {
    // A file that ends inside a buffer is told at the buffer's start.
    const bool truncated = std::string(range["reason"].GetString()) == "truncated";
    wanted.insert(range["file_offset"].GetUint64() - (truncated ? range["offset"].GetUint64() : 0));
  }
  for (const uint64_t offset : wanted) EXPECT_TRUE(damaged.contains(offset)) << "no diagnostic at " << offset;
  if (wanted.empty()) {
    EXPECT_TRUE(damaged.empty()) << "a diagnostic at " << *damaged.begin();
  }
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kCases, ignored)) {
    if (entry.path().extension() == ".etl") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, OracleCase, testing::ValuesIn(CaseNames()),
                         [](const auto& info) { return info.param; });

TEST(OracleCases, WereWritten) { EXPECT_GE(CaseNames().size(), 39u) << "in " << kCases; }

}  // namespace
}  // namespace etwpipe

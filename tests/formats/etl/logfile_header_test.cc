#include "formats/etl/logfile_header.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"
#include "tests/support/test_data.h"

namespace etwpipe::etl {
namespace {

/// The first record of a recording.
std::vector<std::byte> FirstRecord(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> start(buffer::kHeaderSize + 4096);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  const auto* record = reinterpret_cast<const std::byte*>(start.data()) + buffer::kHeaderSize;
  const auto size = LoadAt<uint16_t>(record, 4);
  return {record, record + size};
}

/// The log-file header of every sample as independent parsers see it (expected/counts.json).
TEST(LogFileHeader, EverySampleParsesAsExpectedAndRebuildsToTheSameBytes) {
  const auto expected_path = test::TestDataDir() / "expected/counts.json";
  if (const std::string missing = test::MissingData(expected_path); !missing.empty()) GTEST_SKIP() << missing;
  std::ifstream file(expected_path);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(json.c_str()).HasParseError());

  size_t samples = 0;
  // By number: clang-14 finds the iterators' comparison ambiguous in C++20.
  for (rapidjson::SizeType i = 0; i < document.MemberCount(); ++i) {
    const auto& sample = *(document.MemberBegin() + static_cast<std::ptrdiff_t>(i));
    if (sample.name.GetString()[0] == '_') continue;
    SCOPED_TRACE(sample.name.GetString());
    const auto& facts = sample.value["header"];
    const std::vector<std::byte> record = FirstRecord(test::SamplePath(sample.value["file"].GetString()));
    const auto header = ParseLogFileHeader(record);
    ASSERT_TRUE(header.ok()) << header.status().message();
    ++samples;
    EXPECT_EQ(header->pointer64 ? "SYSTEM64" : "SYSTEM32", std::string(facts["header_record"].GetString()));
    EXPECT_EQ(header->pointer_size, facts["pointer_size"].GetUint());
    EXPECT_EQ(header->processors, facts["processors"].GetUint());
    EXPECT_EQ(ToString(header->clock().type), facts["clock"].GetString());
    EXPECT_EQ(header->clock().frequency, facts["frequency"].GetInt64());
    EXPECT_EQ(FormatFileTime(header->start_time), facts["start_time"].GetString());
    EXPECT_EQ(FormatFileTime(header->end_time), facts["end_time"].GetString());
    EXPECT_EQ(FormatFileTime(header->boot_time), facts["boot_time"].GetString());
    EXPECT_EQ(header->session_name, facts["logger_name"].GetString());
    EXPECT_EQ(header->log_file_name, facts["log_file_name"].GetString());
    EXPECT_EQ(header->log_file_mode, facts["log_file_mode"].GetUint());
    EXPECT_EQ(header->events_lost, facts["events_lost"].GetUint());
    EXPECT_EQ(header->buffers_lost, facts["buffers_lost"].GetUint());
    EXPECT_EQ(header->buffers_written, facts["buffers_written"].GetUint());
    EXPECT_EQ(header->os_build, facts["os_build"].GetUint());
    EXPECT_EQ(fmt::format("{}.{}", header->os_major, header->os_minor), facts["os_version"].GetString());
    EXPECT_EQ(header->cpu_mhz, facts["cpu_mhz"].GetUint());
    EXPECT_EQ(header->timer_resolution, facts["timer_resolution"].GetUint());
    EXPECT_EQ(header->buffer_size, facts["buffer_size"].GetUint());
    EXPECT_EQ(header->base_ticks, facts["start_ticks"].GetInt64());

    // Zone names may have leftovers behind their NUL, which nobody reads; all else is rebuilt.
    const std::vector<std::byte> rebuilt = BuildLogFileHeader(*header);
    ASSERT_EQ(rebuilt.size(), record.size());
    const size_t zone = kSystemHeaderSize + logfile::TimeZone(header->pointer64 ? 8 : 4);
    for (size_t i = 0; i < record.size(); ++i) {
      const bool zone_name = (i >= zone + 4 && i < zone + 68) || (i >= zone + 88 && i < zone + 152);
      if (zone_name) continue;
      EXPECT_EQ(rebuilt[i], record[i]) << "byte " << i;
    }
  }
  EXPECT_GE(samples, 12u);
}

LogFileHeader DistinctHeader(bool pointer64) {
  LogFileHeader header;
  header.pointer64 = pointer64;
  header.pointer_size = pointer64 ? 8 : 4;
  header.tid = 1;
  header.pid = 2;
  header.base_ticks = 3;
  header.buffer_size = 4;
  header.os_major = 5;
  header.os_minor = 6;
  header.trace_major = 7;
  header.trace_minor = 8;
  header.os_build = 9;
  header.processors = 10;
  header.end_time = 11;
  header.maximum_file_size = 12;
  header.log_file_mode = 13;
  header.buffers_written = 14;
  header.start_buffers = 15;
  header.events_lost = 16;
  header.cpu_mhz = 17;
  header.logger_name_pointer = 18;
  header.log_file_name_pointer = 19;
  header.time_zone = {-60, "Zone", {1, 2, 3, 4, 5, 6, 7, 8}, 20, "Summer", {8, 7, 6, 5, 4, 3, 2, 1}, -21};
  header.boot_time = 22;
  header.frequency = 23;
  header.start_time = 24;
  header.reserved_flags = 2;
  header.buffers_lost = 26;
  header.session_name = "S\xC3\xA4ssion";
  header.log_file_name = "C:\\\xF0\x9F\x98\x80.etl";
  return header;
}

class BothPointerSizes : public testing::TestWithParam<bool> {};

TEST_P(BothPointerSizes, EveryFieldStandsAtItsPublishedOffset) {
  const bool pointer64 = GetParam();
  const std::vector<std::byte> record = BuildLogFileHeader(DistinctHeader(pointer64));
  const std::byte* payload = record.data() + 32;
  const size_t shift = pointer64 ? 8 : 0;
  EXPECT_EQ(LoadAt<uint32_t>(record.data(), 0), pointer64 ? 0xC0020002 : 0xC0010002);
  EXPECT_EQ(LoadAt<uint16_t>(record.data(), 4), record.size());
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x00), 4u);
  EXPECT_EQ(LoadAt<uint8_t>(payload, 0x06), 7u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x0C), 10u);
  EXPECT_EQ(LoadAt<int64_t>(payload, 0x10), 11);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x20), 13u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x24), 14u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x2C), pointer64 ? 8u : 4u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x30), 16u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x34), 17u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x38), 18u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, pointer64 ? 0x40 : 0x3C), 19u);
  EXPECT_EQ(LoadAt<int32_t>(payload, 0x40 + shift), -60);
  EXPECT_EQ(LoadAt<char16_t>(payload, 0x44 + shift), u'Z');
  EXPECT_EQ(LoadAt<int32_t>(payload, 0x40 + shift + 84), 20);
  EXPECT_EQ(LoadAt<int32_t>(payload, 0x40 + shift + 168), -21);
  EXPECT_EQ(LoadAt<int64_t>(payload, 0xF0 + shift), 22);
  EXPECT_EQ(LoadAt<int64_t>(payload, 0xF8 + shift), 23);
  EXPECT_EQ(LoadAt<int64_t>(payload, 0x100 + shift), 24);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x108 + shift), 2u);
  EXPECT_EQ(LoadAt<uint32_t>(payload, 0x10C + shift), 26u);
  EXPECT_EQ(LoadAt<char16_t>(payload, 0x110 + shift), u'S');
}

TEST_P(BothPointerSizes, ParseGivesBackWhatWasBuilt) {
  const LogFileHeader header = DistinctHeader(GetParam());
  const auto parsed = ParseLogFileHeader(BuildLogFileHeader(header));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->session_name, header.session_name);
  EXPECT_EQ(parsed->log_file_name, header.log_file_name);
  EXPECT_EQ(parsed->time_zone.standard_name, "Zone");
  EXPECT_EQ(parsed->time_zone.daylight_name, "Summer");
  EXPECT_EQ(parsed->time_zone.daylight_date, header.time_zone.daylight_date);
  EXPECT_EQ(BuildLogFileHeader(*parsed), BuildLogFileHeader(header));
}

TEST_P(BothPointerSizes, CutAtEveryLengthIsAnErrorUntilTheFixedPartIsThere) {
  const std::vector<std::byte> record = BuildLogFileHeader(DistinctHeader(GetParam()));
  const size_t fixed = LogFileHeaderFixedSize(GetParam());
  EXPECT_EQ(fixed, GetParam() ? 32u + 0x118 : 32u + 0x110);
  for (size_t size = 0; size <= record.size(); ++size) {
    // A copy of exactly that size, so that a read past the end is seen by the address sanitizer.
    const std::vector<std::byte> cut(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(size));
    const auto parsed = ParseLogFileHeader(cut);
    EXPECT_EQ(parsed.ok(), size >= fixed) << size;
    if (parsed.ok()) continue;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInput);
  }
}

TEST_P(BothPointerSizes, EditorChangesOnlyItsField) {
  const LogFileHeader original = DistinctHeader(GetParam());
  std::vector<std::byte> record = BuildLogFileHeader(original);
  LogFileHeaderEditor editor(record);
  editor.SetBufferSize(101);
  editor.SetTraceVersion(102, 103);
  editor.SetProcessors(104);
  editor.SetEndTime(105);
  editor.SetLogFileMode(106);
  editor.SetBuffersWritten(107);
  editor.SetEventsLost(108);
  editor.SetBuffersLost(109);
  LogFileHeader expected = original;
  expected.buffer_size = 101;
  expected.trace_major = 102;
  expected.trace_minor = 103;
  expected.processors = 104;
  expected.end_time = 105;
  expected.log_file_mode = 106;
  expected.buffers_written = 107;
  expected.events_lost = 108;
  expected.buffers_lost = 109;
  EXPECT_EQ(record, BuildLogFileHeader(expected));
}

INSTANTIATE_TEST_SUITE_P(Layouts, BothPointerSizes, testing::Bool(),
                         [](const auto& info) { return info.param ? "Pointer64" : "Pointer32"; });

TEST(LogFileHeader, OtherRecordsAreRefused) {
  std::vector<std::byte> record = BuildLogFileHeader({});
  record[6] = std::byte{5};
  EXPECT_FALSE(ParseLogFileHeader(record).ok()) << "group 0, type 5";
  record = BuildLogFileHeader({});
  record[2] = std::byte{kTypePerfInfo64};
  EXPECT_FALSE(ParseLogFileHeader(record).ok()) << "PERFINFO";
  record = BuildLogFileHeader({});
  record[3] = std::byte{kMarkerMessage};
  EXPECT_FALSE(ParseLogFileHeader(record).ok()) << "MESSAGE";
}

TEST(LogFileHeader, ClockFollowsTypeAndFrequency) {
  LogFileHeader header;
  header.base_ticks = 5;
  header.start_time = 6;
  header.frequency = 3'000'000;
  header.cpu_mhz = 2400;
  header.reserved_flags = 1;
  EXPECT_EQ(header.clock().type, ClockType::kQpc);
  EXPECT_EQ(header.clock().frequency, 3'000'000);
  EXPECT_EQ(header.clock().base_ticks, 5);
  EXPECT_EQ(header.clock().start_time, 6);
  header.reserved_flags = 0;
  EXPECT_EQ(header.clock().type, ClockType::kQpc);
  header.reserved_flags = 2;
  EXPECT_EQ(header.clock().type, ClockType::kSystemTime);
  EXPECT_EQ(header.clock().frequency, 10'000'000);
  header.reserved_flags = 3;
  EXPECT_EQ(header.clock().type, ClockType::kCycles);
  EXPECT_EQ(header.clock().frequency, 2'400'000'000);
  header.reserved_flags = 1;
  header.frequency = -1;
  EXPECT_EQ(header.clock().frequency, 10'000'000) << "a frequency that cannot be";
}

TEST(LogFileHeader, LoneSurrogatesAndLongNamesAreHarmless) {
  LogFileHeader header;
  header.session_name = std::string(100'000, 'x');
  std::vector<std::byte> record = BuildLogFileHeader(header);
  EXPECT_LE(record.size(), kMaxRecordSize);
  StoreAt(record.data(), LogFileHeaderFixedSize(true), uint16_t{0xD800});
  const auto parsed = ParseLogFileHeader(record);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->session_name.substr(0, 4), "\xEF\xBF\xBDx");
}

}  // namespace
}  // namespace etwpipe::etl

// Real recordings: counts per kind and header fields, on which independent parsers agree (expected/counts.json).
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "formats/etl/etl_source.h"
#include "pipeline/header_name.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe {
namespace {

using test::CollectSink;

struct Counted {
  uint64_t count = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Counted&, const Counted&) = default;
};

std::string KindKey(std::string_view header, const std::string& provider, unsigned id, unsigned opcode,
                    unsigned version) {
  std::ostringstream key;
  key << header << ' ' << provider << " id " << id << " opcode " << opcode << " version " << version;
  return key.str();
}

std::map<std::string, Counted> CountKinds(const TraceInfo& info, const CollectSink& sink) {
  std::map<std::string, Counted> kinds;
  for (const auto& event : sink.events) {
    const EventHeader& row = event.header;
    const bool has_id = row.kind == HeaderKind::kEvent32 || row.kind == HeaderKind::kEvent64;
    auto& counted = kinds[KindKey(HeaderName(row.kind, row.header_type), ToString(event.provider), has_id ? row.id : 0,
                                  row.opcode, row.version)];
    ++counted.count;
    counted.bytes += row.record_size;
  }
  const auto header = info.header_kind == HeaderKind::kSystem64 ? "SYSTEM64" : "SYSTEM32";
  auto& counted = kinds[KindKey(header, "68fdd900-4a3e-11d1-84f4-0000f80464e3", 0, 0, 2)];
  ++counted.count;
  counted.bytes += info.header_record.size();
  return kinds;
}

class EtlCounts : public testing::TestWithParam<const char*> {};

TEST_P(EtlCounts, EqualTheIndependentParsers) {
  const auto expected_path = test::TestDataDir() / "expected/counts.json";
  if (const auto missing = test::MissingData(expected_path); !missing.empty()) GTEST_SKIP() << missing;
  const auto document = test::ReadJson(expected_path);
  ASSERT_TRUE(document.IsObject());
  ASSERT_TRUE(document.HasMember(GetParam()));
  const auto& expected = document[GetParam()];

  auto file = InputFile::Open(test::SamplePath(expected["file"].GetString()).string());
  ASSERT_TRUE(file.ok()) << file.status().message();
  Diagnostics diagnostics;
  auto source = etl::EtlSource::Open(*file, {false, &diagnostics});
  ASSERT_TRUE(source.ok()) << source.status().message();
  for (const Order order : {Order::kPerCpu, Order::kTime}) {
    CollectSink sink(order);
    const auto summary = Execute(**source, sink, 2, &diagnostics);
    ASSERT_TRUE(summary.ok()) << summary.status().message();

    std::map<std::string, Counted> wanted;
    for (const auto& kind : expected["kinds"].GetArray()) {
      wanted[KindKey(kind["header"].GetString(), kind["provider"].GetString(), kind["id"].GetUint(),
                     kind["opcode"].GetUint(), kind["version"].GetUint())] = {kind["count"].GetUint64(),
                                                                              kind["bytes"].GetUint64()};
    }
    const auto counted = CountKinds((*source)->context().info, sink);
    for (const auto& [key, value] : wanted) {
      const auto found = counted.find(key);
      ASSERT_NE(found, counted.end()) << key;
      EXPECT_EQ(found->second.count, value.count) << key;
      EXPECT_EQ(found->second.bytes, value.bytes) << key;
    }
    EXPECT_EQ(counted.size(), wanted.size());
    EXPECT_EQ(sink.events.size() + 1, expected["events"].GetUint64());
  }

  const TraceInfo& info = (*source)->context().info;
  const auto& header = expected["header"];
  EXPECT_EQ(info.buffers, expected["buffers"].GetUint64());
  EXPECT_EQ(info.compressed_buffers, expected["compressed_buffers"].GetUint64());
  EXPECT_EQ(info.damaged_buffers, 0u);
  EXPECT_EQ(info.pointer_size, header["pointer_size"].GetUint());
  EXPECT_EQ(info.processors, header["processors"].GetUint());
  EXPECT_EQ(ToString(info.clock.type), header["clock"].GetString());
  EXPECT_EQ(info.clock.frequency, header["frequency"].GetInt64());
  EXPECT_EQ(info.clock.base_ticks, header["start_ticks"].GetInt64());
  EXPECT_EQ(FormatFileTime(info.clock.start_time), header["start_time"].GetString());
  EXPECT_EQ(FormatFileTime(info.end_time), header["end_time"].GetString());
  EXPECT_EQ(FormatFileTime(info.boot_time), header["boot_time"].GetString());
  EXPECT_EQ(info.logger_name, header["logger_name"].GetString());
  EXPECT_EQ(info.log_file_name, header["log_file_name"].GetString());
  EXPECT_EQ(info.log_file_mode, header["log_file_mode"].GetUint());
  EXPECT_EQ(info.events_lost, header["events_lost"].GetUint());
  EXPECT_EQ(info.buffers_lost, header["buffers_lost"].GetUint());
  EXPECT_EQ(info.os_build, header["os_build"].GetUint());
  EXPECT_EQ(info.cpu_mhz, header["cpu_mhz"].GetUint());
  EXPECT_EQ(info.timer_resolution, header["timer_resolution"].GetUint());
  EXPECT_EQ(info.buffer_size, header["buffer_size"].GetUint());
  for (const auto& entry : diagnostics.entries()) {
    EXPECT_EQ(InfoOf(entry.id).severity, Severity::kInfo) << InfoOf(entry.id).id << ": " << entry.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, EtlCounts,
                         testing::Values("net.4.5.2.x64", "diaghub", "diaghub.kernel.1", "ShutdownPerfDiagLogger",
                                         "gcevents", "primitive-types", "SelfDescribingSingleEvent", "lxcore_kernel",
                                         "powershell", "KernelNetwork", "waasmedic", "DynamicEvents"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace etwpipe

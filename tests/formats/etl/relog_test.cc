// Relogged files: same events, same ids, the same for any number of threads, and sound for an independent checker.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "formats/etl/etl_sink.h"
#include "formats/etl/etl_source.h"
#include "formats/etl/etl_verify.h"
#include "formats/etl/layout.h"
#include "formats/etl/record.h"
#include "pipeline/stage.h"
#include "tests/support/collect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;

const char* const kSamples[] = {"net.4.5.2.x64.etl",
                                "diaghub.etl",
                                "diaghub.kernel.1.etl",
                                "ShutdownPerfDiagLogger.etl",
                                "gcevents.etl",
                                "primitive-types.etl",
                                "SelfDescribingSingleEvent.etl",
                                "lxcore_kernel.etl",
                                "powershell.etl",
                                "KernelNetwork.etl",
                                "waasmedic.etl",
                                "DynamicEvents.etl"};

// Keeps rows by a rule over their header; what a filter stage does.
class RuleStage : public Stage {
 public:
  using Rule = std::function<bool(const EventHeader&)>;
  explicit RuleStage(Rule rule, Order order = Order::kPerCpu) : rule_(std::move(rule)) {
    info_.name = "test.rule";
    info_.drops = true;
    info_.order = order;
  }
  const StageInfo& info() const override { return info_; }
  Status Process(const ProcessArgs& args) const override {
    args.batch.Retain(rule_);
    return {};
  }

 private:
  Rule rule_;
  StageInfo info_;
};

Plan PlanOf(RuleStage::Rule rule, Order order = Order::kPerCpu) {
  Plan plan;
  if (!rule) return plan;
  PlannedStage planned;
  planned.label = "test.rule";
  planned.stage = std::make_unique<RuleStage>(std::move(rule), order);
  plan.stages.push_back(std::move(planned));
  plan.drops = true;
  plan.order = order;
  return plan;
}

std::vector<char> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::unique_ptr<etl::EtlSource> Open(const fs::path& path, Diagnostics* diagnostics = nullptr) {
  auto file = InputFile::Open(path.string());
  EXPECT_TRUE(file.ok()) << file.status().message();
  auto source = etl::EtlSource::Open(*file, {false, diagnostics});
  EXPECT_TRUE(source.ok()) << source.status().message();
  return source.ok() ? std::move(*source) : nullptr;
}

void Relog(const fs::path& input, const fs::path& output, Plan plan, int threads = 1,
           etl::Compress compress = etl::Compress::kAuto) {
  Diagnostics diagnostics;
  auto source = Open(input, &diagnostics);
  ASSERT_NE(source, nullptr);
  etl::EtlSinkOptions options;
  options.path = output.string();
  options.force = true;
  options.compress = compress;
  etl::EtlSink sink(options);
  const auto summary = Execute({*source, plan, sink, threads, &diagnostics, nullptr, nullptr});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(diagnostics.count(DiagnosticId::kIdMapMismatch), 0u);
  EXPECT_EQ(diagnostics.count(DiagnosticId::kIdMapBad), 0u);
  // Every file we write passes our own checks, as one of ours.
  auto written = InputFile::Open(output.string());
  ASSERT_TRUE(written.ok());
  const auto findings = etl::VerifyEtl(*written, 1, nullptr);
  ASSERT_TRUE(findings.ok()) << findings.status().message();
  EXPECT_FALSE(findings->empty());
  for (const VerifyFinding& finding : *findings) {
    EXPECT_EQ(finding.level, VerifyFinding::Level::kOk) << finding.check << ": " << finding.text;
  }
}

std::vector<test::CollectedEvent> Events(const fs::path& path, Diagnostics* diagnostics = nullptr) {
  auto source = Open(path, diagnostics);
  test::CollectSink sink;
  const auto summary = Execute(*source, sink, 1, diagnostics);
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  return std::move(sink.events);
}

// Events by id; the merged order may differ where processors tie.
std::map<EventInstanceId, const test::CollectedEvent*> ById(const std::vector<test::CollectedEvent>& events) {
  std::map<EventInstanceId, const test::CollectedEvent*> by_id;
  for (const auto& event : events) EXPECT_TRUE(by_id.emplace(event.header.instance_id, &event).second);
  return by_id;
}

void ExpectSameEvents(const std::vector<test::CollectedEvent>& a, const std::vector<test::CollectedEvent>& b) {
  const auto left = ById(a);
  const auto right = ById(b);
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [id, event] : left) {
    const auto found = right.find(id);
    ASSERT_NE(found, right.end()) << id;
    EXPECT_EQ(event->bytes, found->second->bytes) << id;
    EXPECT_EQ(event->header.cpu, found->second->header.cpu) << id;
    EXPECT_EQ(event->header.timestamp, found->second->header.timestamp) << id;
  }
}

int PythonCheck(const fs::path& file) {
  const std::string command = "python3 " + std::string(ETWPIPE_SOURCE_DIR) + "/tests/oracle/etl_reader.py --check " +
                              file.string() + " > " + file.string() + ".check 2>&1";
  return std::system(command.c_str());
}

class Relogged : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    input_ = test::SamplePath(GetParam());
    if (const auto missing = test::MissingData(input_); !missing.empty()) GTEST_SKIP() << missing;
  }
  fs::path input_;
  test::TempFolder folder_;
};

TEST_P(Relogged, WithoutStagesHoldsTheSameEventsUnderTheSameIds) {
  Relog(input_, folder_ / "copy.etl", PlanOf(nullptr));
  Diagnostics diagnostics;
  ExpectSameEvents(Events(input_), Events(folder_ / "copy.etl", &diagnostics));
  for (const auto& entry : diagnostics.entries()) {
    EXPECT_EQ(InfoOf(entry.id).severity, Severity::kInfo) << InfoOf(entry.id).id << ": " << entry.text;
  }
  EXPECT_EQ(PythonCheck(folder_ / "copy.etl"), 0) << ReadFile(folder_ / "copy.etl.check").data();
}

TEST_P(Relogged, AFilteredChainKeepsTheIdsOfTheFirst) {
  const auto every = [](uint64_t n) {
    return [n](const EventHeader& row) {
      return row.instance_id * 0x9E3779B97F4A7C15ull >> 32 != 0 &&
             (row.instance_id * 0x9E3779B97F4A7C15ull >> 40) % n != 0;
    };
  };
  Relog(input_, folder_ / "1.etl", PlanOf(every(2)));
  Relog(folder_ / "1.etl", folder_ / "2.etl", PlanOf(every(3)), 2, etl::Compress::kXpress);
  Relog(folder_ / "2.etl", folder_ / "3.etl", PlanOf(every(5)), 1, etl::Compress::kNone);
  auto expected = Events(input_);
  std::erase_if(expected, [&](const test::CollectedEvent& event) {
    return !every(2)(event.header) || !every(3)(event.header) || !every(5)(event.header);
  });
  ExpectSameEvents(expected, Events(folder_ / "3.etl"));
  for (const char* name : {"1.etl", "2.etl", "3.etl"}) {
    EXPECT_EQ(PythonCheck(folder_ / name), 0) << ReadFile(folder_ / (std::string(name) + ".check")).data();
  }
}

TEST_P(Relogged, ThreadsDoNotChangeABit) {
  const auto half = [](const EventHeader& row) { return row.instance_id / 16 % 2 == 0; };
  for (const Order order : {Order::kPerCpu, Order::kTime}) {
    Relog(input_, folder_ / "1.etl", PlanOf(half, order), 1);
    Relog(input_, folder_ / "2.etl", PlanOf(half, order), 2);
    Relog(input_, folder_ / "4.etl", PlanOf(half, order), 4);
    const auto reference = ReadFile(folder_ / "1.etl");
    EXPECT_EQ(reference, ReadFile(folder_ / "2.etl"));
    EXPECT_EQ(reference, ReadFile(folder_ / "4.etl"));
  }
}

TEST_P(Relogged, InTimeOrderHoldsTheSameEvents) {
  Relog(input_, folder_ / "copy.etl", PlanOf([](const EventHeader&) { return true; }, Order::kTime), 2);
  ExpectSameEvents(Events(input_), Events(folder_ / "copy.etl"));
  EXPECT_EQ(PythonCheck(folder_ / "copy.etl"), 0) << ReadFile(folder_ / "copy.etl.check").data();
}

TEST_P(Relogged, AChangedByteKeepsItsIdAndIsTold) {
  Relog(input_, folder_ / "copy.etl", PlanOf([](const EventHeader& row) { return row.instance_id % 5 != 0; }), 1,
        etl::Compress::kNone);
  auto bytes = ReadFile(folder_ / "copy.etl");
  const auto original = Events(folder_ / "copy.etl");
  auto source = Open(folder_ / "copy.etl");
  ASSERT_NE(source, nullptr);
  const auto& victim = source->index().entries[1];
  if (victim.carriers) GTEST_SKIP() << "SKIPPED: the recording has no data buffer to damage";
  // The last byte of the first record of the first data buffer.
  const auto record = std::as_bytes(std::span(bytes)).subspan(victim.file_offset + etl::buffer::kHeaderSize);
  etl::RecordProbe probe;
  ASSERT_EQ(etl::ProbeRecord(record, probe), "");
  bytes[victim.file_offset + etl::buffer::kHeaderSize + probe.size - 1] ^= 1;
  std::ofstream(folder_ / "bad.etl", std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Diagnostics diagnostics;
  const auto changed = Events(folder_ / "bad.etl", &diagnostics);
  EXPECT_EQ(diagnostics.count(DiagnosticId::kIdMapMismatch), 1u);
  ASSERT_EQ(changed.size(), original.size());
  size_t different = 0;
  for (size_t i = 0; i < changed.size(); ++i) {
    EXPECT_EQ(changed[i].header.instance_id, original[i].header.instance_id);
    different += changed[i].bytes != original[i].bytes ? 1 : 0;
  }
  EXPECT_EQ(different, 1u);
}

// Records that are not those the map was made for get ids of their own, never somebody else's.
TEST_P(Relogged, OtherRecordsDoNotInheritIds) {
  Relog(input_, folder_ / "copy.etl", PlanOf([](const EventHeader& row) { return row.instance_id % 5 != 0; }), 1,
        etl::Compress::kNone);
  auto bytes = ReadFile(folder_ / "copy.etl");
  auto source = Open(folder_ / "copy.etl");
  ASSERT_NE(source, nullptr);
  const auto victim = source->index().entries[1];
  if (victim.carriers) GTEST_SKIP() << "SKIPPED: the recording has no data buffer to damage";
  // The buffer claims to be empty.
  const uint32_t cut = etl::buffer::kHeaderSize;
  std::memcpy(bytes.data() + victim.file_offset + etl::buffer::kOffset, &cut, sizeof cut);
  std::ofstream(folder_ / "bad.etl", std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Diagnostics diagnostics;
  const auto original = Events(input_);
  const auto known = ById(original);
  size_t foreign = 0;
  const auto events = Events(folder_ / "bad.etl", &diagnostics);
  for (const auto& event : events) {
    if (!known.contains(event.header.instance_id)) ++foreign;
  }
  EXPECT_EQ(diagnostics.count(DiagnosticId::kIdMapMismatch), 1u);
  EXPECT_EQ(foreign, 0u) << "the other buffers keep their ids";
}

// Damaged input is relogged as far as it can be read.
TEST_P(Relogged, DamageDoesNotEndTheRun) {
  const auto pristine = ReadFile(input_);
  auto source = Open(input_);
  ASSERT_NE(source, nullptr);
  const auto entries = source->index().entries;
  for (size_t victim = 1; victim < entries.size(); victim += 1 + entries.size() / 5) {
    for (const int kind : {0, 1, 2}) {
      auto bytes = pristine;
      const auto at = bytes.begin() + static_cast<ptrdiff_t>(entries[victim].file_offset);
      if (kind == 0) std::fill_n(at, entries[victim].file_size, '\0');
      if (kind == 1) std::fill_n(at + 72, entries[victim].file_size - 72, '\xFF');
      if (kind == 2) std::fill_n(at, 4, '\0');
      std::ofstream(folder_ / "bad.etl", std::ios::binary)
          .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      Diagnostics diagnostics;
      const auto expected = Events(folder_ / "bad.etl", &diagnostics);
      for (const auto compress : {etl::Compress::kAuto, etl::Compress::kNone}) {
        Relog(folder_ / "bad.etl", folder_ / "out.etl", PlanOf(nullptr), 2, compress);
        ExpectSameEvents(expected, Events(folder_ / "out.etl"));
      }
    }
  }
}

std::string SampleName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Samples, Relogged, testing::ValuesIn(kSamples), SampleName);

}  // namespace
}  // namespace etwpipe

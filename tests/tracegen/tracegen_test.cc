#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "formats/etl/etl_source.h"
#include "formats/etl/layout.h"
#include "formats/etl/logfile_header.h"
#include "pipeline/byte_reader.h"
#include "tests/tracegen/generator.h"

namespace etwpipe::tracegen {
namespace {

Options SmallOptions(Scenario scenario = Scenario::kMixed) {
  Options options;
  options.size = 2 << 20;
  options.scenario = scenario;
  return options;
}

std::vector<std::byte> MustGenerate(const Options& options, Truth* truth = nullptr) {
  auto bytes = GenerateToMemory(options, truth);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? std::move(*bytes) : std::vector<std::byte>();
}

/// One record of an uncompressed file, found by the plainest walk.
struct Record {
  uint16_t cpu;
  std::span<const std::byte> bytes;

  uint8_t type() const { return LoadAt<uint8_t>(bytes.data(), 2); }
  bool is_perf_info() const { return type() == etl::kTypePerfInfo64; }
  /// Group << 8 | opcode of kernel records.
  uint16_t hook() const {
    return static_cast<uint16_t>(LoadAt<uint8_t>(bytes.data(), 7) << 8 | LoadAt<uint8_t>(bytes.data(), 6));
  }
  bool is_kernel() const {
    return LoadAt<uint8_t>(bytes.data(), 3) == etl::kMarkerFixed && type() < 18 && type() != 10;
  }
  int64_t ticks() const { return LoadAt<int64_t>(bytes.data(), is_perf_info() ? 8 : 16); }
};

std::vector<Record> Walk(std::span<const std::byte> file) {
  std::vector<Record> records;
  for (size_t buffer = 0; buffer < file.size();) {
    const std::byte* header = file.data() + buffer;
    const auto cpu = LoadAt<uint16_t>(header, etl::buffer::kProcessor);
    const auto end = LoadAt<uint32_t>(header, etl::buffer::kOffset);
    for (size_t at = etl::buffer::kHeaderSize; at < end;) {
      const auto type = LoadAt<uint8_t>(header, at + 2);
      const bool fixed = LoadAt<uint8_t>(header, at + 3) == etl::kMarkerFixed;
      const bool size_at_4 = fixed && (type <= 4 || type == etl::kTypePerfInfo64);
      const auto size = LoadAt<uint16_t>(header, at + (size_at_4 ? 4 : 0));
      records.push_back({cpu, file.subspan(buffer + at, size)});
      at += etl::Align8(size);
    }
    buffer += LoadAt<uint32_t>(header, etl::buffer::kBufferSize);
  }
  return records;
}

TEST(Tracegen, SameOptionsGiveSameBytesAndAnotherSeedOthers) {
  Options options = SmallOptions();
  const std::vector<std::byte> first = MustGenerate(options);
  EXPECT_EQ(first, MustGenerate(options));
  options.seed = 2;
  EXPECT_NE(first, MustGenerate(options));
}

TEST(Tracegen, SizeIsAboutWhatWasAskedFor) {
  for (const uint64_t size : {uint64_t{1} << 20, uint64_t{3} << 20, uint64_t{16} << 20}) {
    Options options = SmallOptions();
    options.size = size;
    const size_t got = MustGenerate(options).size();
    EXPECT_GE(got, size - size / 8) << size;
    EXPECT_LE(got, size + size / 8) << size;
  }
}

TEST(Tracegen, MixedHasManyKindsOfTheUsualSize) {
  Options options = SmallOptions();
  options.size = 16 << 20;
  Truth truth;
  MustGenerate(options, &truth);
  EXPECT_GE(truth.kinds.size(), 40u);
  const uint64_t mean = truth.record_bytes() / truth.events();
  EXPECT_GE(mean, 100u);
  EXPECT_LE(mean, 140u);
  std::set<std::string> headers;
  for (const KindCount& kind : truth.kinds) headers.insert(kind.header);
  EXPECT_EQ(headers, (std::set<std::string>{"SYSTEM32", "SYSTEM64", "PERFINFO64", "FULL_HEADER64", "EVENT_HEADER32",
                                            "EVENT_HEADER64", "MESSAGE"}));
}

TEST(Tracegen, HeaderSaysWhatTheFileHolds) {
  Truth truth;
  const std::vector<std::byte> file = MustGenerate(SmallOptions(), &truth);
  const auto header = etl::ParseLogFileHeader(Walk(file).front().bytes);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->buffers_written, truth.buffers);
  EXPECT_EQ(header->processors, 8u);
  EXPECT_EQ(header->base_ticks, truth.start_ticks);
  EXPECT_LE(truth.start_ticks, truth.first_timestamp);
  EXPECT_GT(header->end_time, header->clock().ToFileTime(truth.last_timestamp));
  EXPECT_EQ(truth.file_size, file.size());
}

class EveryScenario : public testing::TestWithParam<Scenario> {};

TEST_P(EveryScenario, ContextSwitchesOfAProcessorFollowEachOther) {
  const std::vector<std::byte> file = MustGenerate(SmallOptions(GetParam()));
  std::vector<Record> switches;
  for (const Record& record : Walk(file)) {
    if (record.is_kernel() && record.hook() == 0x0524) switches.push_back(record);
  }
  EXPECT_GT(switches.size(), 1000u);
  std::stable_sort(switches.begin(), switches.end(),
                   [](const Record& a, const Record& b) { return a.ticks() < b.ticks(); });
  std::map<uint16_t, uint32_t> running;
  for (const Record& record : switches) {
    const auto new_tid = LoadAt<uint32_t>(record.bytes.data(), 16);
    const auto old_tid = LoadAt<uint32_t>(record.bytes.data(), 20);
    ASSERT_EQ(old_tid, running[record.cpu]);
    running[record.cpu] = 0;
    for (const auto& [cpu, tid] : running) ASSERT_TRUE(tid != new_tid || new_tid == 0) << "runs on two processors";
    running[record.cpu] = new_tid;
  }
}

TEST_P(EveryScenario, RecordsWithThreadIdsComeFromTheThreadThatRuns) {
  const std::vector<std::byte> file = MustGenerate(SmallOptions(GetParam()));
  std::map<uint16_t, uint32_t> running;
  for (const Record& record : Walk(file)) {
    if (record.is_kernel() && record.hook() == 0x0524) running[record.cpu] = LoadAt<uint32_t>(record.bytes.data(), 16);
    const uint8_t type = record.type();
    if (type != etl::kTypeEvent64 && type != etl::kTypeEvent32) continue;
    const auto tid = LoadAt<uint32_t>(record.bytes.data(), 8);
    ASSERT_EQ(tid, running[record.cpu]) << record.ticks();
  }
}

TEST_P(EveryScenario, ActivitiesOfAThreadAreNested) {
  Truth truth;
  MustGenerate(SmallOptions(GetParam()), &truth);
  std::map<std::pair<uint32_t, std::string>, std::vector<const ActivityTruth*>> open;
  for (const ActivityTruth& activity : truth.activities.entries()) {
    const int64_t stop = activity.stop.value_or(INT64_MAX);
    EXPECT_LT(activity.start, stop);
    auto& stack = open[{activity.tid, activity.provider}];
    while (!stack.empty() && stack.back()->stop.value_or(INT64_MAX) <= activity.start) stack.pop_back();
    EXPECT_LE(stop, stack.empty() ? INT64_MAX : stack.back()->stop.value_or(INT64_MAX));
    stack.push_back(&activity);
  }
}

TEST_P(EveryScenario, ReaderCountsWhatTheTruthSays) {
  const Options options = SmallOptions(GetParam());
  const std::string path = testing::TempDir() + "tracegen_" + std::string(ToString(GetParam())) + ".etl";
  const auto truth = GenerateToFile(options, path);
  ASSERT_TRUE(truth.ok()) << truth.status().message();
  auto file = InputFile::Open(path);
  ASSERT_TRUE(file.ok());
  auto source = etl::EtlSource::Open(*file, {});
  ASSERT_TRUE(source.ok()) << source.status().message();
  Diagnostics diagnostics;
  auto pass = (*source)->StartPass({.diagnostics = &diagnostics});
  ASSERT_TRUE(pass.ok());
  uint64_t events = 1;  // the log-file header
  std::map<uint32_t, uint64_t> pids;
  ++pids[8764];
  std::map<std::tuple<std::string, uint16_t, uint8_t, uint16_t>, uint64_t> kinds;
  EventBatch batch;
  for (;;) {
    batch.Clear();
    const auto more = (*pass)->Next(batch);
    ASSERT_TRUE(more.ok());
    if (!*more) break;
    ASSERT_TRUE((*pass)->Fill(batch).ok());
    for (const EventHeader& row : batch.rows) {
      ++events;
      if (row.has(kHasPid)) ++pids[row.pid];
      ++kinds[{ToString((*source)->context().provider_guid(row)), row.id, row.opcode, row.version}];
    }
  }
  EXPECT_EQ(events, truth->events());
  EXPECT_EQ(pids, truth->pids);
  EXPECT_TRUE(diagnostics.entries().empty());
  std::map<std::tuple<std::string, uint16_t, uint8_t, uint16_t>, uint64_t> expected;
  for (const KindCount& kind : truth->kinds) {
    expected[{ToString(kind.provider.value_or(Guid{})), static_cast<uint16_t>(kind.id),
              static_cast<uint8_t>(kind.opcode), static_cast<uint16_t>(kind.version)}] += kind.count;
  }
  --expected[{"68fdd900-4a3e-11d1-84f4-0000f80464e3", 0, 0, 2}];
  std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
  EXPECT_EQ(kinds, expected);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, EveryScenario,
                         testing::Values(Scenario::kMixed, Scenario::kClr, Scenario::kBuild, Scenario::kSwitches),
                         [](const auto& info) { return std::string(ToString(info.param)); });

TEST(Tracegen, BuildPlantsOneActivityThatOutlastsAllOthers) {
  Truth truth;
  MustGenerate(SmallOptions(Scenario::kBuild), &truth);
  ASSERT_TRUE(truth.planted);
  const int64_t planted = truth.planted->stop - truth.planted->start;
  for (const ActivityTruth& activity : truth.activities.entries()) {
    if (activity.instance == truth.planted->instance && activity.provider == "etwpipe.ingest") continue;
    const int64_t stop = activity.stop.value_or(truth.last_timestamp);
    EXPECT_LT(2 * (stop - activity.start), planted) << activity.name;
  }
}

TEST(Tracegen, MethodsAreUnloadedAfterTheyWereLoaded) {
  Truth truth;
  MustGenerate(SmallOptions(Scenario::kClr), &truth);
  size_t loaded = 0;
  size_t unloaded = 0;
  std::map<uint64_t, size_t> tiers;
  for (const MethodTruth& method : truth.code.methods.entries()) {
    loaded += method.from.has_value() ? 1 : 0;
    unloaded += method.to.has_value() ? 1 : 0;
    ++tiers[method.flags >> 7 & 7];
    EXPECT_LT(method.from.value_or(INT64_MIN), method.to.value_or(INT64_MAX));
  }
  EXPECT_GT(loaded, 100u);
  EXPECT_GT(unloaded, 20u);
  EXPECT_GT(tiers[4], 20u) << "tier 1";
}

TEST(Tracegen, ClrHasEveryPlannedCaseAndEveryOutcome) {
  for (const uint64_t seed : {1, 2}) {
    Options options = SmallOptions(Scenario::kClr);
    options.seed = seed;
    Truth truth;
    const std::vector<std::byte> file = MustGenerate(options, &truth);
    EXPECT_EQ(file, MustGenerate(options));
    std::set<std::string_view> cases;
    std::set<std::string_view> events;
    std::map<Outcome, size_t> outcomes;
    for (const ReferenceTruth& reference : truth.code.references.entries()) {
      cases.insert(reference.story);
      events.insert(reference.event);
      ASSERT_TRUE(reference.outcome) << reference.event;
      ++outcomes[*reference.outcome];
      EXPECT_EQ(*reference.outcome == Outcome::kUnknown, truth.code.methods.Find(reference.method) == nullptr);
    }
    const std::set<std::string_view> planned = {"",
                                                "short_forms",
                                                "lost_unload",
                                                "reused_id",
                                                "tiers",
                                                "rejit",
                                                "hot_and_cold",
                                                "late_load",
                                                "two_runtimes",
                                                "reused_pid",
                                                "pointer32",
                                                "dc_end_only",
                                                "dc_start_only",
                                                "helpers_and_stubs",
                                                "rundown_start",
                                                "rundown_end",
                                                "module_unload",
                                                "dynamic_reuse",
                                                "profiled_calls"};
    EXPECT_EQ(cases, planned);
    EXPECT_EQ(events.size(), 11u);
    EXPECT_EQ(outcomes.size(), 5u);
    std::set<std::string_view> learnt_by;
    for (const MethodTruth& method : truth.code.methods.entries()) learnt_by.insert(method.learnt_by);
    for (const char* event : {"MethodLoad", "MethodLoadVerbose", "MethodUnloadVerbose", "MethodDCStart",
                              "MethodDCStartVerbose", "MethodDCEnd", "MethodDCEndVerbose"}) {
      EXPECT_TRUE(learnt_by.contains(event)) << event;
    }
    size_t cut = 0;
    for (const RundownTruth& rundown : truth.code.rundowns.entries()) cut += rundown.complete ? 0 : 1;
    EXPECT_EQ(cut, 1u);
  }
}

TEST(Tracegen, RefusesWhatItCannotMake) {
  Options options = SmallOptions();
  options.size = 100'000;
  EXPECT_EQ(GenerateToMemory(options).status().code(), StatusCode::kInvalidArgument);
  options = SmallOptions();
  options.buffer_size = 5000;
  EXPECT_FALSE(GenerateToMemory(options).ok());
  options = SmallOptions();
  options.processors = 0;
  EXPECT_FALSE(GenerateToMemory(options).ok());
  EXPECT_FALSE(ParseSize("1.5GiB").ok());
  EXPECT_FALSE(ParseSize("").ok());
  EXPECT_FALSE(ParseSize("99999999999999GiB").ok());
  EXPECT_EQ(*ParseSize("3MiB"), uint64_t{3} << 20);
  EXPECT_FALSE(ParseScenario("none").ok());
}

TEST(Tracegen, ManyShapesOfFilesHold) {
  for (const uint32_t processors : {1u, 2u, 33u}) {
    for (const uint32_t buffer_size : {8u << 10, 256u << 10}) {
      Options options = SmallOptions();
      options.size = 12 << 20;
      options.processors = processors;
      options.buffer_size = buffer_size;
      Truth truth;
      const std::vector<std::byte> file = MustGenerate(options, &truth);
      EXPECT_EQ(file.size() % buffer_size, 0u);
      EXPECT_EQ(Walk(file).size(), truth.events()) << processors << " processors, " << buffer_size << "-byte buffers";
    }
  }
}

}  // namespace
}  // namespace etwpipe::tracegen

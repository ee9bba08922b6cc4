// Names of methods in a recording: on events, and as rundown events of an output that describes none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "formats/etl/etl_sink.h"
#include "formats/etl/etl_verify.h"
#include "formats/facts/clr_table.h"
#include "formats/facts/method_reference.h"
#include "formats/facts/method_table.h"
#include "formats/facts/surveyors.h"
#include "formats/open.h"
#include "pipeline/byte_reader.h"
#include "pipeline/executor.h"
#include "stages/register_stages.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace etwpipe {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSample = "net.4.5.2.x64.etl";

Plan PlanOf(const std::vector<std::string>& stages) {
  Registry registry;
  RegisterStages(registry);
  v1::PipelineConfig config;
  for (const auto& argument : stages) {
    const auto stage = ParseStageArgument(argument, registry);
    EXPECT_TRUE(stage.ok()) << stage.status().message();
    *config.add_stages() = *stage;
  }
  auto plan = MakePlan(config, registry);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return std::move(*plan);
}

RunSummary RunInto(const fs::path& input, Plan plan, Sink& sink, int threads, std::unique_ptr<Source>& source) {
  auto opened = OpenSource(input.string(), {});
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  source = std::move(*opened);
  const auto surveyors = facts::MakeSurveyors({});
  EXPECT_TRUE(surveyors.ok());
  Diagnostics diagnostics;
  const auto summary = Execute({.source = *source,
                                .plan = plan,
                                .sink = sink,
                                .threads = threads,
                                .diagnostics = &diagnostics,
                                .surveyors = surveyors->factory});
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  return summary.ok() ? *summary : RunSummary();
}

RunSummary Relog(const fs::path& input, const fs::path& output, const std::vector<std::string>& stages, int threads) {
  etl::EtlSinkOptions options;
  options.path = output.string();
  etl::EtlSink sink(options);
  std::unique_ptr<Source> source;
  return RunInto(input, PlanOf(stages), sink, threads, source);
}

// Keeps what a stage said of the events, too.
class AnnotationSink final : public Sink {
 public:
  SinkInfo info() const override { return {Order::kTime, true}; }
  Status Begin(const BeginArgs&) override { return {}; }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override {
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      const auto text = [&](std::string_view name) -> std::string {
        const AnnotationColumn* column = batch.FindAnnotation(name);
        return column != nullptr && column->has(index) ? std::string(column->string(index)) : std::string();
      };
      const std::string outcome = text("enrich.method.method_outcome");
      if (row.id == 190 || (row.id == 150 && row.opcode == 42)) {
        ++outcomes[outcome];
        names[{row.pid, LoadAt<uint64_t>(row.payload().data())}] =
            text("enrich.method.method_namespace") + "." + text("enrich.method.method_name");
      }
      if (const std::string symbol = text("enrich.method.symbol"); !symbol.empty()) ++symbols;
    }
    return std::make_unique<SinkChunk>();
  }
  Status Cut(std::unique_ptr<SinkChunk>, std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

  // Run with one thread only.
  mutable std::map<std::string, int> outcomes;
  mutable std::map<std::pair<uint32_t, uint64_t>, std::string> names;
  mutable int symbols = 0;
};

TEST(EnrichMethod, EveryEventWithAnIdGetsItsName) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  AnnotationSink sink;
  std::unique_ptr<Source> source;
  RunInto(input, PlanOf({"enrich.method"}), sink, 1, source);
  EXPECT_EQ(sink.outcomes, (std::map<std::string, int>{{"exact", 16494}}));
  EXPECT_EQ(sink.symbols, 79529) << "samples and one exception";
  // The names are those that verbose records of the recording give, read here without the table.
  std::map<std::pair<uint32_t, uint64_t>, std::set<std::string>> told;
  test::CollectSink events;
  std::unique_ptr<Source> again;
  RunInto(input, PlanOf({}), events, 1, again);
  const auto utf16 = [](const std::byte*& at) {
    std::string text;
    for (; LoadAt<uint16_t>(at) != 0; at += 2) text += static_cast<char>(LoadAt<uint16_t>(at));
    at += 2;
    return text;
  };
  for (const auto& event : events.events) {
    if (event.header.id != 143 && event.header.id != 144) continue;
    if (ToString(event.provider).substr(0, 8) != "e13c0d23" && ToString(event.provider).substr(0, 8) != "a669021c") {
      continue;
    }
    const std::byte* at = event.bytes.data() + event.header.payload_begin;
    const auto id = LoadAt<uint64_t>(at);
    at += 36;
    const std::string type = utf16(at);
    told[{event.header.pid, id}].insert(type + "." + utf16(at));
  }
  ASSERT_FALSE(sink.names.empty());
  for (const auto& [key, name] : sink.names) EXPECT_EQ(told[key].count(name), 1u) << name;
}

TEST(EnrichMethod, AnOutputWithoutDescriptionsGetsThem) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  const std::vector<std::string> stages = {"filter.where:event_id in (150, 190) and opcode in (42, 87)",
                                           "enrich.method"};
  const RunSummary summary = Relog(input, folder / "a.etl", stages, 1);
  EXPECT_GT(summary.events_injected, 4096u) << "more than one batch holds";

  // The output names its methods alone, and what it kept is unchanged.
  AnnotationSink named;
  std::unique_ptr<Source> source;
  RunInto(folder / "a.etl", PlanOf({"enrich.method"}), named, 1, source);
  EXPECT_EQ(named.outcomes, (std::map<std::string, int>{{"exact", 16494}}));
  AnnotationSink original;
  RunInto(input, PlanOf({"enrich.method"}), original, 1, source);
  EXPECT_EQ(named.names, original.names);
  std::map<EventInstanceId, std::vector<std::byte>> before;
  test::CollectSink all;
  RunInto(input, PlanOf({}), all, 1, source);
  for (auto& event : all.events) before[event.header.instance_id] = std::move(event.bytes);
  test::CollectSink kept;
  RunInto(folder / "a.etl", PlanOf({}), kept, 1, source);
  uint64_t injected = 0;
  for (const auto& event : kept.events) {
    if (InstanceIdSource(event.header.instance_id) == kInjectedSource) {
      ++injected;
    } else {
      EXPECT_EQ(before[event.header.instance_id], event.bytes);
    }
  }
  EXPECT_EQ(injected, summary.events_injected);
  EXPECT_EQ(kept.events.size(), 16494 + injected);

  const auto written = InputFile::Open((folder / "a.etl").string());
  ASSERT_TRUE(written.ok());
  const auto findings = etl::VerifyEtl(*written, 1, nullptr);
  ASSERT_TRUE(findings.ok());
  for (const VerifyFinding& finding : *findings) {
    EXPECT_EQ(finding.level, VerifyFinding::Level::kOk) << finding.check << ": " << finding.text;
  }
  // A second run adds nothing: everything is described.
  EXPECT_EQ(Relog(folder / "a.etl", folder / "b.etl", {"enrich.method"}, 1).events_injected, 0u);
  EXPECT_EQ(Relog(input, folder / "c.etl", {stages[0], "enrich.method:names=none"}, 1).events_injected, 0u);
}

// Counts of a run by "group name"; zeros are left out.
std::map<std::string, uint64_t> CountsOf(const RunSummary& summary, size_t stage) {
  std::map<std::string, uint64_t> counts;
  for (const StageCount& count : summary.stages.at(stage).counts) {
    if (count.count != 0) counts[fmt::format("{} {}", count.group, count.name)] = count.count;
  }
  return counts;
}

TEST(EnrichMethod, OutcomesAreCounted) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  // What the column says, counted here.
  class OutcomeSink final : public test::CollectSink {
   public:
    Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override {
      const AnnotationColumn& outcome = *batch.FindAnnotation("enrich.method.method_outcome");
      const AnnotationColumn& symbol = *batch.FindAnnotation("enrich.method.symbol");
      for (const uint16_t index : batch.selection) {
        const std::string group = symbol.has(index) ? "addresses " : "method_ids ";
        if (outcome.has(index)) ++counts[group + std::string(outcome.string(index))];
        if (symbol.has(index) && !outcome.has(index)) ++counts["addresses no_runtime"];
      }
      return test::CollectSink::Prepare(batch);
    }
    mutable std::map<std::string, uint64_t> counts;  // run with one thread only
  };
  OutcomeSink sink;
  std::unique_ptr<Source> source;
  const auto counts = CountsOf(RunInto(input, PlanOf({"enrich.method"}), sink, 1, source), 0);
  EXPECT_EQ(counts, sink.counts);
  EXPECT_EQ(counts.at("method_ids exact"), 16494u);
  EXPECT_GT(counts.at("addresses no_runtime"), 0u);
  for (const int threads : {2, 4}) {
    test::CollectSink other;
    EXPECT_EQ(CountsOf(RunInto(input, PlanOf({"enrich.method"}), other, threads, source), 0), counts);
  }
}

TEST(EnrichMethod, IdsThatStayUnknownAreADiagnostic) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  Relog(input, folder / "ids.etl", {"filter.where:event_id == 190"}, 1);  // no record tells a name
  for (const int threads : {1, 4}) {
    auto opened = OpenSource((folder / "ids.etl").string(), {});
    ASSERT_TRUE(opened.ok());
    Plan plan = PlanOf({"enrich.method"});
    test::CollectSink sink;
    Diagnostics diagnostics;
    const auto summary = Execute({.source = **opened,
                                  .plan = plan,
                                  .sink = sink,
                                  .threads = threads,
                                  .diagnostics = &diagnostics,
                                  .surveyors = facts::MakeSurveyors({})->factory});
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(diagnostics.count(DiagnosticId::kMethodUnknown), 273u);
    EXPECT_EQ(CountsOf(*summary, 0), (std::map<std::string, uint64_t>{{"method_ids unknown", 273}}));
  }
}

// The rundowns that a file tells of: "3676/9 end complete 271".
std::vector<std::string> RundownsOf(const fs::path& path) {
  test::CollectSink sink;
  std::unique_ptr<Source> source;
  RunInto(path, PlanOf({"enrich.method:names=none"}), sink, 1, source);
  std::vector<std::string> rundowns;
  for (const auto& rundown : source->context().facts->Get<facts::ClrTable>()->rundowns()) {
    rundowns.push_back(fmt::format("{}/{} {} {} {}", rundown.pid, rundown.clr_instance.value_or(0),
                                   rundown.at_end ? "end" : "start", rundown.incomplete() ? "incomplete" : "complete",
                                   rundown.methods));
  }
  return rundowns;
}

TEST(EnrichMethod, AddedRundownStandsBetweenItsMarks) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  using Lines = std::vector<std::string>;
  Relog(input, folder / "a.etl", {"filter.where:event_id in (150, 190) and opcode in (42, 87)", "enrich.method"}, 1);
  EXPECT_EQ(RundownsOf(folder / "a.etl"), (Lines{"3676/9 end complete 271", "3988/11 end complete 16221"}));
  // Each process: Init, then its methods, then Complete.
  test::CollectSink all;
  std::unique_ptr<Source> source;
  RunInto(folder / "a.etl", PlanOf({}), all, 1, source);
  std::vector<std::pair<uint16_t, uint32_t>> runs;  // id, pid of the injected ones, each change once
  for (const auto& event : all.events) {
    if (InstanceIdSource(event.header.instance_id) != kInjectedSource) continue;
    EXPECT_EQ(event.provider, GuidOf("a669021c-c450-4609-a035-5af59af4df18"));
    const std::pair now(event.header.id, event.header.pid);
    if (runs.empty() || runs.back() != now) runs.push_back(now);
    if (event.header.id == 144) continue;
    EXPECT_EQ(event.header.version, 1);
    EXPECT_EQ(event.header.keyword, 0x20038u);
    EXPECT_EQ(event.header.opcode, event.header.id == 148 ? 17 : 15);
    EXPECT_EQ(event.bytes.size(), event.header.payload_begin + sizeof(uint16_t)) << "ClrInstanceID";
  }
  EXPECT_EQ(runs, (std::vector<std::pair<uint16_t, uint32_t>>{
                      {148, 3676}, {144, 3676}, {146, 3676}, {148, 3988}, {144, 3988}, {146, 3988}}));

  // Only process 3988 has a rundown in the recording. An output that keeps its marks gets none more ...
  const std::string maps_and_marks = "filter.where:event_id in (146, 148, 150)";
  EXPECT_GT(Relog(input, folder / "marked.etl", {maps_and_marks, "enrich.method"}, 1).events_injected, 16000u);
  test::CollectSink marked;
  RunInto(folder / "marked.etl", PlanOf({}), marked, 1, source);
  for (const auto& event : marked.events) {
    const bool added = InstanceIdSource(event.header.instance_id) == kInjectedSource;
    EXPECT_TRUE(!added || event.header.id == 144) << event.header.id;
  }
  // ... and where the rundown was cut off, an output does not say that it is whole.
  Relog(input, folder / "cut.etl", {"filter.where:event_id in (144, 148, 150)"}, 1);
  Relog(folder / "cut.etl", folder / "b.etl", {"filter.where:event_id == 150", "enrich.method"}, 1);
  EXPECT_EQ(RundownsOf(folder / "b.etl"), (Lines{"3988/11 end incomplete 16221"}));
}

TEST(EnrichMethod, NamesStandBehindTheEventsTheyExplain) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  const RunSummary summary =
      Relog(input, folder / "a.etl", {"filter.where:event_id in (80, 190)", "enrich.method:names=events"}, 2);
  EXPECT_EQ(summary.events_injected, 274u) << "273 ids and the address of one exception";
  AnnotationSink named;
  std::unique_ptr<Source> source;
  RunInto(input, PlanOf({"enrich.method"}), named, 1, source);
  test::CollectSink all;
  RunInto(folder / "a.etl", PlanOf({}), all, 1, source);
  std::map<EventInstanceId, const test::CollectedEvent*> originals;
  uint64_t checked = 0;
  for (const auto& event : all.events) {
    if (InstanceIdSource(event.header.instance_id) != kInjectedSource) {
      originals[event.header.instance_id] = &event;
      continue;
    }
    EXPECT_EQ(event.provider, GuidOf("56e4a0cd-0f35-5584-7110-f7ea1385f7bd"));
    const std::byte* payload = event.bytes.data() + event.header.payload_begin;
    const auto about = originals.find(LoadAt<EventInstanceId>(payload));
    ASSERT_NE(about, originals.end()) << "it stands behind its event";
    EXPECT_EQ(about->second->header.timestamp, event.header.timestamp);
    EXPECT_EQ(about->second->header.pid, event.header.pid);
    if (event.header.id != 10) continue;
    ++checked;
    std::string name;
    for (const std::byte* at = payload + 16; LoadAt<uint16_t>(at) != 0; at += 2) {
      name += static_cast<char>(LoadAt<uint16_t>(at));
    }
    const std::string full = named.names[{event.header.pid, LoadAt<uint64_t>(payload, 8)}];
    EXPECT_EQ(full.substr(0, name.size() + 1), name + ".");
  }
  EXPECT_EQ(checked, 273u);
}

TEST(EnrichMethod, ThreadsDoNotShow) {
  const auto input = test::SamplePath(kSample);
  if (const auto missing = test::MissingData(input); !missing.empty()) GTEST_SKIP() << missing;
  const test::TempFolder folder;
  std::string first;
  for (const int threads : {1, 4}) {
    const fs::path output = folder / ("out" + std::to_string(threads));
    Relog(input, output, {"filter.where:event_id == 190", "enrich.method"}, threads);
    std::ifstream file(output, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_FALSE(bytes.empty());
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first);
  }
}

}  // namespace
}  // namespace etwpipe

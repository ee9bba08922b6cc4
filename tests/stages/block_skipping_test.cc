// Filters pass over blocks of an archive by its index. Whatever they pass over, the result must be the one of reading
// everything.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/etl/etl_source.h"
#include "formats/etwp/etwp_source.h"
#include "pipeline/executor.h"
#include "pipeline/plan.h"
#include "stages/register_stages.h"
#include "tests/formats/etwp/synthetic_trace.h"
#include "tests/support/collect.h"
#include "tests/support/test_data.h"
#include "tests/tracegen/generator.h"

namespace etwpipe::test {
namespace {

// An archive that may be told to read everything, and that counts what it passed over.
class WatchedSource : public Source {
 public:
  WatchedSource(Source& source, bool skips) : source_(source), skips_(skips) {}
  const TraceContext& context() const override { return source_.context(); }
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override {
    PassArgs passed = args;
    if (!skips_) passed.skip = nullptr;
    auto pass = source_.StartPass(passed);
    if (!pass.ok()) return pass.status();
    return std::unique_ptr<SourcePass>(std::make_unique<Pass>(std::move(*pass), skipped_));
  }
  uint64_t skipped() const { return skipped_; }

 private:
  class Pass : public SourcePass {
   public:
    Pass(std::unique_ptr<SourcePass> pass, uint64_t& skipped) : pass_(std::move(pass)), skipped_(skipped) {}
    Result<bool> Next(EventBatch& batch) override {
      auto more = pass_->Next(batch);
      skipped_ = pass_->events_skipped();
      return more;
    }
    Status Fill(EventBatch& batch) const override { return pass_->Fill(batch); }
    uint64_t bytes_done() const override { return pass_->bytes_done(); }
    uint64_t events_skipped() const override { return pass_->events_skipped(); }

   private:
    std::unique_ptr<SourcePass> pass_;
    uint64_t& skipped_;
  };
  Source& source_;
  bool skips_;
  uint64_t skipped_ = 0;
};

struct Outcome {
  std::string text;  // all that came out, and all that was counted
  uint64_t events_out = 0;
  uint64_t skipped = 0;
};

class BlockSkipping : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    RegisterStages(registry_);
    std::string path = folder_.File("made.etl");
    const std::string name = GetParam();
    if (name.find('.') == std::string::npos) {
      tracegen::Options options;
      options.size = 3 << 20;
      options.scenario = *tracegen::ParseScenario(name);
      ASSERT_TRUE(tracegen::GenerateToFile(options, path).ok());
    } else {
      path = SamplePath(name).string();
      if (const auto missing = MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
    }
    const auto file = *InputFile::Open(path);
    auto recording = etl::EtlSource::Open(file, {});
    ASSERT_TRUE(recording.ok());
    etwp::EtwpSinkOptions options;
    options.path = folder_.File("a.etwp");
    options.original = file;
    options.level = etwp::Level::kFast;
    options.block_bytes = 32 << 10;
    etwp::EtwpSink sink(options);
    ASSERT_TRUE(Execute(**recording, sink, 2, nullptr).ok());
    archive_ = *InputFile::Open(options.path);
  }

  Outcome Run(const std::vector<std::string>& stages, bool skips, int threads) {
    v1::PipelineConfig config;
    for (const auto& stage : stages) {
      auto parsed = ParseStageArgument(stage, registry_);
      EXPECT_TRUE(parsed.ok()) << parsed.status().message();
      *config.add_stages() = *parsed;
    }
    auto plan = MakePlan(config, registry_);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    auto source = etwp::EtwpSource::Open(archive_);
    EXPECT_TRUE(source.ok());
    WatchedSource watched(**source, skips);
    CollectSink sink;
    Diagnostics diagnostics;
    const auto summary = Execute({.source = watched,
                                  .plan = *plan,
                                  .sink = sink,
                                  .threads = threads,
                                  .diagnostics = &diagnostics,
                                  .progress = nullptr,
                                  .cancel = nullptr,
                                  .surveyors = nullptr});
    Outcome outcome;
    if (!summary.ok()) {
      outcome.text = std::string(summary.status().message());
      return outcome;
    }
    outcome.events_out = summary->events_out;
    outcome.skipped = watched.skipped();
    for (const auto& event : sink.events) {
      outcome.text += fmt::format("{} {} {}\n", event.header.instance_id, event.header.timestamp, event.bytes.size());
    }
    outcome.text += fmt::format("{} in, {} out\n", summary->events_in, summary->events_out);
    for (const auto& stage : summary->stages) {
      outcome.text += fmt::format("{}: {} in, {} dropped\n", stage.label, stage.events_in, stage.events_dropped);
    }
    for (const auto& entry : diagnostics.entries()) {
      outcome.text += fmt::format("{} x {}\n", entry.count, InfoOf(entry.id).id);
    }
    return outcome;
  }

  // Events passed over, after comparing both ways.
  uint64_t Compare(const std::vector<std::string>& stages) {
    const Outcome whole = Run(stages, false, 1);
    EXPECT_EQ(whole.skipped, 0u);
    uint64_t skipped = 0;
    for (const int threads : {1, 3}) {
      const Outcome quick = Run(stages, true, threads);
      EXPECT_TRUE(quick.text == whole.text)
          << fmt::format("{}: {} and {} events", fmt::join(stages, " | "), quick.events_out, whole.events_out);
      skipped = quick.skipped;
    }
    return skipped;
  }

  Registry registry_;
  TemporaryFolder folder_;
  std::shared_ptr<InputFile> archive_;
};

TEST_P(BlockSkipping, GivesWhatReadingEverythingGives) {
  const auto source = std::move(*etwp::EtwpSource::Open(archive_));
  const auto& blocks = source->archive().index().blocks();
  ASSERT_GT(blocks.size(), 3);
  for (const auto& block : blocks) EXPECT_TRUE(block.summarised());
  const auto& middle = blocks.Get(blocks.size() / 2);
  const int64_t from = middle.min_timestamp();
  const int64_t to = middle.max_timestamp();
  const uint32_t pid = middle.pids_size() > 0 ? middle.pids(middle.pids_size() / 2) : 4;

  const std::vector<std::vector<std::string>> cases = {
      {fmt::format("filter.time:range=ticks:{}..ticks:{},context=drop", from, to)},
      {fmt::format("filter.time:range=ticks:{}..ticks:{},context=keep", from, to)},
      {fmt::format("filter.time:range=ticks:{}..ticks:{},context=drop", from + 1, from + 2)},
      {fmt::format("filter.time:range=ticks:{}..,context=drop", to)},
      {fmt::format("filter.time:range=..ticks:{},context=keep", from)},
      {fmt::format("filter.time:range=..ticks:{},context=drop", blocks.Get(0).min_timestamp())},
      {fmt::format("filter.process:pids={},context=drop,attribute=none", pid)},
      {fmt::format("filter.process:pids={},context=keep", pid)},
      {fmt::format("filter.process:pids={},context=drop,unattributed=drop", pid)},
      {"filter.process:pids=3999999999,context=drop,attribute=none"},
      {fmt::format("filter.where:pid == {}", pid)},
      {fmt::format("filter.where:not (pid == {})", pid)},
      {fmt::format("filter.where:pid != {} and cpu == 0", pid)},
      {"filter.where:pid == 3999999999"},
      {"filter.where:pid in (3999999999, 3999999998) or tid == 3999999999"},
      {"filter.where:cpu == 0"},
      {"filter.where:cpu >= 64"},
      {"filter.where:cpu in (1, 3)"},
      {"filter.where:not has(pid)"},
      {"filter.where:has(pid) and level == 1"},
      {"filter.where:level <= 2 and level > 0"},
      {"filter.where:opcode == 10 or opcode == 11"},
      {"filter.where:provider == 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"},
      {"filter.where:provider != 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c and not (keyword & 0x8)"},
      {"filter.where:provider == e13c0d23-ccbc-4e12-931b-d9cc2eee27e4 and id == 143"},
      {"filter.where:header == 'PERFINFO64'"},
      {"filter.where:keyword & 0x8000"},
      {fmt::format("filter.where:ts >= {} and ts < {}", from, to)},
      {fmt::format("filter.where:ts == {}", from)},
      {fmt::format("filter.where:ts < {} or ts > {}", from, to)},
      {fmt::format("filter.where:not (ts >= {})", from)},
      {fmt::format("filter.where:{} > ts", from)},
      {"filter.where:time < 50ms"},
      {"filter.where:time >= 2s"},
      {"filter.where:size > 60000"},
      {"filter.where:true"},
      {"filter.where:false"},
      {"filter.where:instance_id < 5000000 and id == 1"},
      {fmt::format("filter.where:ts < {}", from), "filter.where:cpu == 0"},
      {"filter.where:cpu == 0", fmt::format("filter.time:range=ticks:{}..,context=keep", from)},
      {fmt::format("filter.time:range=ticks:{}..ticks:{},context=keep", from, to), "sample.every:3"},
      {"sample.every:3", fmt::format("filter.where:ts < {}", from)},
  };
  uint64_t skipped = 0;
  int skipping = 0;
  for (const auto& stages : cases) {
    const uint64_t count = Compare(stages);
    skipped += count;
    skipping += count > 0 ? 1 : 0;
  }
  EXPECT_GE(skipping, 10) << "filters that pass over blocks";
  EXPECT_GT(skipped, 0u);
  // What is certain to pass over nearly everything.
  EXPECT_GT(Compare({fmt::format("filter.where:ts == {} and ts <= {} and ts >= {}", from, from, from)}),
            source->archive().index().events() / 3);
}

// Every pair of bounds that stand at a block's border or one tick beside it.
TEST_P(BlockSkipping, BordersOfBlocks) {
  const auto source = std::move(*etwp::EtwpSource::Open(archive_));
  const auto& blocks = source->archive().index().blocks();
  for (int i = 0; i < blocks.size(); i += 1 + blocks.size() / 6) {
    for (const int64_t at : {blocks.Get(i).min_timestamp(), blocks.Get(i).max_timestamp()}) {
      for (const int64_t from : {at - 1, at, at + 1}) {
        Compare({fmt::format("filter.time:range=ticks:{}..ticks:{},context=drop", from, from + 1)});
        Compare({fmt::format("filter.where:ts <= {}", from)});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, BlockSkipping,
                         testing::Values("mixed", "clr", "build", "ShutdownPerfDiagLogger.etl", "DynamicEvents.etl"),
                         [](const auto& param) {
                           std::string name = param.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace etwpipe::test

// The executor against a made-up source: order, errors, cancellation, passes, and the same result for any thread count.
#include "pipeline/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/collect.h"

namespace etwpipe {
namespace {

using test::CollectSink;

// Events with instance ids 1, 2, 3 ... in batches of odd sizes.
class CountingSource : public Source {
 public:
  CountingSource(uint64_t events, size_t batch_rows) : events_(events), batch_rows_(batch_rows) {}

  const TraceContext& context() const override { return context_; }
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override {
    ++passes;
    counted_passes += args.diagnostics != nullptr ? 1 : 0;
    return std::unique_ptr<SourcePass>(std::make_unique<Pass>(*this));
  }

  int passes = 0;
  int counted_passes = 0;
  uint64_t fail_at = 0;  // Next() fails when it would give this id

 private:
  class Pass : public SourcePass {
   public:
    explicit Pass(CountingSource& source) : source_(source) {}
    Result<bool> Next(EventBatch& batch) override {
      if (next_ > source_.events_) return false;
      for (size_t i = 0; i < source_.batch_rows_ && next_ <= source_.events_; ++i, ++next_) {
        if (next_ == source_.fail_at) return Status::Input("source failed");
        EventHeader& row = batch.rows.emplace_back();
        row.instance_id = next_;
      }
      return true;
    }
    Status Fill(EventBatch& batch) const override {
      static const std::byte kRecord[8] = {};
      for (EventHeader& row : batch.rows) row.record = kRecord;
      batch.SelectAll();
      return {};
    }
    uint64_t bytes_done() const override { return next_; }

   private:
    CountingSource& source_;
    uint64_t next_ = 1;
  };

  uint64_t events_;
  size_t batch_rows_;
  TraceContext context_;
};

struct SeenState : StageState {
  uint64_t last = 0;
  uint64_t analysed = 0;
  int passes = 0;
};

// Ordered: checks that ids come one after the other and keeps every n-th event it sees.
class EveryNth : public Stage {
 public:
  EveryNth(uint64_t n, bool ordered, int analysis_passes = 0) : n_(n) {
    info_.name = "test.every";
    info_.ordered = ordered;
    info_.drops = true;
    info_.analysis_passes = analysis_passes;
  }
  const StageInfo& info() const override { return info_; }
  std::unique_ptr<StageState> NewState() const override { return std::make_unique<SeenState>(); }
  Status Analyze(const ProcessArgs& args, int pass) const override {
    auto& state = static_cast<SeenState&>(*args.state);
    state.analysed += args.batch.selection.size();
    state.passes = pass + 1;
    return {};
  }
  Status Process(const ProcessArgs& args) const override {
    auto& state = static_cast<SeenState&>(*args.state);
    if (info_.analysis_passes > 0 && state.analysed != analysed_expected) return Status::Internal("facts are missing");
    if (info_.ordered) {
      for (const uint16_t index : args.batch.selection) {
        if (args.batch.rows[index].instance_id <= state.last) return Status::Internal("out of order");
        state.last = args.batch.rows[index].instance_id;
      }
    }
    if (fail_at != 0) {
      for (const auto& row : args.batch.rows) {
        if (row.instance_id == fail_at) return Status::Internal("failed at " + std::to_string(fail_at));
      }
    }
    args.batch.Retain([this](const EventHeader& row) { return row.instance_id % n_ == 0; });
    return {};
  }
  uint64_t fail_at = 0;
  uint64_t analysed_expected = 0;

 private:
  uint64_t n_;
  StageInfo info_;
};

Plan PlanWith(std::unique_ptr<EveryNth> stage) {
  Plan plan;
  plan.analysis_passes = stage->info().analysis_passes;
  PlannedStage planned;
  planned.label = "every";
  planned.stage = std::move(stage);
  plan.stages.push_back(std::move(planned));
  return plan;
}

std::vector<uint64_t> Ids(const CollectSink& sink) {
  std::vector<uint64_t> ids;
  for (const auto& event : sink.events) ids.push_back(event.header.instance_id);
  return ids;
}

class ExecutorThreads : public testing::TestWithParam<int> {};

TEST_P(ExecutorThreads, DeliversInSequence) {
  CountingSource source(100'003, 257);
  CollectSink sink;
  const auto summary = Execute(source, sink, GetParam(), nullptr);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->events_in, 100'003u);
  EXPECT_EQ(summary->events_out, 100'003u);
  const auto ids = Ids(sink);
  ASSERT_EQ(ids.size(), 100'003u);
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], i + 1);
}

TEST_P(ExecutorThreads, RunsOrderedAndUnorderedStages) {
  for (const bool ordered : {false, true}) {
    CountingSource source(50'000, 100);
    CollectSink sink;
    Plan plan = PlanWith(std::make_unique<EveryNth>(7, ordered));
    const auto summary = Execute({source, plan, sink, GetParam(), nullptr, nullptr, nullptr});
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary->events_out, 50'000u / 7);
    EXPECT_EQ(summary->stages[0].events_in, 50'000u);
    EXPECT_EQ(summary->stages[0].events_dropped, 50'000u - 50'000u / 7);
    const auto ids = Ids(sink);
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], (i + 1) * 7);
  }
}

TEST_P(ExecutorThreads, ReportsTheErrorOfTheLowestBatch) {
  for (int round = 0; round < 20; ++round) {
    CountingSource source(20'000, 10);
    source.fail_at = 15'000;
    CollectSink sink;
    auto stage = std::make_unique<EveryNth>(1, false);
    stage->fail_at = 777;
    Plan plan = PlanWith(std::move(stage));
    const auto summary = Execute({source, plan, sink, GetParam(), nullptr, nullptr, nullptr});
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.status().message(), "every: failed at 777");
    EXPECT_LE(sink.events.size(), 770u) << "nothing after the failed batch may reach the sink";
  }
}

TEST_P(ExecutorThreads, StopsWhenTheSourceFails) {
  CountingSource source(20'000, 10);
  source.fail_at = 5'001;
  CollectSink sink;
  const auto summary = Execute(source, sink, GetParam(), nullptr);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().code(), StatusCode::kInput);
  EXPECT_EQ(sink.events.size(), 5'000u);
}

TEST_P(ExecutorThreads, AnalysisPassesSeeEverythingBeforeTheTransform) {
  CountingSource source(10'000, 64);
  CollectSink sink;
  auto stage = std::make_unique<EveryNth>(5, false, 2);
  stage->analysed_expected = 20'000;
  Plan plan = PlanWith(std::move(stage));
  Diagnostics diagnostics;
  const auto summary = Execute({source, plan, sink, GetParam(), &diagnostics, nullptr, nullptr});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(source.passes, 3);
  EXPECT_EQ(source.counted_passes, 1) << "damage is counted once however often the input is read";
  EXPECT_EQ(sink.events.size(), 2'000u);
}

TEST_P(ExecutorThreads, CancelsBetweenBatches) {
  CountingSource source(UINT64_C(1) << 40, 100);
  CancelToken cancel;
  class CancelAfter : public ProgressListener {
   public:
    explicit CancelAfter(CancelToken& token) : token_(token) {}
    void OnProgress(const Report& report) override {
      if (report.events_done > 5'000) token_.Cancel();
    }

   private:
    CancelToken& token_;
  } listener(cancel);
  CollectSink sink;
  Plan plan;
  const auto summary = Execute({source, plan, sink, GetParam(), nullptr, &listener, &cancel});
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().code(), StatusCode::kCancelled);
}

TEST_P(ExecutorThreads, AnEmptySourceFinishesTheSink) {
  CountingSource source(0, 10);
  CollectSink sink;
  const auto summary = Execute(source, sink, GetParam(), nullptr);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->events_in, 0u);
}

INSTANTIATE_TEST_SUITE_P(Counts, ExecutorThreads, testing::Values(1, 2, 4, 7));

}  // namespace
}  // namespace etwpipe

// Injected events at the border of two batches: behind every record of their timestamp and processor, for any size of a
// batch and any number of threads, against the plain rule applied to the whole trace at once.
#include "pipeline/injected_tail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "pipeline/executor.h"

namespace etwpipe {
namespace {

struct Record {
  int64_t timestamp = 0;
  uint16_t cpu = 0;
};

// Gives the records as they are listed, `batch_rows` at a time, in per-CPU order a batch of one processor each.
class ListSource : public Source {
 public:
  ListSource(std::vector<Record> records, size_t batch_rows) : records_(std::move(records)), batch_rows_(batch_rows) {}
  const TraceContext& context() const override { return context_; }
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override {
    return std::unique_ptr<SourcePass>(std::make_unique<Pass>(*this, args.order));
  }

 private:
  class Pass : public SourcePass {
   public:
    Pass(const ListSource& source, Order order) : source_(source), one_cpu_(order == Order::kPerCpu) {}
    Result<bool> Next(EventBatch& batch) override {
      const auto& records = source_.records_;
      if (next_ == records.size()) return false;
      const uint16_t cpu = records[next_].cpu;
      for (size_t i = 0; i < source_.batch_rows_ && next_ < records.size(); ++i, ++next_) {
        if (one_cpu_ && records[next_].cpu != cpu) break;
        EventHeader& row = batch.rows.emplace_back();
        row.instance_id = next_ + 1;
        row.timestamp = records[next_].timestamp;
        row.cpu = records[next_].cpu;
      }
      return true;
    }
    Status Fill(EventBatch& batch) const override {
      static const std::byte kRecord[8] = {};
      for (EventHeader& row : batch.rows) {
        row.record = kRecord;
        row.record_size = sizeof kRecord;
      }
      batch.SelectAll();
      return {};
    }
    uint64_t bytes_done() const override { return next_; }

   private:
    const ListSource& source_;
    bool one_cpu_;
    size_t next_ = 0;
  };

  std::vector<Record> records_;
  size_t batch_rows_;
  TraceContext context_;
};

// Two events beside each record whose id divides by 3; their record is the id. Drops ids that divide by 5 first.
class NotesStage : public Stage {
 public:
  NotesStage() { info_.injects = true; }
  const StageInfo& info() const override { return info_; }
  Status Process(const ProcessArgs& args) const override {
    EventBatch& batch = args.batch;
    batch.Retain([](const EventHeader& row) { return row.instance_id % 5 != 0; });
    std::vector<std::pair<uint16_t, EventHeader>> notes;
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      if (row.instance_id % 3 != 0) continue;
      for (int i = 0; i < 2; ++i) {
        EventHeader note = row;
        const auto record = batch.arena.Allocate(sizeof row.instance_id);
        std::memcpy(record.data(), &row.instance_id, record.size());
        note.record = record.data();
        note.instance_id = 0;
        note.flags = kInjected;
        notes.emplace_back(index, note);
      }
    }
    batch.Inject(notes);
    return {};
  }

 private:
  StageInfo info_;
};

// Says of every row, made or not, what it is about.
class LabelStage : public Stage {
 public:
  LabelStage() { info_.produces = {{"test.label", AnnotationType::kString, AnnotationUnit::kNone, {}}}; }
  const StageInfo& info() const override { return info_; }
  Status Process(const ProcessArgs& args) const override {
    AnnotationColumn& column = args.batch.AddAnnotation(info_.produces[0]);
    for (const uint16_t index : args.batch.selection) {
      const EventHeader& row = args.batch.rows[index];
      EventInstanceId about = row.instance_id;
      if (row.has(kInjected)) std::memcpy(&about, row.record, sizeof about);
      column.SetString(index, "about " + std::to_string(about));
    }
    return {};
  }

 private:
  StageInfo info_;
};

// What reached the sink: id and label, notes as 0.
using Line = std::pair<EventInstanceId, std::string>;

class LineSink : public Sink {
 public:
  explicit LineSink(Order order) : order_(order) {}
  SinkInfo info() const override { return {order_, true}; }
  Status Begin(const BeginArgs&) override { return {}; }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override {
    auto chunk = std::make_unique<Chunk>();
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      chunk->ids.push_back(row.instance_id);
      chunk->lines[row.cpu].emplace_back(row.has(kInjected) ? 0 : row.instance_id,
                                         batch.FindAnnotation("test.label")->string(index));
    }
    return std::unique_ptr<SinkChunk>(std::move(chunk));
  }
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) override {
    for (auto& [cpu, more] : static_cast<Chunk&>(*chunk).lines) {
      auto& all = lines[cpu];
      all.insert(all.end(), more.begin(), more.end());
    }
    for (const EventInstanceId id : static_cast<Chunk&>(*chunk).ids) ids.push_back(id);
    return {};
  }
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

  std::map<uint16_t, std::vector<Line>> lines;  // by processor
  std::vector<EventInstanceId> ids;

 private:
  struct Chunk : SinkChunk {
    std::map<uint16_t, std::vector<Line>> lines;
    std::vector<EventInstanceId> ids;
  };
  Order order_;
};

// The rule of design.md section 7 over the whole list: what belongs to the records of a timestamp on a processor stands
// behind the last of them.
std::map<uint16_t, std::vector<Line>> Plain(const std::vector<Record>& records) {
  std::map<uint16_t, std::vector<Line>> lines;
  std::map<uint16_t, std::vector<Line>> waiting;
  std::map<uint16_t, int64_t> last;
  const auto put = [&](uint16_t cpu) {
    for (auto& line : waiting[cpu]) lines[cpu].push_back(std::move(line));
    waiting[cpu].clear();
  };
  for (size_t i = 0; i < records.size(); ++i) {
    const EventInstanceId id = i + 1;
    if (id % 5 == 0) continue;
    const uint16_t cpu = records[i].cpu;
    if (last.count(cpu) != 0 && last[cpu] != records[i].timestamp) put(cpu);
    last[cpu] = records[i].timestamp;
    const std::string label = "about " + std::to_string(id);
    lines[cpu].emplace_back(id, label);
    if (id % 3 == 0) waiting[cpu].insert(waiting[cpu].end(), 2, Line(0, label));
  }
  for (const auto& [cpu, time] : last) put(cpu);
  return lines;
}

RunSummary RunStages(const std::vector<Record>& records, size_t batch_rows, LineSink& sink, int threads) {
  ListSource source(records, batch_rows);
  Plan plan;
  plan.Append(std::make_unique<NotesStage>());
  plan.Append(std::make_unique<LabelStage>());
  const auto summary = Execute({source, plan, sink, threads, nullptr, nullptr, nullptr});
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  return summary.ok() ? *summary : RunSummary();
}

class Borders : public testing::TestWithParam<int> {};

TEST_P(Borders, NotesFollowTheLastRecordOfTheirTimestamp) {
  const Order order = GetParam() % 2 == 0 ? Order::kTime : Order::kPerCpu;
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::vector<Record> records(2000);
  int64_t time = 0;
  for (Record& record : records) {
    if (random() % 4 == 0) ++time;
    record = {time, static_cast<uint16_t>(random() % 3)};
  }
  if (order == Order::kTime) {
    std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return std::tie(a.timestamp, a.cpu) < std::tie(b.timestamp, b.cpu);
    });
  }
  const auto expected = Plain(records);
  uint64_t total = 0;
  for (const auto& [cpu, lines] : expected) total += lines.size();
  for (const size_t batch_rows : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{64}, size_t{4096}}) {
    std::vector<EventInstanceId> ids;
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(batch_rows) + " rows, " + std::to_string(threads) + " threads");
      LineSink sink(order);
      const RunSummary summary = RunStages(records, batch_rows, sink, threads);
      ASSERT_EQ(sink.lines, expected);
      EXPECT_EQ(summary.events_in, records.size());
      EXPECT_EQ(summary.events_out, total);
      EXPECT_EQ(summary.events_injected, 1066u) << "two for each of 533 ids";
      EXPECT_EQ(summary.stages[1].events_dropped, 0u) << "what is held back is not dropped";
      if (ids.empty()) ids = sink.ids;
      EXPECT_EQ(sink.ids, ids);
      // Numbered in the order in which they stand.
      EventInstanceId last = 0;
      for (const EventInstanceId id : sink.ids) {
        if (InstanceIdSource(id) != kInjectedSource) continue;
        EXPECT_GT(id, last);
        last = id;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Traces, Borders, testing::Range(0, 6));

TEST(InjectedTail, AFileOfOneTimestampTakesBoundedMemory) {
  static_assert(2 * 16'000 > InjectedTail::kMaxHeld, "or nothing meets the bound");
  const std::vector<Record> records(60'000, Record{5, 1});
  LineSink sink(Order::kTime);
  const RunSummary summary = RunStages(records, 4096, sink, 1);
  EXPECT_EQ(summary.events_out, 48'000u + 2 * 16'000u);
  std::map<std::string, int> stands;
  for (const auto& [id, label] : sink.lines[1]) {
    if (id != 0) {
      ++stands[label];
    } else {
      EXPECT_EQ(stands.count(label), 1u) << "never before its own record";
    }
  }
}

}  // namespace
}  // namespace etwpipe

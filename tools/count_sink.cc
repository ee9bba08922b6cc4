// Prepare() counts a batch into a table of its own, Cut() adds the table to the total.
#include "tools/count_sink.h"

#include <algorithm>
#include <utility>

#include "formats/etl/header_record_row.h"
#include "formats/schema/schema_registry.h"

namespace etwpipe {

using schema::EventCounter;

struct CountSink::Chunk final : SinkChunk {
  EventCounter counter;
  uint64_t events = 0;
  int64_t first_time = std::numeric_limits<int64_t>::max();
  int64_t last_time = std::numeric_limits<int64_t>::min();
};

void CountSink::CountRows(const EventBatch& batch, EventCounter& counter) const {
  if (!ByProcess()) {
    for (const uint16_t index : batch.selection) counter.Add(schema::KindKey(batch.rows[index]), batch.rows[index]);
    return;
  }
  const bool by_thread = by_ == CountBy::kThread;
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    EventCounter::Key key{row.pid | (by_thread ? uint64_t{row.tid} << 32 : 0), 0, 0};
    const auto* process =
        processes_ != nullptr && row.has(kHasPid) ? processes_->Find(row.pid, row.timestamp) : nullptr;
    if (process != nullptr) key.high = static_cast<uint64_t>(process - processes_->all().data()) + 1;
    counter.Add(key, row);
  }
}

CountSink::CountSink(CountBy by) : by_(by) {}

SinkInfo CountSink::info() const {
  SinkInfo info{.order = Order::kPerCpu, .stores_annotations = true, .facts = kNoFacts};
  info.facts = ByProcess() ? kProcesses : kSchemas;
  info.facts_at_end = !ByProcess();
  return info;
}

CountSink::~CountSink() = default;

Status CountSink::Begin(const BeginArgs& args) {
  trace_ = &args.trace;
  processes_ = trace_->facts->Get<facts::ProcessTable>();
  const auto header = etl::HeaderRecordRow(*trace_);
  if (!header) return {};
  EventBatch batch;
  batch.rows.push_back(*header);
  batch.SelectAll();
  CountRows(batch, total_);
  counts_.events = 1;
  return {};
}

Result<std::unique_ptr<SinkChunk>> CountSink::Prepare(EventBatch& batch) const {
  auto chunk = free_.Take([] { return std::make_unique<Chunk>(); });
  chunk->counter.Clear();
  CountRows(batch, chunk->counter);
  chunk->events = batch.selection.size();
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    if (!row.has(kHasTimestamp)) continue;
    first = std::min(first, row.timestamp);
    last = std::max(last, row.timestamp);
  }
  chunk->first_time = first;
  chunk->last_time = last;
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status CountSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  std::unique_ptr<Chunk> counted(static_cast<Chunk*>(chunk.release()));
  total_.Add(counted->counter);
  counts_.events += counted->events;
  first_time_ = std::min(first_time_, counted->first_time);
  last_time_ = std::max(last_time_, counted->last_time);
  free_.Give(std::move(counted));
  return {};
}

std::vector<EventCount> CountSink::ProcessRows() const {
  std::vector<EventCount> rows;
  for (const auto& entry : total_.entries()) {
    EventCount& row = rows.emplace_back();
    row.pid = static_cast<uint32_t>(entry.key.low);
    row.tid = static_cast<uint32_t>(entry.key.low >> 32);
    if (entry.key.high != 0) row.process = &processes_->all()[entry.key.high - 1];
    row.count = entry.count;
    row.bytes = entry.bytes;
  }
  return rows;
}

Status CountSink::Finish() {
  std::vector<EventCount> rows;
  if (ByProcess()) {
    rows = ProcessRows();
  } else {
    const auto* registry = trace_->facts->Get<schema::SchemaRegistry>();
    for (const auto& kind : schema::CountsOf(total_, *trace_, registry)) rows.push_back(ToEventCount(kind));
  }
  counts_.rows = GroupCounts(by_, std::move(rows));
  if (first_time_ <= last_time_) {
    counts_.first_time = first_time_;
    counts_.last_time = last_time_;
  }
  return {};
}

}  // namespace etwpipe

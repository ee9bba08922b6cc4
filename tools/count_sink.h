// Counts events, their bytes and the time range they span: what `stats` and `info` read.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "formats/facts/process_table.h"
#include "pipeline/object_pool.h"
#include "pipeline/sink.h"
#include "tools/event_counts.h"

namespace etwpipe {

/// Counts in whatever order batches come. The log-file header record is counted like an event once Begin() was called.
class CountSink final : public Sink {
 public:
  explicit CountSink(CountBy by);
  ~CountSink() override;

  SinkInfo info() const override;
  Status Begin(const BeginArgs& args) override;
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  /// Asks the schemas for names.
  Status Finish() override;

  /// After Finish().
  const EventCounts& counts() const { return counts_; }

 private:
  struct Chunk;

  bool ByProcess() const { return by_ == CountBy::kProcess || by_ == CountBy::kThread; }
  void CountRows(const EventBatch& batch, schema::EventCounter& counter) const;
  std::vector<EventCount> ProcessRows() const;

  CountBy by_;
  const TraceContext* trace_ = nullptr;
  const facts::ProcessTable* processes_ = nullptr;
  schema::EventCounter total_;
  EventCounts counts_;
  int64_t first_time_ = std::numeric_limits<int64_t>::max();
  int64_t last_time_ = std::numeric_limits<int64_t>::min();
  mutable ObjectPool<Chunk> free_;  // chunks to reuse
};

}  // namespace etwpipe

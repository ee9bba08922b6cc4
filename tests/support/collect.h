// Runs a source into memory: what a test compares.
#pragma once

#include <string>
#include <vector>

#include "pipeline/executor.h"
#include "pipeline/sink.h"
#include "pipeline/source.h"

namespace etwpipe::test {

/// One event, owning its bytes.
struct CollectedEvent {
  EventHeader header;  // `record` is null: see bytes
  Guid provider;
  std::vector<std::byte> bytes;
};

/// A sink that keeps every event it gets, in order.
class CollectSink : public Sink {
 public:
  explicit CollectSink(Order order = Order::kTime) : order_(order) {}

  SinkInfo info() const override { return {order_, true}; }
  Status Begin(const BeginArgs& args) override {
    trace_ = &args.trace;
    return {};
  }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override {
    auto chunk = std::make_unique<Chunk>();
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      CollectedEvent event{row, trace_->provider_guid(row), {row.record, row.record + row.record_size}};
      event.header.record = nullptr;
      chunk->events.push_back(std::move(event));
    }
    return std::unique_ptr<SinkChunk>(std::move(chunk));
  }
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) override {
    auto& more = static_cast<Chunk&>(*chunk).events;
    events.insert(events.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return {};
  }
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

  std::vector<CollectedEvent> events;

 private:
  struct Chunk : SinkChunk {
    std::vector<CollectedEvent> events;
  };
  Order order_;
  const TraceContext* trace_ = nullptr;
};

}  // namespace etwpipe::test

// Fetches a few events of a trace by id.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/event.h"
#include "pipeline/guid.h"
#include "pipeline/sink.h"

namespace etwpipe {

/// A copy of an event.
struct FetchedEvent {
  EventHeader row;  ///< its `record` points into `bytes`
  std::vector<std::byte> bytes;
  std::optional<Guid> provider;
};

/// Keeps copies of the events with some ids; several per id where ids repeat.
class EventFetch final : public Sink {
 public:
  /// `ids` is sorted and outlives the sink.
  explicit EventFetch(const std::vector<EventInstanceId>& ids) : ids_(ids) {}

  SinkInfo info() const override { return {Order::kPerCpu, true}; }
  Status Begin(const BeginArgs& args) override {
    trace_ = &args.trace;
    return {};
  }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

  /// The first event of that id, or null.
  const FetchedEvent* Find(EventInstanceId id) const;

 private:
  const std::vector<EventInstanceId>& ids_;
  const TraceContext* trace_ = nullptr;
  std::vector<std::unique_ptr<FetchedEvent>> events_;
};

/// What differs between two events of one id: "payload at 12", "record size 96, 104", "pid", "timestamp", ...
std::vector<std::string> DescribeChange(const FetchedEvent& a, const FetchedEvent& b);

}  // namespace etwpipe

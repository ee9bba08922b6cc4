// Counts events, their bytes and the time range they span: what `stats` and `info` read.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/facts/process_table.h"
#include "formats/schema/event_schema.h"
#include "pipeline/guid.h"
#include "pipeline/sink.h"

namespace etwpipe {

/// What events are counted by.
enum class CountBy : uint8_t {
  kKind,  ///< header, provider, id, opcode, version
  kName,  ///< provider_name/name; kinds without a name stay apart
  kProvider,
  kProcess,  ///< process instance, pid where no process is known
  kThread,   ///< the same and tid
};

/// One row of the result. Fields that the grouping does not use are zero or empty.
struct EventCount {
  std::string header;  ///< "EVENT_HEADER64"; kKind, and kName without a name
  std::optional<Guid> provider;
  std::string provider_name;  ///< empty where nobody knows it
  std::string name;           ///< kKind: empty also where events of one kind have several names
  uint16_t id = 0;
  uint16_t version = 0;
  uint8_t opcode = 0;
  uint32_t pid = 0;  ///< kNoId: the records carry none
  uint32_t tid = 0;
  const facts::ProcessInstance* process = nullptr;  ///< kProcess, kThread; lives as long as the source's facts
  std::vector<schema::SchemaOrigin> origins;        ///< who described events of the row; sorted
  uint64_t count = 0;
  uint64_t bytes = 0;   ///< sum of record sizes
  uint64_t opaque = 0;  ///< events that no schema describes
};

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

  /// After Finish(). Largest count first; ties by provider, name, id, opcode, version, header, pid, tid, start.
  std::vector<EventCount> Counts() const;
  /// Header record included.
  uint64_t events() const { return events_; }
  /// Raw ticks over events that have a timestamp of their own; nullopt if there is none. Header record not included.
  std::optional<int64_t> first_time() const { return Time(first_time_); }
  std::optional<int64_t> last_time() const { return Time(last_time_); }

 private:
  class Counter;
  struct Chunk;

  std::optional<int64_t> Time(int64_t value) const {
    return first_time_ > last_time_ ? std::nullopt : std::optional(value);
  }
  std::unique_ptr<Chunk> TakeChunk() const;
  bool ByProcess() const { return by_ == CountBy::kProcess || by_ == CountBy::kThread; }
  void CountRows(const EventBatch& batch, Counter& counter) const;
  EventCount RowOf(size_t entry) const;

  CountBy by_;
  const TraceContext* trace_ = nullptr;
  const facts::ProcessTable* processes_ = nullptr;
  std::unique_ptr<Counter> total_;
  /// By entry of total_: what the schemas say.
  struct Described {
    std::string provider_name;
    std::string name;
    std::optional<schema::SchemaOrigin> origin;
  };
  std::vector<Described> described_;
  uint64_t events_ = 0;
  int64_t first_time_ = std::numeric_limits<int64_t>::max();
  int64_t last_time_ = std::numeric_limits<int64_t>::min();
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Chunk>> free_;  // chunks to reuse
};

}  // namespace etwpipe

// Merged by time: k-way merge of the per-processor streams (design.md section 7).
//
// A stream's merge time is the largest timestamp it has shown so far, so a record that steps back stands right after
// its predecessor and a stream is never reordered. Ties go to the lower processor. One buffer per processor is open,
// and the next one is loaded ahead.
#include <algorithm>

#include "formats/etl/buffer_streams.h"
#include "formats/etl/etl_pass.h"
#include "formats/etl/row_filler.h"

namespace etwpipe::etl {
namespace {

constexpr uint64_t kMaxBytesAhead = 256u << 20;

struct MergeEntry {
  const LoadedBuffer* buffer;
  uint32_t record;
};
// What Next() leaves for Fill(): a place per row.
using MergeEntries = std::vector<MergeEntry>;

struct Stream {
  const CpuStream* cpu = nullptr;
  StreamClock clock;
  size_t next_entry = 0;  // in cpu->entries
  std::shared_ptr<LoadedBuffer> buffer;
  size_t record = 0;       // in buffer
  int64_t merge_time = 0;  // of that record
  bool started = false;
  bool pinned = false;  // in the batch being made

  bool done() const { return buffer == nullptr; }
};

// True if `a` stands before `b`.
bool Before(const Stream& a, const Stream& b) {
  return a.merge_time != b.merge_time ? a.merge_time < b.merge_time : a.cpu->cpu < b.cpu->cpu;
}

class MergePass : public SourcePass {
 public:
  explicit MergePass(const EtlPassArgs& args)
      : trace_(args.trace),
        diagnostics_(args.diagnostics),
        split_(SplitStreams(args.index, args.diagnostics)),
        loader_(args.load, args.index, args.threads, args.diagnostics) {
    prefetch_ = split_.streams.size() * uint64_t{args.index.max_image_size} <= kMaxBytesAhead;
    streams_.resize(split_.streams.size());
    for (size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].cpu = &split_.streams[i];
      streams_[i].clock = {args.header.base_ticks, false};
    }
  }

  Result<bool> Next(EventBatch& batch) override {
    if (!primed_) ETWPIPE_RETURN_IF_ERROR(Prime(batch));
    auto entries = std::make_shared<MergeEntries>();
    entries->reserve(kMaxBatchRows);
    for (Stream* stream : heap_) Pin(*stream, batch, false);
    size_t bytes = 0;
    while (!heap_.empty() && entries->size() < kMaxBatchRows && bytes < kMaxBatchBytes) {
      ETWPIPE_RETURN_IF_ERROR(TakeRun(batch, *entries, bytes));
    }
    if (heap_.empty() && next_rest_ < split_.rest.size()) ETWPIPE_RETURN_IF_ERROR(OpenRest(batch));
    const bool more = !entries->empty() || !batch.opened.empty();
    batch.source_state = std::move(entries);
    return more;
  }

  Status Fill(EventBatch& batch) const override {
    const auto& entries = *static_cast<const MergeEntries*>(batch.source_state.get());
    batch.rows.reserve(entries.size());
    RowFiller filler(trace_, diagnostics_, batch);
    for (const MergeEntry& entry : entries) filler.Add(*entry.buffer, entry.record);
    batch.SelectAll();
    return {};
  }

  uint64_t bytes_done() const override { return bytes_done_; }

 private:
  Status Prime(EventBatch& batch) {
    primed_ = true;
    for (Stream& stream : streams_) {
      ETWPIPE_RETURN_IF_ERROR(OpenNext(stream, batch));
      if (!stream.done()) heap_.push_back(&stream);
    }
    std::make_heap(heap_.begin(), heap_.end(), After);
    return {};
  }

  static bool After(const Stream* a, const Stream* b) { return Before(*b, *a); }

  // Records of the earliest stream until another one is earlier.
  Status TakeRun(EventBatch& batch, MergeEntries& entries, size_t& bytes) {
    std::pop_heap(heap_.begin(), heap_.end(), After);
    Stream& stream = *heap_.back();
    const Stream* second = heap_.size() > 1 ? heap_.front() : nullptr;
    Pin(stream, batch, true);
    while (entries.size() < kMaxBatchRows && bytes < kMaxBatchBytes) {
      entries.push_back({stream.buffer.get(), static_cast<uint32_t>(stream.record)});
      bytes += stream.buffer->records[stream.record].size;
      if (++stream.record == stream.buffer->records.size()) {
        ETWPIPE_RETURN_IF_ERROR(OpenNext(stream, batch));
        if (stream.done()) {
          heap_.pop_back();
          return {};
        }
        Pin(stream, batch, true);
      } else {
        stream.merge_time = std::max(stream.merge_time, stream.buffer->timestamps[stream.record]);
      }
      if (second != nullptr && !Before(stream, *second)) break;
    }
    std::push_heap(heap_.begin(), heap_.end(), After);
    return {};
  }

  void Pin(Stream& stream, EventBatch& batch, bool pin) {
    if (pin && !stream.pinned) batch.pins.push_back(stream.buffer);
    stream.pinned = pin;
  }

  // Opens the stream's next buffer that has records; buffers without any are only shown to the sink.
  Status OpenNext(Stream& stream, EventBatch& batch) {
    stream.buffer.reset();
    stream.pinned = false;
    const auto& order = stream.cpu->entries;
    while (stream.next_entry < order.size()) {
      auto loaded = loader_.Take(order[stream.next_entry++]);
      if (!loaded.ok()) return loaded.status();
      if (prefetch_ && stream.next_entry < order.size()) loader_.Prefetch(order[stream.next_entry]);
      LoadedBuffer& buffer = **loaded;
      bytes_done_ += buffer.file_size;
      ContinueStream(stream.clock, buffer, diagnostics_);
      batch.opened.push_back(*loaded);
      if (buffer.records.empty()) continue;
      stream.merge_time = stream.started ? std::max(stream.merge_time, buffer.timestamps[0]) : buffer.timestamps[0];
      stream.started = true;
      stream.record = 0;
      stream.buffer = std::move(*loaded);
      return {};
    }
    return {};
  }

  // Ranges without records, a few a batch so that memory stays bounded.
  Status OpenRest(EventBatch& batch) {
    constexpr size_t kPerBatch = 4;
    for (size_t i = 0; i < kPerBatch && next_rest_ < split_.rest.size(); ++i) {
      auto loaded = loader_.Take(split_.rest[next_rest_++]);
      if (!loaded.ok()) return loaded.status();
      bytes_done_ += (*loaded)->file_size;
      batch.opened.push_back(*loaded);
    }
    return {};
  }

  const TraceContext& trace_;
  Diagnostics* diagnostics_;
  CpuStreams split_;
  BufferLoader loader_;
  std::vector<Stream> streams_;
  std::vector<Stream*> heap_;
  bool primed_ = false;
  bool prefetch_ = true;
  size_t next_rest_ = 0;
  uint64_t bytes_done_ = 0;
};

}  // namespace

std::unique_ptr<SourcePass> MakeMergePass(const EtlPassArgs& args) { return std::make_unique<MergePass>(args); }

}  // namespace etwpipe::etl

// Buffer after buffer: no merge, so a batch is one buffer (or a part of a large one) and nothing is copied.
#include <algorithm>
#include <unordered_map>

#include "formats/etl/buffer_streams.h"
#include "formats/etl/etl_pass.h"
#include "formats/etl/row_filler.h"

namespace etwpipe::etl {
namespace {

constexpr uint64_t kMaxBytesAhead = 64u << 20;

// What Next() leaves for Fill().
struct BufferPart {
  std::shared_ptr<const LoadedBuffer> buffer;
  size_t begin = 0;
  size_t end = 0;
};

class BufferPass : public SourcePass {
 public:
  explicit BufferPass(const EtlPassArgs& args)
      : trace_(args.trace),
        diagnostics_(args.diagnostics),
        loader_(args.load, args.index, args.threads, args.diagnostics),
        index_(args.index) {
    const uint64_t buffer_bytes = std::max<uint32_t>(1, args.index.max_image_size);
    ahead_ = static_cast<size_t>(
        std::clamp<uint64_t>(kMaxBytesAhead / buffer_bytes, 1, 4 * static_cast<uint64_t>(args.threads)));
    PutInOrder(SplitStreams(args.index, args.diagnostics), args.header.base_ticks);
  }

  Result<bool> Next(EventBatch& batch) override {
    while (next_record_ == (current_ ? current_->records.size() : 0)) {
      if (next_entry_ == order_.size()) return false;
      ETWPIPE_RETURN_IF_ERROR(Open(batch));
      if (current_->records.empty()) {
        batch.buffer = current_;
        batch.source_state = std::make_shared<BufferPart>();
        return true;
      }
    }
    auto part = std::make_shared<BufferPart>();
    part->buffer = current_;
    part->begin = next_record_;
    part->end = PartEnd();
    batch.buffer = current_;
    batch.buffer_row = part->begin;
    batch.pins.push_back(current_);
    next_record_ = part->end;
    batch.source_state = std::move(part);
    return true;
  }

  Status Fill(EventBatch& batch) const override {
    const auto& part = *static_cast<const BufferPart*>(batch.source_state.get());
    batch.rows.reserve(part.end - part.begin);
    RowFiller filler(trace_, diagnostics_, batch);
    for (size_t i = part.begin; i < part.end; ++i) filler.Add(*part.buffer, i);
    batch.SelectAll();
    return {};
  }

  uint64_t bytes_done() const override { return bytes_done_; }

 private:
  // File order, except that each processor's buffers keep to their sequence.
  void PutInOrder(const CpuStreams& streams, int64_t base_ticks) {
    std::unordered_map<uint16_t, size_t> stream_of;
    std::vector<size_t> used(streams.streams.size(), 0);
    for (size_t s = 0; s < streams.streams.size(); ++s) {
      stream_of[streams.streams[s].cpu] = s;
      clocks_[streams.streams[s].cpu] = {base_ticks, false};
    }
    order_.reserve(index_.entries.size());
    for (size_t i = 0; i < index_.entries.size(); ++i) {
      if (!index_.entries[i].has_records()) {
        order_.push_back(i);
        continue;
      }
      const size_t s = stream_of[index_.entries[i].cpu];
      order_.push_back(streams.streams[s].entries[used[s]++]);
    }
  }

  Status Open(EventBatch& batch) {
    while (prefetched_ < std::min(order_.size(), next_entry_ + ahead_)) loader_.Prefetch(order_[prefetched_++]);
    auto loaded = loader_.Take(order_[next_entry_++]);
    prefetched_ = std::max(prefetched_, next_entry_);
    if (!loaded.ok()) return loaded.status();
    ContinueStream(clocks_[(*loaded)->cpu], **loaded, diagnostics_);
    bytes_done_ += (*loaded)->file_size;
    current_ = std::move(*loaded);
    next_record_ = 0;
    batch.opened.push_back(current_);
    return {};
  }

  size_t PartEnd() const {
    size_t end = std::min(current_->records.size(), next_record_ + kMaxBatchRows);
    const uint32_t first = current_->records[next_record_].offset;
    while (end > next_record_ + 1 && current_->records[end - 1].offset - first > kMaxBatchBytes) --end;
    return end;
  }

  const TraceContext& trace_;
  Diagnostics* diagnostics_;
  BufferLoader loader_;
  const BufferIndex& index_;
  std::vector<size_t> order_;
  std::unordered_map<uint16_t, StreamClock> clocks_;
  size_t ahead_ = 1;
  size_t next_entry_ = 0;
  size_t prefetched_ = 0;
  std::shared_ptr<const LoadedBuffer> current_;
  size_t next_record_ = 0;
  uint64_t bytes_done_ = 0;
};

}  // namespace

std::unique_ptr<SourcePass> MakeBufferPass(const EtlPassArgs& args) { return std::make_unique<BufferPass>(args); }

}  // namespace etwpipe::etl

// Records of loaded buffers as event rows.
#pragma once

#include "formats/etl/buffer_loader.h"
#include "formats/etl/layout.h"
#include "formats/etl/record.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"

namespace etwpipe::etl {

/// Appends rows to a batch and counts what is odd about them. One per batch.
class RowFiller {
 public:
  RowFiller(const TraceContext& trace, Diagnostics* diagnostics, EventBatch& batch)
      : providers_(*trace.providers),
        pointer_size_(trace.info.pointer_size),
        diagnostics_(diagnostics),
        batch_(batch) {}
  ~RowFiller();
  RowFiller(const RowFiller&) = delete;
  RowFiller& operator=(const RowFiller&) = delete;

  void Add(const LoadedBuffer& buffer, size_t index) {
    EventHeader& row = batch_.rows.emplace_back();
    if (!ParseRecord(buffer.record(index), pointer_size_, providers_, row)) CountBadItems(buffer, index);
    row.timestamp = buffer.timestamps[index];
    row.instance_id = buffer.id(index);
    row.cpu = buffer.cpu;
    if (buffer.records[index].offset + Align8(row.record_size) <= buffer.image.size()) row.flags |= kPadded;
  }

 private:
  void CountBadItems(const LoadedBuffer& buffer, size_t index) const;

  ProviderResolver providers_;
  uint32_t pointer_size_;
  Diagnostics* diagnostics_;
  EventBatch& batch_;
};

}  // namespace etwpipe::etl

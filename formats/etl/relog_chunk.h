// What the .etl sink keeps of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "formats/etl/layout.h"
#include "pipeline/batch.h"
#include "pipeline/event.h"
#include "pipeline/sink.h"
#include "pipeline/source_buffer.h"

namespace etwpipe::etl {

/// Selected rows of a batch. Of a batch that is a whole buffer or part of one, with every row selected as it was, only
/// the places are kept; otherwise the records are copied here, padded to 8 bytes.
struct RelogChunk : SinkChunk {
  struct Record {
    uint32_t offset;  ///< in bytes
    uint16_t size;
    uint16_t cpu;
    EventInstanceId id;
    int64_t timestamp;
  };
  std::shared_ptr<const SourceBuffer> buffer;  ///< null in time order
  size_t buffer_row = 0;                       ///< of the first row in `buffer`
  size_t row_count = 0;
  bool complete = false;              ///< only the places are kept
  std::vector<EventInstanceId> ids;   ///< of a complete chunk
  int64_t max_timestamp = INT64_MIN;  ///< raw ticks, as all times here
  int64_t last_timestamp = 0;
  uint64_t max_injected = 0;    ///< largest counter of an injected event, 0 for none
  std::vector<Record> records;  ///< their padded bytes follow each other in `bytes`
  std::unique_ptr<std::byte[]> bytes;

  std::span<const std::byte> padded(const Record& record) const {
    return {bytes.get() + record.offset, Align8(record.size)};
  }
  /// Brings a complete chunk into the form of a filtered one.
  void CopyRecords();
  /// Whether the last record of `buffer` is in this chunk.
  bool last_part() const { return buffer_row + row_count == buffer->records.size(); }
};

/// Takes the selected rows of a batch. Any thread.
std::unique_ptr<RelogChunk> MakeRelogChunk(const EventBatch& batch);

}  // namespace etwpipe::etl

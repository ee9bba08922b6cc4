#include "formats/etl/relog_chunk.h"

#include <algorithm>
#include <cstring>

namespace etwpipe::etl {

void RelogChunk::CopyRecords() {
  size_t total = 0;
  for (size_t i = 0; i < row_count; ++i) total += Align8(buffer->records[buffer_row + i].size);
  bytes = std::make_unique<std::byte[]>(total);
  uint32_t used = 0;
  for (size_t i = 0; i < row_count; ++i) {
    const auto record = buffer->record(buffer_row + i);
    std::memcpy(bytes.get() + used, record.data(), record.size());
    records.push_back({used, static_cast<uint16_t>(record.size()), buffer->cpu, ids[i], last_timestamp});
    used += static_cast<uint32_t>(Align8(record.size()));
  }
}

std::unique_ptr<RelogChunk> MakeRelogChunk(const EventBatch& batch) {
  auto chunk = std::make_unique<RelogChunk>();
  chunk->buffer = batch.buffer;
  chunk->buffer_row = batch.buffer_row;
  chunk->row_count = batch.rows.size();
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    chunk->max_timestamp = std::max(chunk->max_timestamp, row.timestamp);
    chunk->last_timestamp = row.timestamp;
    if (row.has(kInjected)) {
      chunk->max_injected = std::max(chunk->max_injected, row.instance_id & ~kInstanceIdSourceMask);
    }
  }
  if (batch.buffer != nullptr && batch.selection.size() == batch.rows.size() && !batch.rows.empty()) {
    // The first file header is no row, so the buffer that holds it is never whole; elsewhere rows are records.
    const auto changed = [](const EventHeader& row) { return row.has(kRewritten) || row.has(kInjected); };
    if (std::none_of(batch.rows.begin(), batch.rows.end(), changed) &&
        batch.buffer_row + batch.rows.size() <= batch.buffer->records.size()) {
      chunk->complete = true;
      chunk->ids.reserve(batch.rows.size());
      for (const EventHeader& row : batch.rows) chunk->ids.push_back(row.instance_id);
      return chunk;
    }
  }
  size_t total = 0;
  for (const uint16_t index : batch.selection) total += Align8(batch.rows[index].record_size);
  chunk->bytes = std::make_unique_for_overwrite<std::byte[]>(total);
  chunk->records.reserve(batch.selection.size());
  size_t used = 0;
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    const size_t padded = Align8(row.record_size);
    const size_t copied = row.has(kPadded) ? padded : row.record_size;
    std::byte* place = chunk->bytes.get() + used;
    std::memcpy(place, row.record, copied);
    std::memset(place + copied, 0, padded - copied);
    chunk->records.push_back({static_cast<uint32_t>(used), row.record_size, row.cpu, row.instance_id, row.timestamp});
    used += padded;
  }
  return chunk;
}

}  // namespace etwpipe::etl

#include "formats/etl/buffer_packer.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/etl/kernel_groups.h"
#include "formats/etl/layout.h"
#include "formats/etl/record.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr size_t kMaxSpareBuilders = 256;
constexpr uint32_t kHeaderBufferStep = 512;  // of compressed files; plain ones have one buffer size

// Records that follow each other without a gap from `begin`; returns the end of the last one's padding, 0 if one does
// not.
uint64_t ContiguousEnd(std::span<const RecordPlace> records, uint64_t begin) {
  for (const RecordPlace& record : records) {
    if (record.offset != begin) return 0;
    begin += Align8(record.size);
  }
  return begin;
}

bool IsGroupZero(std::span<const std::byte> record) {
  const auto type = LoadAt<uint8_t>(record.data(), 2);
  const bool kernel = type == kTypeSystem32 || type == kTypeSystem64 || type == kTypePerfInfo32 ||
                      type == kTypePerfInfo64 || type == kTypeCompact32 || type == kTypeCompact64;
  return kernel && LoadAt<uint8_t>(record.data(), 3) == kMarkerFixed &&
         LoadAt<uint8_t>(record.data(), 7) == kGroupHeader;
}

}  // namespace

struct BufferPacker::OpenBuffer {
  uint16_t cpu = 0;
  std::unique_ptr<BufferBuilder> builder;
  std::vector<RecordPlace> places;
  std::vector<EventInstanceId> ids;
  int64_t last_timestamp = 0;
};

BufferPacker::BufferPacker(Options options)
    : options_(std::move(options)),
      buffer_size_(options_.buffer_size),
      max_timestamp_(options_.base_ticks),
      next_injected_(options_.next_injected) {}

BufferPacker::~BufferPacker() = default;

Status BufferPacker::Add(std::unique_ptr<RelogChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  max_timestamp_ = std::max(max_timestamp_, chunk->max_timestamp);
  next_injected_ = std::max(next_injected_, chunk->max_injected + 1);
  if (!header_cut_) {
    const bool header_buffer = chunk->buffer != nullptr && chunk->buffer->ordinal == 0;
    ETWPIPE_RETURN_IF_ERROR(CutHeaderBuffer(header_buffer ? chunk.get() : nullptr, blocks));
    if (header_buffer && chunk->complete) {
      // Its records were taken apart above; what is no bookkeeping goes on as any other record.
      chunk->complete = false;
    }
  }
  if (chunk->buffer == nullptr) return Pack(*chunk, blocks);
  // Ranges that could not be read and buffers without records have nothing to relog; diagnostics tell of them.
  if (chunk->buffer->records.empty()) return {};
  if (!pending_.empty() && pending_.front()->buffer != chunk->buffer) ETWPIPE_RETURN_IF_ERROR(CutPending(blocks));
  const bool last = chunk->last_part();
  pending_.push_back(std::move(chunk));
  return last ? CutPending(blocks) : Status();
}

Status BufferPacker::End(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (!header_cut_) ETWPIPE_RETURN_IF_ERROR(CutHeaderBuffer(nullptr, blocks));
  if (!pending_.empty()) ETWPIPE_RETURN_IF_ERROR(CutPending(blocks));
  for (auto& [cpu, open] : open_) {
    if (open->builder && !open->builder->empty()) CloseBuffer(*open, blocks);
  }
  return {};
}

// The header buffer holds the file header and, of the input's header buffer, the kept records of group 0 that follow
// it.
Status BufferPacker::CutHeaderBuffer(RelogChunk* first, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  header_cut_ = true;
  const size_t header_end = buffer::kHeaderSize + Align8(options_.header_record.size());
  if (options_.header_record.empty() || header_end > kMaxBufferBytes)
    return Status::Internal("no log-file header to write");
  buffer_size_ = std::max<uint32_t>(buffer_size_, static_cast<uint32_t>((header_end + 1023) / 1024 * 1024));
  auto block = std::make_unique<RelogBlock>();
  std::vector<std::pair<std::span<const std::byte>, EventInstanceId>> kept;
  size_t end = header_end;
  if (first != nullptr) {
    // Its records stay on their processor; the file header has none.
    block->fields.cpu = first->buffer->cpu;
    if (first->complete) first->CopyRecords();
    size_t taken = 0;
    for (const auto& record : first->records) {
      const auto padded = first->padded(record);
      if (!IsGroupZero(padded) || end + padded.size() > buffer_size_) break;
      kept.emplace_back(padded.first(record.size), record.id);
      end += padded.size();
      ++taken;
    }
    first->records.erase(first->records.begin(), first->records.begin() + static_cast<ptrdiff_t>(taken));
  }
  const size_t size =
      options_.compress ? (end + kHeaderBufferStep - 1) / kHeaderBufferStep * kHeaderBufferStep : buffer_size_;
  block->built = std::make_unique<BufferBuilder>(static_cast<uint32_t>(size));
  block->built->Append(options_.header_record);
  for (const auto& [record, id] : kept) {
    block->places.push_back({block->built->used(), static_cast<uint16_t>(record.size())});
    block->ids.push_back(id);
    block->built->Append(record);
  }
  block->fields.type = buffer::kTypeHeader;
  block->fields.flags = buffer::kFlagFlushMarker;
  block->fields.state = options_.compress ? buffer::kStateFlush : 0;
  blocks.push_back(std::move(block));
  return {};
}

Status BufferPacker::CutPending(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  const SourceBuffer& buffer = *pending_.front()->buffer;
  uint64_t end = buffer::kHeaderSize;
  size_t rows = 0;
  for (const auto& part : pending_) {
    if (!part->complete || end == 0) {
      end = 0;
      break;
    }
    rows += part->row_count;
    end = ContiguousEnd(std::span(buffer.records).subspan(part->buffer_row, part->row_count), end);
  }
  OpenBuffer& open = OpenFor(buffer.cpu);
  const bool whole = end == buffer.data_end && rows == buffer.records.size() && buffer.data_end <= buffer_size_;
  const bool room = open.builder->empty() || open.builder->used() > buffer_size_ / 4 * 3;
  Status status;
  if (whole && room) {
    if (!open.builder->empty()) CloseBuffer(open, blocks);
    CopyWhole(blocks);
  } else {
    for (const auto& part : pending_) {
      status = Pack(*part, blocks);
      if (!status.ok()) break;
    }
  }
  pending_.clear();
  return status;
}

void BufferPacker::CopyWhole(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  auto block = std::make_unique<RelogBlock>();
  block->copy = pending_.front()->buffer;
  block->fields.cpu = block->copy->cpu;
  block->fields.sequence_number = next_sequence_++;
  block->fields.time_stamp = pending_.back()->last_timestamp;
  block->ids = std::move(pending_.front()->ids);
  for (size_t i = 1; i < pending_.size(); ++i) {
    block->ids.insert(block->ids.end(), pending_[i]->ids.begin(), pending_[i]->ids.end());
  }
  blocks.push_back(std::move(block));
}

Status BufferPacker::Pack(const RelogChunk& chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  const auto too_large = [&](size_t size) {
    return Status::Output(
        fmt::format("{}: a record of {} bytes does not fit a buffer of {}", options_.path, size, buffer_size_));
  };
  if (chunk.complete) {
    const SourceBuffer& source = *chunk.buffer;
    OpenBuffer& open = OpenFor(source.cpu);
    for (size_t i = 0; i < chunk.row_count; ++i) {
      const RecordPlace& place = source.records[chunk.buffer_row + i];
      if (Align8(place.size) > buffer_size_ - buffer::kHeaderSize) return too_large(place.size);
      // Pads are copied with their record where the image holds them.
      const size_t length = std::min(Align8(place.size), source.image.size() - place.offset);
      PackRecord(open, std::span<const std::byte>(source.image).subspan(place.offset, length), place.size, chunk.ids[i],
                 chunk.last_timestamp, blocks);
    }
    return {};
  }
  for (size_t begin = 0; begin < chunk.records.size();) {
    OpenBuffer& open = OpenFor(chunk.records[begin].cpu);
    const size_t taken = PackRun(open, chunk, begin);
    if (taken == 0) {
      const uint16_t size = chunk.records[begin].size;
      if (Align8(size) > buffer_size_ - buffer::kHeaderSize) return too_large(size);
      CloseBuffer(open, blocks);
    }
    begin += taken;
  }
  return {};
}

// Copies as many records of one processor, from `begin` on, as fit the open buffer, in one go; returns how many.
size_t BufferPacker::PackRun(OpenBuffer& open, const RelogChunk& chunk, size_t begin) {
  const uint32_t first = chunk.records[begin].offset;
  const uint32_t base = open.builder->used();
  uint32_t bytes = 0;
  size_t end = begin;
  for (; end < chunk.records.size() && chunk.records[end].cpu == open.cpu; ++end) {
    const RelogChunk::Record& record = chunk.records[end];
    const auto padded = static_cast<uint32_t>(Align8(record.size));
    if (!open.builder->Fits(bytes + padded)) break;
    open.places.push_back({base + bytes, record.size});
    open.ids.push_back(record.id);
    bytes += padded;
  }
  if (end == begin) return 0;
  open.last_timestamp = chunk.records[end - 1].timestamp;
  open.builder->AppendPadded({chunk.bytes.get() + first, bytes});
  return end - begin;
}

void BufferPacker::PackRecord(OpenBuffer& open, std::span<const std::byte> padded, uint16_t size, EventInstanceId id,
                              int64_t timestamp, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (!open.builder->Fits(size)) {
    CloseBuffer(open, blocks);
    OpenFor(open.cpu);
  }
  open.places.push_back({open.builder->used(), size});
  open.ids.push_back(id);
  open.last_timestamp = timestamp;
  if (padded.size() % 8 == 0) {
    open.builder->AppendPadded(padded);
  } else {
    open.builder->Append(padded.first(size));
  }
}

void BufferPacker::CloseBuffer(OpenBuffer& open, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  auto block = std::make_unique<RelogBlock>();
  block->fields.cpu = open.cpu;
  block->fields.sequence_number = next_sequence_++;
  block->fields.time_stamp = open.last_timestamp;
  block->built = std::move(open.builder);
  block->places = std::move(open.places);
  block->ids = std::move(open.ids);
  open.places.clear();
  open.ids.clear();
  blocks.push_back(std::move(block));
}

BufferPacker::OpenBuffer& BufferPacker::OpenFor(uint16_t cpu) {
  auto& open = open_[cpu];
  if (!open) {
    open = std::make_unique<OpenBuffer>();
    open->cpu = cpu;
  }
  if (!open->builder) open->builder = TakeBuilder();
  return *open;
}

std::unique_ptr<BufferBuilder> BufferPacker::TakeBuilder() {
  const std::lock_guard lock(builders_mutex_);
  if (builders_.empty()) return std::make_unique<BufferBuilder>(buffer_size_);
  auto builder = std::move(builders_.back());
  builders_.pop_back();
  builder->Clear();
  return builder;
}

void BufferPacker::GiveBuilder(std::unique_ptr<BufferBuilder> builder) {
  if (builder->buffer_size() != buffer_size_) return;
  const std::lock_guard lock(builders_mutex_);
  if (builders_.size() < kMaxSpareBuilders) builders_.push_back(std::move(builder));
}

}  // namespace etwpipe::etl

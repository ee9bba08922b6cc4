#include "formats/etl/etl_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/etl/carrier.h"
#include "formats/etl/kernel_groups.h"
#include "formats/etl/layout.h"
#include "formats/etl/logfile_header.h"
#include "formats/xca/xpress_encoder.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr uint32_t kInjectingBufferSize = 64 * 1024;
constexpr uint32_t kSmallestBufferSize = 1024;
constexpr uint32_t kHeaderBufferStep = 512;  // of compressed files; plain ones have one buffer size
constexpr uint32_t kLargeBufferSize = 1 << 20;
constexpr uint32_t kManyProcessors = 256;
constexpr size_t kMaxEntryRecords = 4096;
constexpr size_t kWorstRunBytes = 24;  // t, u64, two varints
constexpr size_t kFillBytes = 64 * 1024;

const std::array<std::byte, kFillBytes>& Fill() {
  static const std::array<std::byte, kFillBytes> fill = [] {
    std::array<std::byte, kFillBytes> bytes;
    bytes.fill(std::byte{0xFF});
    return bytes;
  }();
  return fill;
}

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

// Selected rows of a batch. Of a batch that is a whole buffer or part of one, with every row selected as it was, only
// the places are kept; otherwise the records are copied here, padded to 8 bytes.
struct EtlSink::Chunk : SinkChunk {
  struct Record {
    uint32_t offset;  // in bytes
    uint16_t size;
    uint16_t cpu;
    EventInstanceId id;
    int64_t timestamp;
  };
  std::shared_ptr<const SourceBuffer> buffer;  // null in time order
  size_t buffer_row = 0;
  size_t row_count = 0;
  bool complete = false;
  std::vector<EventInstanceId> ids;  // of a complete chunk
  int64_t max_timestamp = INT64_MIN;
  int64_t last_timestamp = 0;
  uint64_t max_injected = 0;
  std::vector<Record> records;  // their padded bytes follow each other in `bytes`
  std::unique_ptr<std::byte[]> bytes;

  std::span<const std::byte> padded(const Record& record) const {
    return {bytes.get() + record.offset, Align8(record.size)};
  }
  // Brings a complete chunk into the form of a filtered one.
  void CopyRecords() {
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
  bool last_part() const { return buffer_row + row_count == buffer->records.size(); }
};

// One buffer on its way to the file.
struct EtlSink::Block : SinkBlock {
  uint64_t ordinal = 0;
  BufferFields fields;
  std::shared_ptr<const SourceBuffer> copy;  // either a buffer of the input ...
  std::unique_ptr<BufferBuilder> built;      // ... or one of ours
  std::vector<RecordPlace> places;           // of `built`
  std::vector<EventInstanceId> ids;
  // Made by Encode().
  std::vector<std::byte> packed;
  std::span<const std::byte> stored;                                    // compressed data to write; empty: plain
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> id_entries;  // first record, entry

  std::span<const RecordPlace> records() const {
    return copy ? std::span<const RecordPlace>(copy->records) : std::span<const RecordPlace>(places);
  }
  uint32_t data_end() const { return copy ? copy->data_end : built->used(); }
};

struct EtlSink::OpenBuffer {
  uint16_t cpu = 0;
  std::unique_ptr<BufferBuilder> builder;
  std::vector<RecordPlace> places;
  std::vector<EventInstanceId> ids;
  int64_t last_timestamp = 0;
};

EtlSink::EtlSink(EtlSinkOptions options) : options_(std::move(options)), id_map_(kMaxCarrierData) {}

EtlSink::~EtlSink() = default;

Status EtlSink::Begin(const BeginArgs& args) {
  auto out = OutputFile::Create(options_.path, options_.force, OutputFile::Stdout::kSpool, options_.spool_dir);
  if (!out.ok()) return out.status();
  out_ = std::move(*out);
  info_ = args.trace.info;
  diagnostics_ = args.diagnostics;
  if (!args.annotations.empty() && diagnostics_ != nullptr) {
    diagnostics_->AddCount(DiagnosticId::kAnnotationDropped, args.annotations.size());
  }
  const bool input_compressed = (info_.log_file_mode & kModeCompressed) != 0;
  compress_ = options_.compress == Compress::kXpress || (options_.compress == Compress::kAuto && input_compressed);
  if (info_.header_buffer_header.size() == buffer::kHeaderSize) {
    const auto selector = LoadAt<uint32_t>(info_.header_buffer_header.data(), buffer::kState) & 0xFFFF;
    reuse_stored_ = compress_ && selector != 2 && selector != 4;
  }
  buffer_size_ = std::max(info_.buffer_size, kSmallestBufferSize);
  if (args.rewrites) buffer_size_ = std::max(buffer_size_, kInjectingBufferSize);
  next_injected_ = info_.next_injected;
  max_timestamp_ = info_.clock.base_ticks;
  header_record_ = info_.header_record;
  const size_t carrier_room =
      std::min<size_t>(buffer_size_ - buffer::kHeaderSize - kCarrierOverhead / 2, kMaxCarrierData);
  id_map_ = IdMapWriter(carrier_room);
  max_entry_records_ = std::min(kMaxEntryRecords, (carrier_room - 32) / kWorstRunBytes);
  return {};
}

Result<std::unique_ptr<SinkChunk>> EtlSink::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<Chunk>();
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
      return std::unique_ptr<SinkChunk>(std::move(chunk));
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
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status EtlSink::Cut(std::unique_ptr<SinkChunk> chunk_base, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  std::unique_ptr<Chunk> chunk(static_cast<Chunk*>(chunk_base.release()));
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

Status EtlSink::CutEnd(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (!header_cut_) ETWPIPE_RETURN_IF_ERROR(CutHeaderBuffer(nullptr, blocks));
  if (!pending_.empty()) ETWPIPE_RETURN_IF_ERROR(CutPending(blocks));
  for (auto& [cpu, open] : open_) {
    if (!open->builder->empty()) CloseBuffer(*open, blocks);
  }
  return {};
}

// The header buffer holds the file header and, of the input's header buffer, the kept records of group 0 that follow
// it.
Status EtlSink::CutHeaderBuffer(Chunk* first, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  header_cut_ = true;
  const size_t header_end = buffer::kHeaderSize + Align8(header_record_.size());
  if (header_record_.empty() || header_end > kMaxBufferBytes) return Status::Internal("no log-file header to write");
  buffer_size_ = std::max<uint32_t>(buffer_size_, static_cast<uint32_t>((header_end + 1023) / 1024 * 1024));
  auto block = std::make_unique<Block>();
  std::vector<std::pair<std::span<const std::byte>, EventInstanceId>> kept;
  size_t end = header_end;
  if (first != nullptr) {
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
  const size_t size = compress_ ? (end + kHeaderBufferStep - 1) / kHeaderBufferStep * kHeaderBufferStep : buffer_size_;
  block->built = std::make_unique<BufferBuilder>(static_cast<uint32_t>(size));
  header_record_offset_ = buffer::kHeaderSize;
  block->built->Append(header_record_);
  for (const auto& [record, id] : kept) {
    block->places.push_back({block->built->used(), static_cast<uint16_t>(record.size())});
    block->ids.push_back(id);
    block->built->Append(record);
  }
  block->fields.type = buffer::kTypeHeader;
  block->fields.flags = buffer::kFlagFlushMarker;
  block->fields.state = compress_ ? buffer::kStateFlush : 0;
  blocks.push_back(std::move(block));
  return {};
}

Status EtlSink::CutPending(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
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

void EtlSink::CopyWhole(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  auto block = std::make_unique<Block>();
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

Status EtlSink::Pack(const Chunk& chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
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
size_t EtlSink::PackRun(OpenBuffer& open, const Chunk& chunk, size_t begin) {
  const uint32_t first = chunk.records[begin].offset;
  const uint32_t base = open.builder->used();
  uint32_t bytes = 0;
  size_t end = begin;
  for (; end < chunk.records.size() && chunk.records[end].cpu == open.cpu; ++end) {
    const Chunk::Record& record = chunk.records[end];
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

void EtlSink::PackRecord(OpenBuffer& open, std::span<const std::byte> padded, uint16_t size, EventInstanceId id,
                         int64_t timestamp, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (!open.builder->Fits(size)) CloseBuffer(open, blocks);
  open.places.push_back({open.builder->used(), size});
  open.ids.push_back(id);
  open.last_timestamp = timestamp;
  if (padded.size() % 8 == 0) {
    open.builder->AppendPadded(padded);
  } else {
    open.builder->Append(padded.first(size));
  }
}

void EtlSink::CloseBuffer(OpenBuffer& open, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  auto block = std::make_unique<Block>();
  block->fields.cpu = open.cpu;
  block->fields.sequence_number = next_sequence_++;
  block->fields.time_stamp = open.last_timestamp;
  block->built = std::move(open.builder);
  block->places = std::move(open.places);
  block->ids = std::move(open.ids);
  open.builder = TakeBuilder();
  open.places.clear();
  open.ids.clear();
  blocks.push_back(std::move(block));
}

EtlSink::OpenBuffer& EtlSink::OpenFor(uint16_t cpu) {
  auto& open = open_[cpu];
  if (!open) {
    open = std::make_unique<OpenBuffer>();
    open->cpu = cpu;
    open->builder = TakeBuilder();
  }
  return *open;
}

std::unique_ptr<BufferBuilder> EtlSink::TakeBuilder() {
  const std::lock_guard lock(builders_mutex_);
  if (builders_.empty()) return std::make_unique<BufferBuilder>(buffer_size_);
  auto builder = std::move(builders_.back());
  builders_.pop_back();
  builder->Clear();
  return builder;
}

Status EtlSink::Encode(SinkBlock& block_base) const {
  auto& block = static_cast<Block&>(block_base);
  const bool is_header = block.fields.type == buffer::kTypeHeader;
  const std::span<const std::byte> image =
      block.copy ? std::span<const std::byte>(block.copy->image) : block.built->image();
  const auto records = block.records();
  block.ordinal = static_cast<uint64_t>(block.fields.sequence_number);
  for (size_t begin = 0; options_.write_ids && begin < records.size(); begin += max_entry_records_) {
    const size_t count = std::min(max_entry_records_, records.size() - begin);
    block.id_entries.emplace_back(begin, EncodeIdEntry(image, records.subspan(begin, count),
                                                       std::span(block.ids).subspan(begin, count), block.ordinal));
  }
  if (!compress_ || is_header) return {};
  if (reuse_stored_ && block.copy && !block.copy->stored.empty()) {
    block.stored = std::span<const std::byte>(block.copy->stored).subspan(buffer::kHeaderSize);
    return {};
  }
  thread_local xca::XpressEncoder encoder;
  const auto data = image.subspan(buffer::kHeaderSize, block.data_end() - buffer::kHeaderSize);
  block.packed.resize(data.size());
  const size_t packed = data.empty() ? 0 : xca::XpressEncode(data, block.packed, encoder);
  block.packed.resize(packed);
  block.stored = block.packed;
  return {};
}

Status EtlSink::Write(SinkBlock& block_base) {
  auto& block = static_cast<Block&>(block_base);
  for (const auto& [first_record, entry] : block.id_entries) id_map_.Add(block.ordinal, first_record, entry);
  last_buffer_offset_ = out_->size();
  ++buffers_;
  std::array<std::byte, buffer::kHeaderSize> header;
  std::vector<std::span<const std::byte>> parts = {header};
  if (!block.stored.empty()) {
    block.fields.flags |= buffer::kFlagCompressed;
    const auto size = static_cast<uint32_t>(buffer::kHeaderSize + block.stored.size());
    WriteBufferHeader(header.data(), block.fields, size, block.data_end());
    parts.push_back(block.stored);
    return out_->AppendParts(parts);
  }
  if (block.built) {
    const auto bytes = block.built->Finish(block.fields);
    ETWPIPE_RETURN_IF_ERROR(out_->Append(bytes));
    if (block.built->buffer_size() == buffer_size_) {
      const std::lock_guard lock(builders_mutex_);
      builders_.push_back(std::move(block.built));
    }
    return {};
  }
  WriteBufferHeader(header.data(), block.fields, buffer_size_, block.data_end());
  parts.push_back(std::span<const std::byte>(block.copy->image)
                      .subspan(buffer::kHeaderSize, block.data_end() - buffer::kHeaderSize));
  for (size_t left = buffer_size_ - block.data_end(); left > 0;) {
    const size_t step = std::min(left, kFillBytes);
    parts.push_back(std::span<const std::byte>(Fill()).first(step));
    left -= step;
  }
  return out_->AppendParts(parts);
}

Status EtlSink::Finish() {
  if (options_.write_ids) ETWPIPE_RETURN_IF_ERROR(WriteCarriers());
  ETWPIPE_RETURN_IF_ERROR(PatchHeader());
  return out_->Commit();
}

uint64_t EtlSink::bytes_written() const { return out_ ? out_->size() : 0; }

Status EtlSink::WriteCarriers() {
  SourceHeaderCarrier table;
  table.sources = info_.sources;
  table.next_injected = next_injected_;
  if (!options_.keep_paths) {
    for (SourceRecording& source : table.sources) source.path.clear();
  }
  const size_t room = buffer_size_ - buffer::kHeaderSize;
  const auto builder = TakeBuilder();
  const auto add = [&](const std::vector<std::byte>& record) -> Status {
    if (record.empty() || Align8(record.size()) > room) return Status::Internal("a carrier record exceeds its buffer");
    if (!builder->Fits(record.size())) ETWPIPE_RETURN_IF_ERROR(WriteTrailerBuffer(*builder));
    builder->Append(record);
    return {};
  };
  for (const auto& record : BuildSourceHeaderCarriers(table, room, max_timestamp_))
    ETWPIPE_RETURN_IF_ERROR(add(record));
  for (const auto& carrier : id_map_.carriers()) {
    ETWPIPE_RETURN_IF_ERROR(add(BuildIdMapCarrier(carrier, max_timestamp_)));
  }
  return WriteTrailerBuffer(*builder);
}

Status EtlSink::WriteTrailerBuffer(BufferBuilder& builder) {
  Block block;
  block.fields.sequence_number = next_sequence_++;
  block.fields.time_stamp = max_timestamp_;
  last_buffer_offset_ = out_->size();
  ++buffers_;
  const auto bytes = builder.Finish(block.fields);
  if (compress_) {
    xca::XpressEncoder encoder;
    const auto data = bytes.subspan(buffer::kHeaderSize, builder.used() - buffer::kHeaderSize);
    std::vector<std::byte> packed(data.size());
    packed.resize(xca::XpressEncode(data, packed, encoder));
    if (!packed.empty()) {
      std::array<std::byte, buffer::kHeaderSize> header;
      block.fields.flags |= buffer::kFlagCompressed;
      WriteBufferHeader(header.data(), block.fields, static_cast<uint32_t>(header.size() + packed.size()),
                        builder.used());
      builder.Clear();
      ETWPIPE_RETURN_IF_ERROR(out_->Append(header));
      return out_->Append(packed);
    }
  }
  ETWPIPE_RETURN_IF_ERROR(out_->Append(bytes));
  builder.Clear();
  return {};
}

// Only the fields design.md section 4 names are changed.
Status EtlSink::PatchHeader() {
  LogFileHeaderEditor editor(header_record_);
  editor.SetBufferSize(buffer_size_);
  editor.SetBuffersWritten(static_cast<uint32_t>(std::min<uint64_t>(buffers_, UINT32_MAX)));
  editor.SetEndTime(std::max(info_.end_time, info_.clock.ToFileTime(max_timestamp_)));
  uint32_t mode = info_.log_file_mode;
  mode &= ~(kModeCircular | kModeAppend | kModeNewFile | kModePreallocate | kModeCompressed);
  mode |= kModeSequential | (compress_ ? kModeCompressed : 0);
  editor.SetLogFileMode(mode);
  const bool version2 = compress_ || buffer_size_ > kLargeBufferSize || info_.processors > kManyProcessors;
  editor.SetTraceVersion(version2 ? 2 : 1, version2 ? 0 : 5);
  const uint64_t damaged = diagnostics_ == nullptr ? 0
                                                   : diagnostics_->count(DiagnosticId::kBufferSkipped) +
                                                         diagnostics_->count(DiagnosticId::kInflateFailed);
  editor.SetBuffersLost(static_cast<uint32_t>(std::min<uint64_t>(info_.buffers_lost + damaged, UINT32_MAX)));
  ETWPIPE_RETURN_IF_ERROR(out_->WriteAt(header_record_offset_, header_record_));
  // The last buffer carries the flush marker too.
  std::array<std::byte, 2> flag;
  ETWPIPE_RETURN_IF_ERROR(out_->ReadAt(last_buffer_offset_ + buffer::kFlag, flag));
  StoreAt(flag.data(), 0, static_cast<uint16_t>(LoadAt<uint16_t>(flag.data()) | buffer::kFlagFlushMarker));
  return out_->WriteAt(last_buffer_offset_ + buffer::kFlag, flag);
}

}  // namespace etwpipe::etl

#include "formats/etl/etl_sink.h"

#include <algorithm>
#include <array>

#include "formats/etl/carrier.h"
#include "formats/etl/layout.h"
#include "formats/etl/logfile_header.h"
#include "formats/etl/relog_block.h"
#include "formats/etl/relog_chunk.h"
#include "formats/xca/xpress_encoder.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr uint32_t kInjectingBufferSize = 64 * 1024;
constexpr uint32_t kSmallestBufferSize = 1024;
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

}  // namespace

EtlSink::EtlSink(EtlSinkOptions options) : options_(std::move(options)), id_map_(kMaxCarrierData) {}

EtlSink::~EtlSink() = default;

Status EtlSink::Begin(const BeginArgs& args) {
  auto out = OutputFile::Create(options_.path, options_.force, OutputFile::Stdout::kSpool, options_.spool_dir);
  if (!out.ok()) return out.status();
  out_ = std::move(*out);
  out_->set_check(options_.check);
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
  uint32_t buffer_size = std::max(info_.buffer_size, kSmallestBufferSize);
  if (args.rewrites) buffer_size = std::max(buffer_size, kInjectingBufferSize);
  header_record_ = info_.header_record;
  packer_ = std::make_unique<BufferPacker>(BufferPacker::Options{.path = options_.path,
                                                                 .buffer_size = buffer_size,
                                                                 .compress = compress_,
                                                                 .base_ticks = info_.clock.base_ticks,
                                                                 .next_injected = info_.next_injected,
                                                                 .header_record = header_record_});
  const size_t carrier_room =
      std::min<size_t>(buffer_size - buffer::kHeaderSize - kCarrierOverhead / 2, kMaxCarrierData);
  id_map_ = IdMapWriter(carrier_room);
  max_entry_records_ = std::min(kMaxEntryRecords, (carrier_room - 32) / kWorstRunBytes);
  return {};
}

Result<std::unique_ptr<SinkChunk>> EtlSink::Prepare(EventBatch& batch) const {
  return std::unique_ptr<SinkChunk>(MakeRelogChunk(batch));
}

Status EtlSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  return packer_->Add(std::unique_ptr<RelogChunk>(static_cast<RelogChunk*>(chunk.release())), blocks);
}

Status EtlSink::CutEnd(std::vector<std::unique_ptr<SinkBlock>>& blocks) { return packer_->End(blocks); }

Status EtlSink::Encode(SinkBlock& block_base) const {
  auto& block = static_cast<RelogBlock&>(block_base);
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
  auto& block = static_cast<RelogBlock&>(block_base);
  for (const auto& [first_record, entry] : block.id_entries) id_map_.Add(block.ordinal, first_record, entry);
  if (!block.stored.empty()) return AppendPacked(block.fields, block.stored, block.data_end());
  if (block.copy) {
    const auto image = std::span<const std::byte>(block.copy->image).first(block.data_end());
    return AppendPlain(block.fields, image, packer_->buffer_size());
  }
  ETWPIPE_RETURN_IF_ERROR(AppendPlain(block.fields, block.built->image(), block.built->buffer_size()));
  packer_->GiveBuilder(std::move(block.built));
  return {};
}

// `data` is the compressed data, `data_end` where it ends once it is inflated.
Status EtlSink::AppendPacked(BufferFields fields, std::span<const std::byte> data, uint32_t data_end) {
  last_buffer_offset_ = out_->size();
  ++buffers_;
  fields.flags |= buffer::kFlagCompressed;
  std::array<std::byte, buffer::kHeaderSize> header;
  WriteBufferHeader(header.data(), fields, static_cast<uint32_t>(header.size() + data.size()), data_end);
  return out_->AppendParts(std::array<std::span<const std::byte>, 2>{header, data});
}

// `image` is the buffer up to the end of its data; its header is written anew.
Status EtlSink::AppendPlain(const BufferFields& fields, std::span<const std::byte> image, uint32_t buffer_size) {
  last_buffer_offset_ = out_->size();
  ++buffers_;
  std::array<std::byte, buffer::kHeaderSize> header;
  WriteBufferHeader(header.data(), fields, buffer_size, static_cast<uint32_t>(image.size()));
  std::vector<std::span<const std::byte>> parts = {header, image.subspan(header.size())};
  for (size_t left = buffer_size - image.size(); left > 0;) {
    const size_t step = std::min(left, kFillBytes);
    parts.push_back(std::span<const std::byte>(Fill()).first(step));
    left -= step;
  }
  return out_->AppendParts(parts);
}

Status EtlSink::Finish() {
  ETWPIPE_RETURN_IF_ERROR(WriteCarriers());
  ETWPIPE_RETURN_IF_ERROR(PatchHeader());
  return out_->Commit();
}

uint64_t EtlSink::bytes_written() const { return out_ ? out_->size() : 0; }

Status EtlSink::WriteCarriers() {
  std::vector<std::string> schemas = info_.embedded_schemas;
  if (std::string text = options_.schemas ? options_.schemas() : std::string(); !text.empty()) {
    schemas.push_back(std::move(text));
  }
  if (!options_.write_ids && schemas.empty()) return {};
  SourceHeaderCarrier table;
  table.sources = info_.sources;
  table.next_injected = packer_->next_injected();
  if (!options_.keep_paths) {
    for (SourceRecording& source : table.sources) source.path.clear();
  }
  const int64_t timestamp = packer_->max_timestamp();
  const size_t room = packer_->buffer_size() - buffer::kHeaderSize;
  const auto builder = packer_->TakeBuilder();
  const auto add = [&](const std::vector<std::byte>& record) -> Status {
    if (record.empty() || Align8(record.size()) > room) return Status::Internal("a carrier record exceeds its buffer");
    if (!builder->Fits(record.size())) ETWPIPE_RETURN_IF_ERROR(WriteTrailerBuffer(*builder));
    builder->Append(record);
    return {};
  };
  if (options_.write_ids) {
    for (const auto& record : BuildSourceHeaderCarriers(table, room, timestamp)) ETWPIPE_RETURN_IF_ERROR(add(record));
    for (const auto& carrier : id_map_.carriers()) {
      ETWPIPE_RETURN_IF_ERROR(add(BuildIdMapCarrier(carrier, timestamp)));
    }
  }
  for (const auto& record : BuildSchemaCarriers(schemas, room, timestamp)) ETWPIPE_RETURN_IF_ERROR(add(record));
  return WriteTrailerBuffer(*builder);
}

Status EtlSink::WriteTrailerBuffer(BufferBuilder& builder) {
  BufferFields fields;
  fields.sequence_number = packer_->TakeSequence();
  fields.time_stamp = packer_->max_timestamp();
  const auto image = builder.image();
  std::vector<std::byte> packed;
  if (compress_) {
    xca::XpressEncoder encoder;
    const auto data = image.subspan(buffer::kHeaderSize);
    packed.resize(data.size());
    packed.resize(xca::XpressEncode(data, packed, encoder));
  }
  const Status status =
      packed.empty() ? AppendPlain(fields, image, builder.buffer_size()) : AppendPacked(fields, packed, builder.used());
  builder.Clear();
  return status;
}

// Only the fields design.md section 4 names are changed.
Status EtlSink::PatchHeader() {
  LogFileHeaderEditor editor(header_record_);
  const uint32_t buffer_size = packer_->buffer_size();
  editor.SetBufferSize(buffer_size);
  editor.SetBuffersWritten(static_cast<uint32_t>(std::min<uint64_t>(buffers_, UINT32_MAX)));
  editor.SetEndTime(std::max(info_.end_time, info_.clock.ToFileTime(packer_->max_timestamp())));
  uint32_t mode = info_.log_file_mode;
  mode &= ~(kModeCircular | kModeAppend | kModeNewFile | kModePreallocate | kModeCompressed);
  mode |= kModeSequential | (compress_ ? kModeCompressed : 0);
  editor.SetLogFileMode(mode);
  const bool version2 = compress_ || buffer_size > kLargeBufferSize || info_.processors > kManyProcessors;
  editor.SetTraceVersion(version2 ? 2 : 1, version2 ? 0 : 5);
  const uint64_t damaged = diagnostics_ == nullptr ? 0
                                                   : diagnostics_->count(DiagnosticId::kBufferSkipped) +
                                                         diagnostics_->count(DiagnosticId::kInflateFailed);
  editor.SetBuffersLost(static_cast<uint32_t>(std::min<uint64_t>(info_.buffers_lost + damaged, UINT32_MAX)));
  ETWPIPE_RETURN_IF_ERROR(out_->WriteAt(buffer::kHeaderSize, header_record_));
  // The last buffer carries the flush marker too.
  std::array<std::byte, 2> flag;
  ETWPIPE_RETURN_IF_ERROR(out_->ReadAt(last_buffer_offset_ + buffer::kFlag, flag));
  StoreAt(flag.data(), 0, static_cast<uint16_t>(LoadAt<uint16_t>(flag.data()) | buffer::kFlagFlushMarker));
  return out_->WriteAt(last_buffer_offset_ + buffer::kFlag, flag);
}

}  // namespace etwpipe::etl

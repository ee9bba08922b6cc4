#include "formats/etl/etl_source.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "formats/etl/carrier.h"
#include "formats/etl/etl_pass.h"
#include "formats/etl/layout.h"
#include "formats/etl/record.h"
#include "formats/xca/xca.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

// What a file that is no trace looks like, for the error message.
std::string Guess(std::span<const std::byte> head) {
  if (head.empty()) return "the file is empty";
  const auto printable = [](std::byte b) {
    const auto c = std::to_integer<unsigned>(b);
    return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0x7F);
  };
  if (std::all_of(head.begin(), head.end(), printable)) return "it looks like a text file";
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("PK\x03\x04")) return "it is a ZIP archive; unpack it first";
  if (text.starts_with("\x1F\x8B")) return "it is gzip data; unpack it first";
  if (text.starts_with("\x28\xB5\x2F\xFD")) return "it is zstd data; unpack it first";
  if (head.size() < buffer::kHeaderSize) return fmt::format("{} bytes are too few for a buffer header", head.size());
  return "it does not begin with a log-file header";
}

Status NoEtl(const std::string& path, const std::string& why) {
  return Status::Input(fmt::format("{}: not an .etl file: {}", path, why));
}

}  // namespace

Status EtlSource::CheckStart(const std::string& path, std::span<const std::byte> start) {
  if (start.size() < kStartBytes) return {};
  const uint32_t size = ReadBufferHeader(start.data()).buffer_size;
  const bool sane = size >= buffer::kHeaderSize && size <= kMaxBufferBytes;
  if (sane && ParseLogFileHeader(start.subspan(buffer::kHeaderSize)).ok()) return {};
  return NoEtl(path, Guess(start));
}

Result<std::unique_ptr<EtlSource>> EtlSource::Open(std::shared_ptr<InputFile> file, const EtlSourceOptions& options) {
  std::unique_ptr<EtlSource> source(new EtlSource());
  source->file_ = std::move(file);
  ETWPIPE_RETURN_IF_ERROR(source->ReadFileHeader());
  const TraceInfo& info = source->context_.info;
  IndexArgs args;
  args.nominal_buffer_size = info.buffer_size;
  args.compressed_file = (info.log_file_mode & kModeCompressed) != 0;
  args.format_selector = source->load_.format_selector;
  args.diagnostics = options.diagnostics;
  auto index = IndexBuffers(*source->file_, args);
  if (!index.ok()) return index.status();
  source->index_ = std::move(*index);
  source->load_.file = source->file_;
  source->load_.show_carriers = options.show_carriers;
  ETWPIPE_RETURN_IF_ERROR(source->ReadCarriers(options.diagnostics));
  source->FillInfo(options.diagnostics);
  return source;
}

Status EtlSource::ReadFileHeader() {
  const auto fail = [&](const std::string& why) { return NoEtl(file_->path(), why); };
  std::vector<std::byte> head(4096);
  const auto count = file_->ReadAt(0, head);
  if (!count.ok()) return count.status();
  head.resize(*count);
  if (head.size() < buffer::kHeaderSize) return fail(Guess(head));
  const BufferHeader first = ReadBufferHeader(head.data());
  if (first.buffer_size < buffer::kHeaderSize || first.buffer_size > kMaxBufferBytes) return fail(Guess(head));
  // The header record may be longer than the first read (long names).
  head.resize(std::min<uint64_t>(first.buffer_size, file_->size()));
  const auto whole = file_->ReadAt(0, head);
  if (!whole.ok()) return whole.status();
  head.resize(*whole);
  const auto data = std::span<const std::byte>(head).subspan(buffer::kHeaderSize);
  RecordProbe probe;
  if (data.empty() || !ProbeRecord(data, probe).empty()) {
    if (first.type == buffer::kTypeHeader && first.buffer_size > head.size()) {
      return fail(fmt::format("the file is cut off: it ends after {} bytes, inside its first record", head.size()));
    }
    return fail(Guess(std::span(head).first(std::min<size_t>(head.size(), 512))));
  }
  const auto record = data.first(probe.size);
  auto parsed = ParseLogFileHeader(record);
  if (!parsed.ok()) return fail(Guess(std::span(head).first(std::min<size_t>(head.size(), 512))));
  header_ = std::move(*parsed);

  TraceInfo& info = context_.info;
  info.header_record.assign(record.begin(), record.end());
  info.header_buffer_header.assign(head.begin(), head.begin() + buffer::kHeaderSize);
  info.header_kind = probe.kind;
  info.log_file_mode = header_.log_file_mode;
  const bool sane = header_.buffer_size >= buffer::kHeaderSize && header_.buffer_size <= kMaxBufferBytes;
  info.buffer_size = sane ? header_.buffer_size : first.buffer_size;
  const auto selector = LoadAt<uint32_t>(head.data(), buffer::kState) & 0xFFFF;
  // Selector 3 is also the plain state "flush"; XPRESS is what every known writer uses (etl-format.md 6.1).
  load_.format_selector = selector >= 2 && selector <= 4 ? selector : 3;

  SourceRecording own;
  const XXH128_hash_t hash = XXH3_128bits(head.data(), head.size());
  StoreAt(own.fingerprint.data(), 0, hash.low64);
  StoreAt(own.fingerprint.data(), 8, hash.high64);
  own.path = file_->path();
  info.sources.push_back(own);
  return {};
}

// Our carriers fill the last buffers of a file we wrote: look from the end while buffers hold nothing else.
Status EtlSource::ReadCarriers(Diagnostics* diagnostics) {
  LoadContext raw = load_;
  raw.show_carriers = true;
  CarriedFacts facts{id_map_, {}, {}, false};
  std::vector<LoadedBuffer> buffers;
  for (size_t i = index_.entries.size(); i-- > 1;) {
    BufferEntry& entry = index_.entries[i];
    if (!entry.has_records() || entry.truncated) break;
    LoadedBuffer buffer;
    ETWPIPE_RETURN_IF_ERROR(LoadBuffer(raw, entry, nullptr, buffer));
    bool only_carriers = !buffer.records.empty();
    for (size_t r = 0; r < buffer.records.size() && only_carriers; ++r) only_carriers = IsCarrier(buffer.record(r));
    if (!only_carriers) break;
    has_carriers_ = true;
    if (!load_.show_carriers) entry.carriers = true;
    buffers.push_back(std::move(buffer));
  }
  bool good = true;
  for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer) {
    for (size_t r = 0; r < buffer->records.size(); ++r) {
      if (ReadCarrier(buffer->record(r), facts)) continue;
      good = false;
      if (diagnostics == nullptr) continue;
      diagnostics->Add(DiagnosticId::kIdMapBad, {buffer->file_offset, buffer->file_size},
                       "a carrier of instance ids or schemas cannot be read");
    }
  }
  context_.info.embedded_schemas = facts.schemas.texts();
  if (!facts.has_ids && good) return {};
  SourceHeaderCarrier& table = facts.header;
  context_.info.next_injected = table.next_injected;
  // Records that the map does not cover belong to this file as a recording of its own.
  SourceRecording own = context_.info.sources.front();
  std::vector<bool> taken(kInjectedSource, false);
  for (const SourceRecording& source : table.sources) {
    if (source.number < taken.size()) taken[source.number] = true;
  }
  const auto free = std::find(taken.begin() + 1, taken.end(), false);
  load_.own_source = free == taken.end() ? kInjectedSource - 1 : static_cast<uint64_t>(free - taken.begin());
  own.number = static_cast<uint8_t>(load_.own_source);
  if (table.sources.empty() || !good) table.sources.push_back(own);
  context_.info.sources = std::move(table.sources);
  load_.id_map = &id_map_;
  return {};
}

void EtlSource::FillInfo(Diagnostics* diagnostics) {
  TraceInfo& info = context_.info;
  info.format = "etl";
  info.file_size = file_->size();
  info.buffers = index_.buffers;
  info.compressed_buffers = index_.compressed;
  info.damaged_buffers = index_.damaged;
  info.buffer_size = std::max<uint32_t>(info.buffer_size, (index_.max_image_size + 1023) / 1024 * 1024);
  info.pointer_size = header_.pointer64 ? 8 : 4;
  info.processors = header_.processors;
  info.clock = header_.clock();
  info.end_time = header_.end_time;
  info.boot_time = header_.boot_time;
  info.logger_name = header_.session_name;
  info.log_file_name = header_.log_file_name;
  info.os_major = header_.os_major;
  info.os_minor = header_.os_minor;
  info.os_build = header_.os_build;
  info.events_lost = header_.events_lost;
  info.buffers_lost = header_.buffers_lost;
  info.timer_resolution = header_.timer_resolution;
  info.cpu_mhz = header_.cpu_mhz;
  info.utc_bias_minutes = header_.time_zone.bias;
  if (diagnostics == nullptr) return;
  if (header_.end_time == 0 || header_.buffers_written <= 1) {
    diagnostics->Add(DiagnosticId::kHeaderUnfinalised, {0, 0},
                     fmt::format("the file header was not finalised: BuffersWritten {}, EndTime {}",
                                 header_.buffers_written, header_.end_time));
  } else if (header_.buffers_written != info.buffers) {
    diagnostics->Add(
        DiagnosticId::kBuffersWrittenDiffers, {0, 0},
        fmt::format("the file header names {} buffers, the file has {}", header_.buffers_written, info.buffers));
  }
  diagnostics->AddCount(DiagnosticId::kEventsLost, info.events_lost);
  diagnostics->AddCount(DiagnosticId::kBuffersLost, info.buffers_lost);
}

Result<std::unique_ptr<SourcePass>> EtlSource::StartPass(const PassArgs& args) {
  EtlPassArgs pass{context_, header_, index_, load_, args.threads, args.diagnostics};
  if (args.order == Order::kPerCpu) return MakeBufferPass(pass);
  return MakeMergePass(pass);
}

}  // namespace etwpipe::etl

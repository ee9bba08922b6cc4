#include "tests/tracegen/trace_writer.h"

#include <algorithm>

#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"
#include "pipeline/event.h"

namespace etwpipe::tracegen {
namespace {

constexpr uint32_t kCompressedHeaderBuffer = 1024;
constexpr uint32_t kLargeBuffer = 1 << 20;

bool HasIds(etl::RecordType type) { return type != etl::kTypePerfInfo32 && type != etl::kTypePerfInfo64; }

}  // namespace

TraceWriter::TraceWriter(const Options& options, ByteSink& sink, Truth& truth)
    : options_(options),
      sink_(sink),
      truth_(truth),
      header_builder_(options.compression == Compression::kNone ? options.buffer_size : kCompressedHeaderBuffer),
      compressed_(options.buffer_size) {
  truth.options = options;
  for (uint16_t cpu = 0; cpu < options.processors; ++cpu) streams_.emplace_back(options.buffer_size);
}

void TraceWriter::Begin(const etl::LogFileHeader& header) {
  header_ = header;
  header_.buffer_size = options_.buffer_size;
  header_.processors = options_.processors;
  const bool compressed = options_.compression != Compression::kNone;
  if (compressed) header_.log_file_mode |= etl::kModeCompressed;
  if (compressed || options_.buffer_size > kLargeBuffer) {
    header_.trace_major = 2;
    header_.trace_minor = 0;
  }
  const std::vector<std::byte> record = etl::BuildLogFileHeader(header_);
  header_builder_.Append(record);
  etl::SystemFields fields;
  fields.version = header_.version;
  KindCount& row = truth_.Kind(KindOf(fields));
  ++row.count;
  row.bytes += record.size();
  CountPid(header_.pid);
  truth_.frequency = header_.frequency;
  truth_.start_ticks = header_.base_ticks;
  truth_.start_time = header_.start_time;
  truth_.boot_time = header_.boot_time;
  for (Stream& stream : streams_) stream.last_ticks = header_.base_ticks;
}

void TraceWriter::WriteToHeaderBuffer(SystemKind& kind, const Place& place, std::span<const std::byte> payload) {
  Stamp(kind.fields, place, Advance(place));
  const size_t size = etl::RecordSize(kind.fields, payload.size());
  etl::WriteRecord(header_builder_.Allocate(size), kind.fields, payload);
  Count(kind, size);
  CountPid(kind.fields);
}

void TraceWriter::EndHeader() {
  etl::BufferFields fields;
  fields.sequence_number = next_sequence_++;
  fields.flags = etl::buffer::kFlagFlushMarker;
  fields.type = etl::buffer::kTypeHeader;
  AppendBuffer(header_builder_.Finish(fields));
  inflated_size_ += header_builder_.buffer_size();
}

int64_t TraceWriter::Advance(const Place& place) {
  int64_t& last = streams_[place.cpu].last_ticks;
  last = std::max(last, place.ticks);
  truth_.first_timestamp = std::min(truth_.first_timestamp, last);
  truth_.last_timestamp = std::max(truth_.last_timestamp, last);
  return last;
}

std::span<std::byte> TraceWriter::Allocate(uint16_t cpu, size_t size) {
  if (!streams_[cpu].builder.Fits(size)) Flush(cpu);
  return streams_[cpu].builder.Allocate(size);
}

void TraceWriter::Flush(uint16_t cpu) {
  Stream& stream = streams_[cpu];
  etl::BufferFields fields;
  fields.time_stamp = stream.last_ticks;
  fields.sequence_number = next_sequence_++;
  fields.cpu = cpu;
  const uint32_t data_end = stream.builder.used();
  const std::span<const std::byte> buffer = stream.builder.Finish(fields);
  if (options_.compression == Compression::kNone || !AppendCompressed(buffer, data_end)) AppendBuffer(buffer);
  inflated_size_ += options_.buffer_size;
  stream.builder.Clear();
}

void TraceWriter::AppendBuffer(std::span<const std::byte> buffer) {
  last_buffer_ = file_size_;
  last_flags_ = LoadAt<uint16_t>(buffer.data(), etl::buffer::kFlag);
  file_size_ += buffer.size();
  ++truth_.buffers;
  if (ok()) status_ = sink_.Append(buffer);
}

bool TraceWriter::AppendCompressed(std::span<const std::byte> buffer, uint32_t data_end) {
  constexpr size_t kHeader = etl::buffer::kHeaderSize;
  const auto data = buffer.subspan(kHeader, data_end - kHeader);
  // Room for one byte less than the data: what does not shrink is stored as it is.
  const size_t size = xca::XpressEncode(data, std::span(compressed_).subspan(kHeader, data.size() - 1), encoder_);
  if (size == 0) return false;
  std::memcpy(compressed_.data(), buffer.data(), kHeader);
  StoreAt(compressed_.data(), etl::buffer::kBufferSize, static_cast<uint32_t>(kHeader + size));
  const auto flags = LoadAt<uint16_t>(compressed_.data(), etl::buffer::kFlag);
  StoreAt(compressed_.data(), etl::buffer::kFlag, static_cast<uint16_t>(flags | etl::buffer::kFlagCompressed));
  AppendBuffer(std::span(compressed_).first(kHeader + size));
  ++truth_.compressed_buffers;
  return true;
}

uint64_t TraceWriter::projected_size() const {
  uint64_t open = 0;
  for (const Stream& stream : streams_) open += stream.builder.empty() ? 0 : 1;
  return inflated_size_ + open * options_.buffer_size;
}

Status TraceWriter::Finish() {
  for (size_t cpu = 0; cpu < streams_.size(); ++cpu) {
    if (!streams_[cpu].builder.empty()) Flush(static_cast<uint16_t>(cpu));
  }
  const auto flags = static_cast<uint16_t>(last_flags_ | etl::buffer::kFlagFlushMarker);
  if (ok()) status_ = sink_.WriteAt(last_buffer_ + etl::buffer::kFlag, std::as_bytes(std::span(&flags, 1)));
  truth_.file_size = file_size_;

  constexpr int64_t kSecond = 10'000'000;
  const int64_t end_time = header_.clock().ToFileTime(truth_.last_timestamp) + 2 * kSecond;
  truth_.end_time = end_time;
  header_.end_time = end_time;
  header_.buffers_written = static_cast<uint32_t>(truth_.buffers);
  if (ok()) status_ = sink_.WriteAt(etl::buffer::kHeaderSize, etl::BuildLogFileHeader(header_));

  for (size_t i = 0; i < pid_counts_.size(); ++i) {
    if (pid_counts_[i] != 0) truth_.pids[static_cast<uint32_t>(4 * i)] = pid_counts_[i];
  }
  if (no_pid_count_ != 0) truth_.pids[kNoId] = no_pid_count_;
  return status_;
}

void TraceWriter::Stamp(etl::SystemFields& fields, const Place& place, int64_t ticks) {
  fields.tid = place.tid;
  fields.pid = place.pid;
  fields.timestamp = ticks;
}

void TraceWriter::Stamp(etl::FullFields& fields, const Place& place, int64_t ticks) {
  fields.tid = place.tid;
  fields.pid = place.pid;
  fields.timestamp = ticks;
}

void TraceWriter::Stamp(etl::EventFields& fields, const Place& place, int64_t ticks) {
  fields.tid = place.tid;
  fields.pid = place.pid;
  fields.timestamp = ticks;
}

void TraceWriter::Stamp(etl::MessageFields& fields, const Place& place, int64_t ticks) {
  if (fields.timestamp) fields.timestamp = ticks;
  if (fields.ids) fields.ids = etl::MessageFields::Ids{place.tid, place.pid};
}

void TraceWriter::CountPid(const etl::SystemFields& fields) {
  if (HasIds(fields.type)) CountPid(fields.pid);
}

void TraceWriter::CountPid(const etl::MessageFields& fields) {
  if (fields.ids) CountPid(fields.ids->pid);
}

void TraceWriter::CountPid(uint32_t pid) {
  if (pid == kNoId) {
    ++no_pid_count_;
    return;
  }
  const size_t index = pid / 4;
  if (index >= pid_counts_.size()) pid_counts_.resize(index + 1);
  ++pid_counts_[index];
}

}  // namespace etwpipe::tracegen

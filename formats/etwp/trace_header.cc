#include "formats/etwp/trace_header.h"

#include <algorithm>
#include <span>

#include "formats/etl/layout.h"
#include "formats/etwp/frame.h"

namespace etwpipe::etwp {
namespace {

std::vector<std::byte> ToBytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void WriteTraceHeader(const TraceInfo& info, bool keep_paths, v1::TraceHeader& header) {
  header.set_clock_type(static_cast<v1::TraceHeader::ClockType>(info.clock.type));
  header.set_clock_frequency(info.clock.frequency);
  header.set_clock_base_ticks(info.clock.base_ticks);
  header.set_start_time(info.clock.start_time);
  header.set_end_time(info.end_time);
  header.set_boot_time(info.boot_time);
  header.set_buffers(info.buffers);
  header.set_compressed_buffers(info.compressed_buffers);
  header.set_damaged_buffers(info.damaged_buffers);
  header.set_buffer_size(info.buffer_size);
  header.set_pointer_size(info.pointer_size);
  header.set_processors(info.processors);
  header.set_logger_name(info.logger_name);
  header.set_log_file_name(info.log_file_name);
  header.set_log_file_mode(info.log_file_mode);
  header.set_os_major(info.os_major);
  header.set_os_minor(info.os_minor);
  header.set_os_build(info.os_build);
  header.set_events_lost(info.events_lost);
  header.set_buffers_lost(info.buffers_lost);
  header.set_timer_resolution(info.timer_resolution);
  header.set_cpu_mhz(info.cpu_mhz);
  header.set_utc_bias_minutes(info.utc_bias_minutes);
  for (const auto& source : info.sources) {
    auto& written = *header.add_sources();
    written.set_number(source.number);
    written.set_fingerprint(source.fingerprint.data(), source.fingerprint.size());
    if (keep_paths) written.set_path(source.path);
  }
  header.set_header_record(info.header_record.data(), info.header_record.size());
  header.set_header_buffer_header(info.header_buffer_header.data(), info.header_buffer_header.size());
  header.set_header_type(info.header_kind == HeaderKind::kSystem32 ? etl::kTypeSystem32 : etl::kTypeSystem64);
  header.set_original_size(info.file_size);
  header.set_original_format(info.format);
  header.set_next_injected(info.next_injected);
}

std::string ReadTraceHeader(const v1::TraceHeader& header, TraceInfo& info) {
  if (header.clock_type() < v1::TraceHeader::CLOCK_QPC || header.clock_type() > v1::TraceHeader::CLOCK_CYCLES) {
    return "its clock type is unknown";
  }
  if (header.clock_frequency() <= 0) return "its clock frequency is not positive";
  if (header.pointer_size() != 4 && header.pointer_size() != 8) return "its pointer size is neither 4 nor 8";
  info.format = "etwp";
  info.clock.type = static_cast<ClockType>(header.clock_type());
  info.clock.frequency = header.clock_frequency();
  info.clock.base_ticks = header.clock_base_ticks();
  info.clock.start_time = header.start_time();
  info.end_time = header.end_time();
  info.boot_time = header.boot_time();
  info.buffers = header.buffers();
  info.compressed_buffers = header.compressed_buffers();
  info.damaged_buffers = header.damaged_buffers();
  info.buffer_size = header.buffer_size();
  info.pointer_size = header.pointer_size();
  info.processors = header.processors();
  info.logger_name = header.logger_name();
  info.log_file_name = header.log_file_name();
  info.log_file_mode = header.log_file_mode();
  info.os_major = header.os_major();
  info.os_minor = header.os_minor();
  info.os_build = header.os_build();
  info.events_lost = header.events_lost();
  info.buffers_lost = header.buffers_lost();
  info.timer_resolution = header.timer_resolution();
  info.cpu_mhz = header.cpu_mhz();
  info.utc_bias_minutes = header.utc_bias_minutes();
  info.sources.clear();
  for (const auto& source : header.sources()) {
    if (source.number() >= kInjectedSource) return "a source recording has an impossible number";
    if (source.fingerprint().size() != std::tuple_size_v<decltype(SourceRecording::fingerprint)>) {
      return "the fingerprint of a source recording is not 16 bytes";
    }
    auto& read = info.sources.emplace_back();
    read.number = static_cast<uint8_t>(source.number());
    std::ranges::copy(std::as_bytes(std::span(source.fingerprint())), read.fingerprint.begin());
    read.path = source.path();
  }
  info.header_record = ToBytes(header.header_record());
  info.header_buffer_header = ToBytes(header.header_buffer_header());
  info.header_kind = header.header_type() == etl::kTypeSystem32 ? HeaderKind::kSystem32 : HeaderKind::kSystem64;
  info.next_injected = std::max<uint64_t>(1, header.next_injected());
  return {};
}

void WriteHeaderFrame(const v1::TraceHeader& header, v1::Frame& frame) {
  frame.set_magic(kFileMagic);
  frame.set_format_version(kFormatVersion);
  frame.set_min_reader_version(kMinReaderVersion);
  *frame.mutable_header() = header;
}

}  // namespace etwpipe::etwp

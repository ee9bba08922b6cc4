#include "formats/etl/logfile_header.h"

#include <string_view>

#include "formats/etl/layout.h"
#include "formats/etl/record_builder.h"
#include "formats/schema/utf16.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr size_t kZoneNameUnits = 32;
constexpr uint32_t kClockTypeMask = 0x3;
constexpr int64_t kFileTimeFrequency = 10'000'000;

size_t PointerSize(bool pointer64) { return pointer64 ? 8 : 4; }

TimeZone ReadTimeZone(ByteReader& reader) {
  TimeZone zone;
  zone.bias = reader.Read<int32_t>();
  zone.standard_name = schema::Utf16ToUtf8(reader.ReadBytes(2 * kZoneNameUnits));
  zone.standard_date = reader.Read<std::array<uint16_t, 8>>();
  zone.standard_bias = reader.Read<int32_t>();
  zone.daylight_name = schema::Utf16ToUtf8(reader.ReadBytes(2 * kZoneNameUnits));
  zone.daylight_date = reader.Read<std::array<uint16_t, 8>>();
  zone.daylight_bias = reader.Read<int32_t>();
  return zone;
}

/// `place` is zeroed.
void StoreZoneName(std::byte* place, std::string_view name) {
  const std::u16string units = schema::Utf8ToUtf16(name, kZoneNameUnits - 1);
  std::memcpy(place, units.data(), 2 * units.size());
}

void StoreTimeZone(std::byte* place, const TimeZone& zone) {
  StoreAt(place, 0, zone.bias);
  StoreZoneName(place + 4, zone.standard_name);
  StoreAt(place, 68, zone.standard_date);
  StoreAt(place, 84, zone.standard_bias);
  StoreZoneName(place + 88, zone.daylight_name);
  StoreAt(place, 152, zone.daylight_date);
  StoreAt(place, 168, zone.daylight_bias);
}

uint64_t ReadPointer(ByteReader& reader, bool pointer64) {
  return pointer64 ? reader.Read<uint64_t>() : reader.Read<uint32_t>();
}

void StorePointer(std::byte* place, size_t offset, bool pointer64, uint64_t value) {
  if (pointer64) {
    StoreAt(place, offset, value);
  } else {
    StoreAt(place, offset, static_cast<uint32_t>(value));
  }
}

}  // namespace

Clock LogFileHeader::clock() const {
  Clock clock;
  clock.base_ticks = base_ticks;
  clock.start_time = start_time;
  clock.frequency = frequency > 0 ? frequency : kFileTimeFrequency;
  switch (reserved_flags & kClockTypeMask) {
    case static_cast<uint32_t>(ClockType::kSystemTime):
      clock.type = ClockType::kSystemTime;
      clock.frequency = kFileTimeFrequency;
      break;
    case static_cast<uint32_t>(ClockType::kCycles):
      clock.type = ClockType::kCycles;
      if (cpu_mhz != 0) clock.frequency = int64_t{cpu_mhz} * 1'000'000;
      break;
    default: clock.type = ClockType::kQpc; break;
  }
  return clock;
}

size_t LogFileHeaderFixedSize(bool pointer64) { return kSystemHeaderSize + logfile::Names(PointerSize(pointer64)); }

Result<LogFileHeader> ParseLogFileHeader(std::span<const std::byte> record) {
  if (record.size() < kSystemHeaderSize) return Status::Input("log-file header record is cut short");
  const auto type = LoadAt<uint8_t>(record.data(), 2);
  if (LoadAt<uint8_t>(record.data(), 3) != kMarkerFixed || (type != kTypeSystem32 && type != kTypeSystem64) ||
      LoadAt<uint16_t>(record.data(), 6) != 0) {
    return Status::Input("first record is not a log-file header");
  }
  LogFileHeader header;
  header.pointer64 = type == kTypeSystem64;
  if (record.size() < LogFileHeaderFixedSize(header.pointer64)) {
    return Status::Input("log-file header record is cut short");
  }

  ByteReader reader(record);
  header.version = static_cast<uint8_t>(reader.Read<uint16_t>());
  reader.Skip(6);
  header.tid = reader.Read<uint32_t>();
  header.pid = reader.Read<uint32_t>();
  header.base_ticks = reader.Read<int64_t>();
  header.kernel_time = reader.Read<uint32_t>();
  header.user_time = reader.Read<uint32_t>();

  header.buffer_size = reader.Read<uint32_t>();
  header.os_major = reader.Read<uint8_t>();
  header.os_minor = reader.Read<uint8_t>();
  header.trace_major = reader.Read<uint8_t>();
  header.trace_minor = reader.Read<uint8_t>();
  header.os_build = reader.Read<uint32_t>();
  header.processors = reader.Read<uint32_t>();
  header.end_time = reader.Read<int64_t>();
  header.timer_resolution = reader.Read<uint32_t>();
  header.maximum_file_size = reader.Read<uint32_t>();
  header.log_file_mode = reader.Read<uint32_t>();
  header.buffers_written = reader.Read<uint32_t>();
  header.start_buffers = reader.Read<uint32_t>();
  header.pointer_size = reader.Read<uint32_t>();
  header.events_lost = reader.Read<uint32_t>();
  header.cpu_mhz = reader.Read<uint32_t>();
  header.logger_name_pointer = ReadPointer(reader, header.pointer64);
  header.log_file_name_pointer = ReadPointer(reader, header.pointer64);
  header.time_zone = ReadTimeZone(reader);
  reader.Skip(4);
  header.boot_time = reader.Read<int64_t>();
  header.frequency = reader.Read<int64_t>();
  header.start_time = reader.Read<int64_t>();
  header.reserved_flags = reader.Read<uint32_t>();
  header.buffers_lost = reader.Read<uint32_t>();

  std::span<const std::byte> names = record.subspan(reader.position());
  size_t used = 0;
  header.session_name = schema::Utf16ToUtf8(names, &used);
  header.log_file_name = schema::Utf16ToUtf8(names.subspan(used));
  return header;
}

std::vector<std::byte> BuildLogFileHeader(const LogFileHeader& header) {
  const size_t pointer = PointerSize(header.pointer64);
  constexpr size_t kMaxNameUnits = 16000;
  const std::u16string session_name = schema::Utf8ToUtf16(header.session_name, kMaxNameUnits);
  const std::u16string log_file_name = schema::Utf8ToUtf16(header.log_file_name, kMaxNameUnits);
  const size_t names = logfile::Names(pointer);
  const size_t payload_size = names + 2 * (session_name.size() + 1) + 2 * (log_file_name.size() + 1);

  SystemFields fields;
  fields.type = header.pointer64 ? kTypeSystem64 : kTypeSystem32;
  fields.version = header.version;
  fields.tid = header.tid;
  fields.pid = header.pid;
  fields.timestamp = header.base_ticks;
  fields.kernel_time = header.kernel_time;
  fields.user_time = header.user_time;
  std::vector<std::byte> record(RecordSize(fields, payload_size));
  std::byte* payload = BeginRecord(record.data(), fields, payload_size).data();

  StoreAt(payload, logfile::kBufferSize, header.buffer_size);
  StoreAt(payload, logfile::kOsMajor, header.os_major);
  StoreAt(payload, logfile::kOsMinor, header.os_minor);
  StoreAt(payload, logfile::kTraceMajor, header.trace_major);
  StoreAt(payload, logfile::kTraceMinor, header.trace_minor);
  StoreAt(payload, logfile::kOsBuild, header.os_build);
  StoreAt(payload, logfile::kProcessors, header.processors);
  StoreAt(payload, logfile::kEndTime, header.end_time);
  StoreAt(payload, logfile::kTimerResolution, header.timer_resolution);
  StoreAt(payload, logfile::kMaximumFileSize, header.maximum_file_size);
  StoreAt(payload, logfile::kLogFileMode, header.log_file_mode);
  StoreAt(payload, logfile::kBuffersWritten, header.buffers_written);
  StoreAt(payload, logfile::kStartBuffers, header.start_buffers);
  StoreAt(payload, logfile::kPointerSize, header.pointer_size);
  StoreAt(payload, logfile::kEventsLost, header.events_lost);
  StoreAt(payload, logfile::kCpuMhz, header.cpu_mhz);
  StorePointer(payload, logfile::kPointers, header.pointer64, header.logger_name_pointer);
  StorePointer(payload, logfile::kPointers + pointer, header.pointer64, header.log_file_name_pointer);
  StoreTimeZone(payload + logfile::TimeZone(pointer), header.time_zone);
  StoreAt(payload, logfile::BootTime(pointer), header.boot_time);
  StoreAt(payload, logfile::Frequency(pointer), header.frequency);
  StoreAt(payload, logfile::StartTime(pointer), header.start_time);
  StoreAt(payload, logfile::ReservedFlags(pointer), header.reserved_flags);
  StoreAt(payload, logfile::BuffersLost(pointer), header.buffers_lost);
  std::memcpy(payload + names, session_name.c_str(), 2 * (session_name.size() + 1));
  std::memcpy(payload + names + 2 * (session_name.size() + 1), log_file_name.c_str(), 2 * (log_file_name.size() + 1));
  return record;
}

LogFileHeaderEditor::LogFileHeaderEditor(std::span<std::byte> record)
    : payload_(record.data() + kSystemHeaderSize),
      pointer_size_(PointerSize(LoadAt<uint8_t>(record.data(), 2) == kTypeSystem64)) {}

void LogFileHeaderEditor::SetBufferSize(uint32_t bytes) { StoreAt(payload_, logfile::kBufferSize, bytes); }

void LogFileHeaderEditor::SetTraceVersion(uint8_t major, uint8_t minor) {
  StoreAt(payload_, logfile::kTraceMajor, major);
  StoreAt(payload_, logfile::kTraceMinor, minor);
}

void LogFileHeaderEditor::SetProcessors(uint32_t count) { StoreAt(payload_, logfile::kProcessors, count); }

void LogFileHeaderEditor::SetEndTime(int64_t filetime) { StoreAt(payload_, logfile::kEndTime, filetime); }

void LogFileHeaderEditor::SetLogFileMode(uint32_t mode) { StoreAt(payload_, logfile::kLogFileMode, mode); }

void LogFileHeaderEditor::SetBuffersWritten(uint32_t count) { StoreAt(payload_, logfile::kBuffersWritten, count); }

void LogFileHeaderEditor::SetEventsLost(uint32_t count) { StoreAt(payload_, logfile::kEventsLost, count); }

void LogFileHeaderEditor::SetBuffersLost(uint32_t count) {
  StoreAt(payload_, logfile::BuffersLost(pointer_size_), count);
}

}  // namespace etwpipe::etl

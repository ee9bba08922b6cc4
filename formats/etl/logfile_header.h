// The log-file header: the first record of every file, which says what clock, machine and session it comes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/clock.h"
#include "pipeline/status.h"

namespace etwpipe::etl {

/// TIME_ZONE_INFORMATION of the recording machine. Local time + bias = UTC, in minutes. The dates are SYSTEMTIME
/// patterns: year, month, day of week, day, hour, minute, second, millisecond.
struct TimeZone {
  int32_t bias = 0;
  std::string standard_name;  ///< UTF-8, at most 31 UTF-16 units; may be a resource name like "@tzres.dll,-212"
  std::array<uint16_t, 8> standard_date{};
  int32_t standard_bias = 0;
  std::string daylight_name;
  std::array<uint16_t, 8> daylight_date{};
  int32_t daylight_bias = 0;
};

/// A TRACE_LOGFILE_HEADER and the SYSTEM record around it (etl-format.md 4.1), values as they stand in the file.
struct LogFileHeader {
  // Of the record.
  bool pointer64 = true;  ///< SYSTEM64 rather than SYSTEM32; decides the layout
  uint8_t version = 2;    ///< 1 before Vista
  uint32_t tid = 0;       ///< of the controller
  uint32_t pid = 0;
  int64_t base_ticks = 0;  ///< raw timestamp that corresponds to start_time
  uint32_t kernel_time = 0;
  uint32_t user_time = 0;

  // Of the payload.
  uint32_t buffer_size = 65536;  ///< largest uncompressed buffer, bytes
  uint8_t os_major = 10;
  uint8_t os_minor = 0;
  uint8_t trace_major = 1;  ///< 1.5, or 2.0 for compressed or large buffers
  uint8_t trace_minor = 5;
  uint32_t os_build = 0;
  uint32_t processors = 1;
  int64_t end_time = 0;                ///< FILETIME; 0 if never closed; a hint, events after it exist
  uint32_t timer_resolution = 156250;  ///< 100 ns
  uint32_t maximum_file_size = 0;      ///< MB, or KB with bit 0x2000 of the mode
  uint32_t log_file_mode = 1;
  uint32_t buffers_written = 1;  ///< the header buffer included; 0 or 1 if never closed
  uint32_t start_buffers = 1;
  uint32_t pointer_size = 8;  ///< as the field says; not used for the layout
  uint32_t events_lost = 0;
  uint32_t cpu_mhz = 0;
  uint64_t logger_name_pointer = 0;  ///< timer-source information since Windows 7
  uint64_t log_file_name_pointer = 0;
  TimeZone time_zone;
  int64_t boot_time = 0;           ///< FILETIME
  int64_t frequency = 10'000'000;  ///< performance counter ticks per second
  int64_t start_time = 0;          ///< FILETIME at base_ticks
  uint32_t reserved_flags = 1;     ///< low bits: clock type
  uint32_t buffers_lost = 0;
  std::string session_name;   ///< UTF-8
  std::string log_file_name;  ///< UTF-8

  /// The session's clock by etl-format.md section 3. A frequency that cannot be (0 or below) becomes 10 MHz; clock
  /// type 0 counts as the performance counter.
  Clock clock() const;
};

/// Bytes the fixed part needs with pointers of that size: record header and payload up to the names.
size_t LogFileHeaderFixedSize(bool pointer64);

/// Reads the record `record` (its header included). kInput when it is no SYSTEM record of group 0, type 0, or is too
/// short for the fixed part. Names end where the record ends, at the latest; broken UTF-16 becomes U+FFFD.
Result<LogFileHeader> ParseLogFileHeader(std::span<const std::byte> record);

/// The whole record. Names are cut so that it stays below 64 KiB; broken UTF-8 becomes U+FFFD.
std::vector<std::byte> BuildLogFileHeader(const LogFileHeader& header);

/// Changes single fields of a record that ParseLogFileHeader() accepts; everything else stays as it is.
class LogFileHeaderEditor {
 public:
  /// `record` must outlive the editor.
  explicit LogFileHeaderEditor(std::span<std::byte> record);

  void SetBufferSize(uint32_t bytes);
  void SetTraceVersion(uint8_t major, uint8_t minor);
  void SetProcessors(uint32_t count);
  void SetEndTime(int64_t filetime);
  void SetLogFileMode(uint32_t mode);
  void SetBuffersWritten(uint32_t count);
  void SetEventsLost(uint32_t count);
  void SetBuffersLost(uint32_t count);

 private:
  std::byte* payload_;
  size_t pointer_size_;
};

}  // namespace etwpipe::etl

// Offsets and constants of the .etl layout (etl-format.md sections 1, 2, 4, 5). Bytes, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etwpipe::etl {

constexpr size_t Align8(size_t size) { return (size + 7) & ~size_t{7}; }

/// WMI_BUFFER_HEADER, etl-format.md 1.1.
namespace buffer {
constexpr size_t kHeaderSize = 72;
constexpr size_t kBufferSize = 0x00;      // u32 on-disk size
constexpr size_t kSavedOffset = 0x04;     // u32
constexpr size_t kCurrentOffset = 0x08;   // u32
constexpr size_t kReferenceCount = 0x0C;  // i32
constexpr size_t kTimeStamp = 0x10;       // i64
constexpr size_t kSequenceNumber = 0x18;  // i64
constexpr size_t kClockFrequency = 0x20;  // u64
constexpr size_t kProcessor = 0x28;       // u8, or u16 with kFlagProcessorIndex
constexpr size_t kLoggerId = 0x2A;        // u16
constexpr size_t kState = 0x2C;           // u32
constexpr size_t kOffset = 0x30;          // u32 end of valid data
constexpr size_t kFlag = 0x34;            // u16
constexpr size_t kType = 0x36;            // u16
constexpr size_t kUnion = 0x38;           // 16 bytes

constexpr uint16_t kFlagFlushMarker = 0x0001;
constexpr uint16_t kFlagEventsLost = 0x0002;
constexpr uint16_t kFlagBufferLost = 0x0004;
constexpr uint16_t kFlagProcessorIndex = 0x0020;
constexpr uint16_t kFlagCompressed = 0x0040;
constexpr uint16_t kKnownFlags = 0x007F;
constexpr uint16_t kProcessorMask = 0x07FF;

constexpr uint16_t kTypeGeneric = 0;
constexpr uint16_t kTypeCtxSwap = 2;
constexpr uint16_t kTypeHeader = 4;
constexpr uint16_t kTypeDbgInfo = 7;
constexpr uint16_t kTypeMax = 8;

constexpr uint32_t kStateFlush = 3;
}  // namespace buffer

/// Record types in byte 2 of the marker, etl-format.md 2.1.
enum RecordType : uint8_t {
  kTypeSystem32 = 1,
  kTypeSystem64 = 2,
  kTypeCompact32 = 3,
  kTypeCompact64 = 4,
  kTypeFull32 = 10,
  kTypeInstance32 = 11,
  kTypeTimed = 12,
  kTypeError = 13,
  kTypeWnode = 14,
  kTypeMessage = 15,
  kTypePerfInfo32 = 16,
  kTypePerfInfo64 = 17,
  kTypeEvent32 = 18,
  kTypeEvent64 = 19,
  kTypeFull64 = 20,
  kTypeInstance64 = 21,
};
constexpr uint8_t kMarkerFixed = 0xC0;    // byte 3 of records with a fixed header
constexpr uint8_t kMarkerMessage = 0x90;  // WPP
constexpr uint8_t kMarkerTimed = 0xB0;    // ULONG32_TIME

constexpr size_t kSystemHeaderSize = 32;
constexpr size_t kCompactHeaderSize = 24;
constexpr size_t kPerfInfoHeaderSize = 16;
constexpr size_t kFullHeaderSize = 48;
constexpr size_t kInstanceHeaderSize = 72;
constexpr size_t kEventHeaderSize = 80;
constexpr size_t kMaxRecordSize = 65535;

constexpr uint16_t kEventFlagExtended = 0x0001;

/// Extended item types, etl-format.md section 5.
enum ExtendedType : uint16_t {
  kExtRelatedActivityId = 0x01,
  kExtSid = 0x02,
  kExtTsId = 0x03,
  kExtInstanceInfo = 0x04,
  kExtStackTrace32 = 0x05,
  kExtStackTrace64 = 0x06,
  kExtPebsIndex = 0x07,
  kExtPmcCounters = 0x08,
  kExtPsmKey = 0x09,
  kExtEventKey = 0x0A,
  kExtSchemaTl = 0x0B,
  kExtProviderTraits = 0x0C,
  kExtProcessStartKey = 0x0D,
  kExtControlGuid = 0x0E,
  kExtQpcDelta = 0x0F,
  kExtContainerId = 0x10,
  kExtStackKey32 = 0x11,
  kExtStackKey64 = 0x12,
};

/// LogFileMode bits, etl-format.md 4.2.
constexpr uint32_t kModeSequential = 0x1;
constexpr uint32_t kModeCircular = 0x2;
constexpr uint32_t kModeAppend = 0x4;
constexpr uint32_t kModeNewFile = 0x8;
constexpr uint32_t kModePreallocate = 0x20;
constexpr uint32_t kModeRelog = 0x00010000;
constexpr uint32_t kModeCompressed = 0x04000000;

/// TRACE_LOGFILE_HEADER, offsets from the payload's start, etl-format.md 4.1. Those after two pointers depend on the
/// pointer size P of the header record.
namespace logfile {
constexpr size_t kBufferSize = 0x00;                                            // u32
constexpr size_t kOsMajor = 0x04;                                               // u8
constexpr size_t kOsMinor = 0x05;                                               // u8
constexpr size_t kTraceMajor = 0x06;                                            // u8
constexpr size_t kTraceMinor = 0x07;                                            // u8
constexpr size_t kOsBuild = 0x08;                                               // u32
constexpr size_t kProcessors = 0x0C;                                            // u32
constexpr size_t kEndTime = 0x10;                                               // i64 FILETIME
constexpr size_t kTimerResolution = 0x18;                                       // u32
constexpr size_t kMaximumFileSize = 0x1C;                                       // u32
constexpr size_t kLogFileMode = 0x20;                                           // u32
constexpr size_t kBuffersWritten = 0x24;                                        // u32
constexpr size_t kStartBuffers = 0x28;                                          // u32
constexpr size_t kPointerSize = 0x2C;                                           // u32
constexpr size_t kEventsLost = 0x30;                                            // u32
constexpr size_t kCpuMhz = 0x34;                                                // u32
constexpr size_t kPointers = 0x38;                                              // two pointers
constexpr size_t TimeZone(size_t pointer) { return 0x38 + 2 * pointer; }        // 172 bytes, i32 bias first
constexpr size_t BootTime(size_t pointer) { return 0xE8 + 2 * pointer; }        // i64 FILETIME
constexpr size_t Frequency(size_t pointer) { return 0xF0 + 2 * pointer; }       // i64
constexpr size_t StartTime(size_t pointer) { return 0xF8 + 2 * pointer; }       // i64 FILETIME
constexpr size_t ReservedFlags(size_t pointer) { return 0x100 + 2 * pointer; }  // u32 clock type
constexpr size_t BuffersLost(size_t pointer) { return 0x104 + 2 * pointer; }    // u32
constexpr size_t Names(size_t pointer) { return 0x108 + 2 * pointer; }          // two NUL-terminated UTF-16 strings
}  // namespace logfile

}  // namespace etwpipe::etl

// Writes event records of every header kind into memory of the caller.
//
// Each kind has a struct of fields and three functions: RecordSize(fields, payload_bytes), BeginRecord(place, fields,
// payload_bytes), which writes everything before the payload and shows where the payload goes, and WriteRecord(place,
// fields, payload), which copies the payload too. Layouts: etl-format.md sections 2 and 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "formats/etl/layout.h"
#include "pipeline/guid.h"

namespace etwpipe::etl {

/// SYSTEM, COMPACT and PERFINFO records (etl-format.md 2.2, 2.3); which one is told by `type`. PERFINFO has no ids,
/// COMPACT and PERFINFO have no CPU times: those fields are not written then.
struct SystemFields {
  RecordType type = kTypeSystem64;
  uint8_t version = 0;
  uint8_t group = 0;
  uint8_t opcode = 0;
  uint32_t tid = 0;
  uint32_t pid = 0;
  int64_t timestamp = 0;  ///< raw ticks
  uint32_t kernel_time = 0;
  uint32_t user_time = 0;
  std::optional<uint64_t> pebs;   ///< written before the counters, sets bit 15 of the version word
  std::span<const uint64_t> pmc;  ///< at most 7 counters, their number goes to bits 10..8 of the version word
};

/// FULL records: classic (MOF) providers, etl-format.md 2.4.
struct FullFields {
  RecordType type = kTypeFull64;
  uint8_t opcode = 0;
  uint8_t level = 0;
  uint16_t version = 0;
  uint32_t tid = 0;
  uint32_t pid = 0;
  int64_t timestamp = 0;  ///< raw ticks
  Guid guid;
  uint32_t kernel_time = 0;
  uint32_t user_time = 0;
};

/// INSTANCE records, etl-format.md 2.5. `full.type` is kTypeInstance32 or kTypeInstance64.
struct InstanceFields {
  FullFields full{.type = kTypeInstance64, .guid = {}};
  uint32_t instance_id = 0;
  uint32_t parent_instance_id = 0;
  Guid parent_guid;
};

/// One extended item; the data is copied when the record is written.
struct ExtendedItem {
  uint16_t type = 0;  ///< ExtendedType or anything else
  std::span<const std::byte> data;
};

/// EVENT_HEADER records: manifest, TraceLogging and EventSource providers, etl-format.md 2.6.
struct EventFields {
  RecordType type = kTypeEvent64;
  uint16_t flags = 0;  ///< kEventFlagExtended is added when there are items
  uint16_t property = 0;
  uint32_t tid = 0;
  uint32_t pid = 0;
  int64_t timestamp = 0;  ///< raw ticks
  Guid provider;
  uint16_t id = 0;
  uint8_t version = 0;
  uint8_t channel = 0;
  uint8_t level = 0;
  uint8_t opcode = 0;
  uint16_t task = 0;
  uint64_t keyword = 0;
  uint32_t kernel_time = 0;
  uint32_t user_time = 0;
  Guid activity;
  std::span<const ExtendedItem> items;  ///< in the order they shall stand; see etl-format.md section 5
};

/// WPP MESSAGE records, etl-format.md 2.7. Option flags follow from what is present.
struct MessageFields {
  uint16_t message_number = 0;
  std::optional<uint32_t> sequence;
  std::optional<Guid> guid;
  std::optional<uint32_t> component_id;  ///< not together with `guid`
  std::optional<int64_t> timestamp;      ///< raw ticks
  bool performance_timestamp = true;     ///< sets bit 0x10 beside a timestamp
  struct Ids {
    uint32_t tid = 0;
    uint32_t pid = 0;
  };
  std::optional<Ids> ids;
  uint16_t pointer_size = 8;  ///< 4, 8, or 0 for neither bit
};

/// ULONG32_TIME records, marker 0xB0 (end of etl-format.md 2.7).
struct TimedFields {
  uint32_t value = 0;
  int64_t timestamp = 0;  ///< raw ticks
};

/// A bare marker with the size in its low half: ERROR, or a type nobody knows.
struct RawFields {
  uint8_t type = kTypeError;
  uint8_t marker = kMarkerFixed;  ///< top byte; bit 7 must be set
};

/// Bytes of the whole record without alignment pads; above kMaxRecordSize it cannot be written.
size_t RecordSize(const SystemFields& fields, size_t payload_size);
size_t RecordSize(const FullFields& fields, size_t payload_size);
size_t RecordSize(const InstanceFields& fields, size_t payload_size);
size_t RecordSize(const EventFields& fields, size_t payload_size);
size_t RecordSize(const MessageFields& fields, size_t payload_size);
size_t RecordSize(const TimedFields& fields, size_t payload_size);
size_t RecordSize(const RawFields& fields, size_t payload_size);

/// Writes header and extended items at `place`, which has room for RecordSize() <= kMaxRecordSize bytes, and returns
/// where the caller writes `payload_size` bytes. Every byte before the payload is set.
std::span<std::byte> BeginRecord(std::byte* place, const SystemFields& fields, size_t payload_size);
std::span<std::byte> BeginRecord(std::byte* place, const FullFields& fields, size_t payload_size);
std::span<std::byte> BeginRecord(std::byte* place, const InstanceFields& fields, size_t payload_size);
std::span<std::byte> BeginRecord(std::byte* place, const EventFields& fields, size_t payload_size);
std::span<std::byte> BeginRecord(std::byte* place, const MessageFields& fields, size_t payload_size);
std::span<std::byte> BeginRecord(std::byte* place, const TimedFields& fields, size_t payload_size);
std::span<std::byte> BeginRecord(std::byte* place, const RawFields& fields, size_t payload_size);

/// Writes a whole record into `out` and returns its size; 0, and nothing written, if it does not fit into `out` or
/// would exceed kMaxRecordSize.
template <typename Fields>
size_t WriteRecord(std::span<std::byte> out, const Fields& fields, std::span<const std::byte> payload) {
  const size_t size = RecordSize(fields, payload.size());
  if (size > kMaxRecordSize || size > out.size()) return 0;
  const std::span<std::byte> place = BeginRecord(out.data(), fields, payload.size());
  if (!payload.empty()) std::memcpy(place.data(), payload.data(), payload.size());
  return size;
}

}  // namespace etwpipe::etl

// One event as every stage sees it: a plain row of header facts plus views of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace etwpipe {

/// Names one event record of the original recording, the same in every pass, filter, thread count and output
/// (design.md section 5). 0 means none.
///
///   bits  0..20  offset of the record in its inflated buffer, divided by 8
///   bits 21..55  0-based ordinal of the buffer in the file
///   bits 56..63  source number; 0xFF marks an event injected by a stage, whose low bits are a counter
using EventInstanceId = uint64_t;

constexpr int kInstanceIdBufferShift = 21;
constexpr int kInstanceIdSourceShift = 56;
constexpr uint64_t kInstanceIdSourceMask = uint64_t{0xFF} << kInstanceIdSourceShift;
constexpr uint64_t kInjectedSource = 0xFF;
constexpr uint64_t kMaxBufferOrdinal = (uint64_t{1} << 35) - 1;
constexpr uint32_t kMaxBufferBytes = 16u << 20;

constexpr EventInstanceId MakeInstanceId(uint64_t source, uint64_t buffer_ordinal, uint64_t offset) {
  return source << kInstanceIdSourceShift | buffer_ordinal << kInstanceIdBufferShift | offset / 8;
}
constexpr uint64_t InstanceIdSource(EventInstanceId id) { return id >> kInstanceIdSourceShift; }

/// Which record header the event came with (etl-format.md section 2.1). kUnknown keeps its type number in
/// EventHeader::header_type.
enum class HeaderKind : uint8_t {
  kUnknown,
  kSystem32,
  kSystem64,
  kCompact32,
  kCompact64,
  kFull32,
  kFull64,
  kInstance32,
  kInstance64,
  kPerfInfo32,
  kPerfInfo64,
  kEvent32,
  kEvent64,
  kMessage,
  kTimed,
  kError,
};

/// Bits of EventHeader::flags: what a record has that others lack.
enum EventFlags : uint8_t {
  kHasPid = 1,        ///< pid and tid stand in the record
  kHasTimestamp = 2,  ///< the record has a timestamp of its own; otherwise it inherits the stream's last one
  kHasExtended = 4,   ///< extended items follow the header
  kPointer64 = 8,     ///< the emitter's pointers are 8 bytes
  kHasProvider = 16,  ///< a provider GUID is known (a WPP message may have only a component id)
  kRewritten = 32,    ///< the record bytes are not those of the input
  kInjected = 64,     ///< made by a stage
  kPadded = 128,      ///< the bytes up to the record's next multiple of 8 are readable: its pads in the input
};

/// Index into the ProviderTable of the trace.
using ProviderIndex = uint32_t;
constexpr uint32_t kNoSchema = 0xFFFFFFFF;
/// What pid and tid hold where a record has none, as Windows shows it.
constexpr uint32_t kNoId = 0xFFFFFFFF;

/// Plain row, no virtuals. `record` points into memory pinned by the EventBatch that holds the row and is valid as
/// long as that batch. Times are raw ticks of the session clock.
struct EventHeader {
  EventInstanceId instance_id = 0;
  int64_t timestamp = 0;  ///< raw ticks; inherited where !(flags & kHasTimestamp)
  uint64_t keyword = 0;
  const std::byte* record = nullptr;  ///< whole record: header, extended items, payload
  ProviderIndex provider = 0;
  uint32_t pid = kNoId;
  uint32_t tid = kNoId;
  uint32_t schema = kNoSchema;  ///< index into the schema registry, once a decoding stage looked it up
  uint16_t id = 0;              ///< event id; MessageNumber for WPP; 0 for classic events
  uint16_t task = 0;
  uint16_t version = 0;
  uint16_t cpu = 0;
  uint16_t record_size = 0;     ///< bytes, without alignment padding
  uint16_t extended_begin = 0;  ///< bytes from the record's start
  uint16_t payload_begin = 0;   ///< bytes from the record's start; also the end of the extended items
  uint8_t opcode = 0;
  uint8_t level = 0;
  uint8_t channel = 0;
  uint8_t header_type = 0;  ///< type byte of the record's marker
  HeaderKind kind = HeaderKind::kUnknown;
  uint8_t flags = 0;  ///< EventFlags

  std::span<const std::byte> record_bytes() const { return {record, record_size}; }
  std::span<const std::byte> payload() const {
    return {record + payload_begin, static_cast<size_t>(record_size - payload_begin)};
  }
  std::span<const std::byte> extended_items() const {
    return {record + extended_begin, static_cast<size_t>(payload_begin - extended_begin)};
  }
  bool has(EventFlags flag) const { return (flags & flag) != 0; }
  uint32_t pointer_size() const { return has(kPointer64) ? 8 : 4; }
};
static_assert(sizeof(EventHeader) == 72);

}  // namespace etwpipe

#include "formats/etl/record_builder.h"

#include <algorithm>

#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr size_t kMaxPmc = 7;
constexpr uint16_t kPebsBit = 0x8000;
constexpr size_t kItemHeaderSize = 8;

/// Option bits of a MESSAGE record, etl-format.md 2.7.
enum MessageOption : uint16_t {
  kOptionSequence = 0x01,
  kOptionGuid = 0x02,
  kOptionComponentId = 0x04,
  kOptionTimestamp = 0x08,
  kOptionPerformanceTimestamp = 0x10,
  kOptionSystemInfo = 0x20,
  kOptionPointer32 = 0x40,
  kOptionPointer64 = 0x80,
};

size_t FixedSize(RecordType type) {
  if (type == kTypePerfInfo32 || type == kTypePerfInfo64) return kPerfInfoHeaderSize;
  if (type == kTypeCompact32 || type == kTypeCompact64) return kCompactHeaderSize;
  return kSystemHeaderSize;
}

size_t PmcCount(const SystemFields& fields) { return std::min(fields.pmc.size(), kMaxPmc); }

size_t ItemsSize(std::span<const ExtendedItem> items) {
  size_t size = 0;
  for (const ExtendedItem& item : items) size += Align8(kItemHeaderSize + item.data.size());
  return size;
}

/// The marker of records whose size is the u16 at 0.
void StoreMarker(std::byte* place, size_t size, uint8_t type, uint8_t marker) {
  StoreAt(place, 0, static_cast<uint16_t>(size));
  StoreAt(place, 2, type);
  StoreAt(place, 3, marker);
}

void StoreFull(std::byte* place, const FullFields& fields, size_t size) {
  StoreMarker(place, size, fields.type, kMarkerFixed);
  StoreAt(place, 4, fields.opcode);
  StoreAt(place, 5, fields.level);
  StoreAt(place, 6, fields.version);
  StoreAt(place, 8, fields.tid);
  StoreAt(place, 12, fields.pid);
  StoreAt(place, 16, fields.timestamp);
  StoreAt(place, 24, fields.guid);
  StoreAt(place, 40, fields.kernel_time);
  StoreAt(place, 44, fields.user_time);
}

std::byte* StoreItems(std::byte* place, std::span<const ExtendedItem> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    const ExtendedItem& item = items[i];
    const size_t stride = Align8(kItemHeaderSize + item.data.size());
    StoreAt(place, 0, static_cast<uint16_t>(stride));
    StoreAt(place, 2, item.type);
    StoreAt(place, 4, static_cast<uint16_t>(i + 1 < items.size() ? 1 : 0));
    StoreAt(place, 6, static_cast<uint16_t>(item.data.size()));
    std::byte* data = place + kItemHeaderSize;
    if (!item.data.empty()) std::memcpy(data, item.data.data(), item.data.size());
    std::memset(data + item.data.size(), 0, stride - kItemHeaderSize - item.data.size());
    place += stride;
  }
  return place;
}

/// Appends values one after the other.
class Appender {
 public:
  explicit Appender(std::byte* place) : place_(place) {}
  template <typename T>
  void Add(const T& value) {
    StoreAt(place_, 0, value);
    place_ += sizeof value;
  }
  std::byte* place() const { return place_; }

 private:
  std::byte* place_;
};

}  // namespace

size_t RecordSize(const SystemFields& fields, size_t payload_size) {
  return FixedSize(fields.type) + 8 * (PmcCount(fields) + (fields.pebs ? 1 : 0)) + payload_size;
}

size_t RecordSize(const FullFields&, size_t payload_size) { return kFullHeaderSize + payload_size; }

size_t RecordSize(const InstanceFields&, size_t payload_size) { return kInstanceHeaderSize + payload_size; }

size_t RecordSize(const EventFields& fields, size_t payload_size) {
  return kEventHeaderSize + ItemsSize(fields.items) + payload_size;
}

size_t RecordSize(const MessageFields& fields, size_t payload_size) {
  return 8 + (fields.sequence ? 4u : 0u) + (fields.guid ? 16u : 0u) + (fields.component_id ? 4u : 0u) +
         (fields.timestamp ? 8u : 0u) + (fields.ids ? 8u : 0u) + payload_size;
}

size_t RecordSize(const TimedFields&, size_t payload_size) { return 16 + payload_size; }

size_t RecordSize(const RawFields&, size_t payload_size) { return 4 + payload_size; }

std::span<std::byte> BeginRecord(std::byte* place, const SystemFields& fields, size_t payload_size) {
  const size_t pmc_count = PmcCount(fields);
  const uint16_t version = static_cast<uint16_t>(fields.version | pmc_count << 8 | (fields.pebs ? kPebsBit : 0u));
  StoreMarker(place, version, fields.type, kMarkerFixed);
  StoreAt(place, 4, static_cast<uint16_t>(RecordSize(fields, payload_size)));
  StoreAt(place, 6, fields.opcode);
  StoreAt(place, 7, fields.group);
  const size_t fixed_size = FixedSize(fields.type);
  if (fixed_size == kPerfInfoHeaderSize) {
    StoreAt(place, 8, fields.timestamp);
  } else {
    StoreAt(place, 8, fields.tid);
    StoreAt(place, 12, fields.pid);
    StoreAt(place, 16, fields.timestamp);
  }
  if (fixed_size == kSystemHeaderSize) {
    StoreAt(place, 24, fields.kernel_time);
    StoreAt(place, 28, fields.user_time);
  }
  Appender tail(place + fixed_size);
  if (fields.pebs) tail.Add(*fields.pebs);
  for (size_t i = 0; i < pmc_count; ++i) tail.Add(fields.pmc[i]);
  return {tail.place(), payload_size};
}

std::span<std::byte> BeginRecord(std::byte* place, const FullFields& fields, size_t payload_size) {
  StoreFull(place, fields, RecordSize(fields, payload_size));
  return {place + kFullHeaderSize, payload_size};
}

std::span<std::byte> BeginRecord(std::byte* place, const InstanceFields& fields, size_t payload_size) {
  StoreFull(place, fields.full, RecordSize(fields, payload_size));
  StoreAt(place, 48, fields.instance_id);
  StoreAt(place, 52, fields.parent_instance_id);
  StoreAt(place, 56, fields.parent_guid);
  return {place + kInstanceHeaderSize, payload_size};
}

std::span<std::byte> BeginRecord(std::byte* place, const EventFields& fields, size_t payload_size) {
  const uint16_t extended = fields.items.empty() ? uint16_t{0} : kEventFlagExtended;
  StoreMarker(place, RecordSize(fields, payload_size), fields.type, kMarkerFixed);
  StoreAt(place, 4, static_cast<uint16_t>(fields.flags | extended));
  StoreAt(place, 6, fields.property);
  StoreAt(place, 8, fields.tid);
  StoreAt(place, 12, fields.pid);
  StoreAt(place, 16, fields.timestamp);
  StoreAt(place, 24, fields.provider);
  StoreAt(place, 40, fields.id);
  StoreAt(place, 42, fields.version);
  StoreAt(place, 43, fields.channel);
  StoreAt(place, 44, fields.level);
  StoreAt(place, 45, fields.opcode);
  StoreAt(place, 46, fields.task);
  StoreAt(place, 48, fields.keyword);
  StoreAt(place, 56, fields.kernel_time);
  StoreAt(place, 60, fields.user_time);
  StoreAt(place, 64, fields.activity);
  return {StoreItems(place + kEventHeaderSize, fields.items), payload_size};
}

std::span<std::byte> BeginRecord(std::byte* place, const MessageFields& fields, size_t payload_size) {
  StoreMarker(place, RecordSize(fields, payload_size), 0, kMarkerMessage);
  StoreAt(place, 4, fields.message_number);
  unsigned options = 0;
  Appender tail(place + 8);
  if (fields.sequence) {
    options |= kOptionSequence;
    tail.Add(*fields.sequence);
  }
  if (fields.guid) {
    options |= kOptionGuid;
    tail.Add(*fields.guid);
  }
  if (fields.component_id) {
    options |= kOptionComponentId;
    tail.Add(*fields.component_id);
  }
  if (fields.timestamp) {
    options |= kOptionTimestamp;
    if (fields.performance_timestamp) options |= kOptionPerformanceTimestamp;
    tail.Add(*fields.timestamp);
  }
  if (fields.ids) {
    options |= kOptionSystemInfo;
    tail.Add(fields.ids->tid);
    tail.Add(fields.ids->pid);
  }
  if (fields.pointer_size == 4) options |= kOptionPointer32;
  if (fields.pointer_size == 8) options |= kOptionPointer64;
  StoreAt(place, 6, static_cast<uint16_t>(options));
  return {tail.place(), payload_size};
}

std::span<std::byte> BeginRecord(std::byte* place, const TimedFields& fields, size_t payload_size) {
  StoreMarker(place, RecordSize(fields, payload_size), 0, kMarkerTimed);
  StoreAt(place, 4, fields.value);
  StoreAt(place, 8, fields.timestamp);
  return {place + 16, payload_size};
}

std::span<std::byte> BeginRecord(std::byte* place, const RawFields& fields, size_t payload_size) {
  StoreMarker(place, RecordSize(fields, payload_size), fields.type, fields.marker);
  return {place + 4, payload_size};
}

}  // namespace etwpipe::etl

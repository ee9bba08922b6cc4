#include "formats/etl/record.h"

#include <cstring>

#include "formats/etl/kernel_groups.h"
#include "formats/etl/layout.h"
#include "formats/schema/extended_items.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr size_t kMarkerSize = 4;
constexpr size_t kMessageHeaderSize = 8;
constexpr size_t kTimedRecordSize = 16;
constexpr size_t kExtendedHeaderSize = 8;
constexpr int kMaxExtendedItems = 32;
constexpr size_t kImageLoadSlot = kKernelGroups + 1;

// What follows from a record's type byte when byte 3 says it has a fixed header.
struct TypeInfo {
  HeaderKind kind = HeaderKind::kUnknown;
  uint8_t header_size = 4;
  uint8_t size_at = 0;       // where the u16 size stands
  uint8_t timestamp_at = 0;  // 0: none
  bool pointer64 = false;
  bool states_pointer = false;
};

constexpr std::array<TypeInfo, 256> MakeTypes() {
  std::array<TypeInfo, 256> types{};
  types[kTypeSystem32] = {HeaderKind::kSystem32, kSystemHeaderSize, 4, 16, false, true};
  types[kTypeSystem64] = {HeaderKind::kSystem64, kSystemHeaderSize, 4, 16, true, true};
  types[kTypeCompact32] = {HeaderKind::kCompact32, kCompactHeaderSize, 4, 16, false, true};
  types[kTypeCompact64] = {HeaderKind::kCompact64, kCompactHeaderSize, 4, 16, true, true};
  types[kTypeFull32] = {HeaderKind::kFull32, kFullHeaderSize, 0, 16, false, true};
  types[kTypeFull64] = {HeaderKind::kFull64, kFullHeaderSize, 0, 16, true, true};
  types[kTypeInstance32] = {HeaderKind::kInstance32, kInstanceHeaderSize, 0, 16, false, true};
  types[kTypeInstance64] = {HeaderKind::kInstance64, kInstanceHeaderSize, 0, 16, true, true};
  types[kTypeError] = {HeaderKind::kError, kMarkerSize, 0, 0, false, false};
  types[kTypePerfInfo32] = {HeaderKind::kPerfInfo32, kPerfInfoHeaderSize, 4, 8, false, true};
  types[kTypePerfInfo64] = {HeaderKind::kPerfInfo64, kPerfInfoHeaderSize, 4, 8, true, true};
  types[kTypeEvent32] = {HeaderKind::kEvent32, kEventHeaderSize, 0, 16, false, true};
  types[kTypeEvent64] = {HeaderKind::kEvent64, kEventHeaderSize, 0, 16, true, true};
  return types;
}
constexpr std::array<TypeInfo, 256> kTypes = MakeTypes();

// WPP option flags in the order their items follow the 8-byte header (etl-format.md 2.7).
enum MessageOption : uint16_t {
  kMessageSequence = 0x01,
  kMessageGuid = 0x02,
  kMessageComponentId = 0x04,
  kMessageTimestamp = 0x08,
  kMessageSystemInfo = 0x20,
  kMessagePointer32 = 0x40,
  kMessagePointer64 = 0x80,
};

struct MessageHeader {
  size_t size = kMessageHeaderSize;  // header with its items
  size_t guid_at = 0;                // 0: none
  size_t component_at = 0;
  size_t timestamp_at = 0;
  size_t system_info_at = 0;
};

MessageHeader LayoutOfMessage(uint16_t options) {
  MessageHeader layout;
  const auto take = [&](size_t bytes) {
    const size_t at = layout.size;
    layout.size += bytes;
    return at;
  };
  if (options & kMessageSequence) take(4);
  // With both flags set the component id stands instead of the GUID; peers disagree (etl-format.md 2.7).
  if (options & kMessageComponentId) {
    layout.component_at = take(4);
  } else if (options & kMessageGuid) {
    layout.guid_at = take(16);
  }
  if (options & kMessageTimestamp) layout.timestamp_at = take(8);
  if (options & kMessageSystemInfo) layout.system_info_at = take(8);
  return layout;
}

Guid GuidAt(const std::byte* bytes) { return LoadAt<Guid>(bytes); }

// Counter words after a kernel header: one for bit 15 of the version word, one per count in bits 10-8.
size_t CounterBytes(uint16_t version_word) {
  return size_t{8} * ((version_word >> 15 & 1u) + (version_word >> 8 & 7u));
}

bool SetCounters(uint16_t version_word, EventHeader& row) {
  const size_t counters = CounterBytes(version_word);
  if (row.payload_begin + counters > row.record_size) return false;
  row.payload_begin = static_cast<uint16_t>(row.payload_begin + counters);
  return true;
}

// End of the extended items that start at `begin`, or 0 if they do not fit.
size_t ExtendedEnd(std::span<const std::byte> record, size_t begin) {
  auto rest = record.subspan(begin);
  schema::ExtendedItemView item;
  for (int count = 0; count < kMaxExtendedItems; ++count) {
    const bool last = rest.size() < kExtendedHeaderSize || (LoadAt<uint16_t>(rest.data(), 4) & 1u) == 0;
    if (!schema::NextExtendedItem(rest, item)) return 0;
    if (last) return record.size() - rest.size();
  }
  return 0;
}

void ParseMessage(std::span<const std::byte> record, uint32_t default_pointer_size, ProviderResolver& providers,
                  EventHeader& row) {
  const auto options = LoadAt<uint16_t>(record.data(), 6);
  const MessageHeader layout = LayoutOfMessage(options);
  row.kind = HeaderKind::kMessage;
  row.header_type = kTypeMessage;
  row.id = LoadAt<uint16_t>(record.data(), 4);
  row.payload_begin = static_cast<uint16_t>(layout.size);
  row.extended_begin = row.payload_begin;
  if (layout.guid_at != 0) {
    row.provider = providers.Resolve(GuidAt(record.data() + layout.guid_at));
    row.flags |= kHasProvider;
  }
  if (layout.timestamp_at != 0) {
    row.timestamp = LoadAt<int64_t>(record.data(), layout.timestamp_at);
    row.flags |= kHasTimestamp;
  }
  if (layout.system_info_at != 0) {
    row.tid = LoadAt<uint32_t>(record.data(), layout.system_info_at);
    row.pid = LoadAt<uint32_t>(record.data(), layout.system_info_at + 4);
    row.flags |= kHasPid;
  }
  const bool states64 = (options & kMessagePointer64) != 0;
  const bool states32 = (options & kMessagePointer32) != 0;
  if (states64 || (!states32 && default_pointer_size == 8)) row.flags |= kPointer64;
}

}  // namespace

std::string_view ProbeRecord(std::span<const std::byte> rest, RecordProbe& probe) {
  if (rest.size() < kMarkerSize) return "fewer than 4 bytes are left for a record";
  const auto marker = LoadAt<uint32_t>(rest.data());
  if ((marker & 0x80000000u) == 0) return "a record does not start with a marker";
  const auto flags = static_cast<uint8_t>(marker >> 24);
  size_t header_size = kMarkerSize;
  size_t timestamp_at = 0;
  size_t size_at = 0;
  if (flags == kMarkerMessage) {
    probe.kind = HeaderKind::kMessage;
    header_size = kMessageHeaderSize;
    if (rest.size() < header_size) return "a message record is cut off";
    const MessageHeader layout = LayoutOfMessage(LoadAt<uint16_t>(rest.data(), 6));
    header_size = layout.size;
    timestamp_at = layout.timestamp_at;
  } else if (flags == kMarkerTimed) {
    probe.kind = HeaderKind::kTimed;
    header_size = kTimedRecordSize;
    timestamp_at = 8;
  } else if (flags == kMarkerFixed) {
    const TypeInfo& type = kTypes[marker >> 16 & 0xFFu];
    probe.kind = type.kind;
    header_size = type.header_size;
    timestamp_at = type.timestamp_at;
    size_at = type.size_at;
  } else {
    probe.kind = HeaderKind::kUnknown;
    if (marker == 0xFFFFFFFFu) return "fill bytes stand where a record should";
  }
  if (rest.size() < header_size) return "a record header is cut off";
  probe.size = LoadAt<uint16_t>(rest.data(), size_at);
  if (probe.size < header_size) return "a record is smaller than its header";
  if (probe.size > rest.size()) return "a record reaches past the end of its buffer";
  probe.has_timestamp = timestamp_at != 0;
  probe.timestamp = timestamp_at != 0 ? LoadAt<int64_t>(rest.data(), timestamp_at) : 0;
  return {};
}

ProviderIndex ProviderResolver::Resolve(const Guid& guid) {
  const auto mixed = LoadAt<uint32_t>(guid.bytes.data()) * 0x9E3779B1u;
  Slot& slot = cache_[mixed >> 26];
  if (slot.index != kUnresolved && slot.guid == guid) return slot.index;
  const auto index = table_.Intern(guid);
  if (!index) {
    full_ = true;
    return 0;
  }
  slot = {guid, *index};
  return *index;
}

ProviderIndex ProviderResolver::ResolveHook(uint8_t group, uint8_t type) {
  const Guid& guid = KernelGroupGuid(group, type);
  const bool image_load = group == kGroupProcess && &guid != &KernelGroupGuid(kGroupProcess, 0);
  ProviderIndex& slot = groups_[image_load ? kImageLoadSlot : std::min<size_t>(group, kKernelGroups)];
  if (slot == kUnresolved) {
    const auto index = table_.Intern(guid);
    full_ |= !index;
    slot = index.value_or(0);
  }
  return slot;
}

bool ParseRecord(std::span<const std::byte> record, uint32_t default_pointer_size, ProviderResolver& providers,
                 EventHeader& row) {
  const std::byte* bytes = record.data();
  const auto marker = LoadAt<uint32_t>(bytes);
  const auto flags = static_cast<uint8_t>(marker >> 24);
  row = EventHeader{};
  row.record = bytes;
  row.record_size = static_cast<uint16_t>(record.size());
  row.header_type = static_cast<uint8_t>(marker >> 16);
  if (flags == kMarkerMessage) {
    ParseMessage(record, default_pointer_size, providers, row);
    return true;
  }
  if (flags == kMarkerTimed) {
    row.kind = HeaderKind::kTimed;
    row.timestamp = LoadAt<int64_t>(bytes, 8);
    row.flags = static_cast<uint8_t>(kHasTimestamp | (default_pointer_size == 8 ? kPointer64 : 0));
    row.extended_begin = row.payload_begin = kTimedRecordSize;
    return true;
  }
  const TypeInfo type = flags == kMarkerFixed ? kTypes[row.header_type] : TypeInfo{};
  row.kind = type.kind;
  row.extended_begin = row.payload_begin = type.header_size;
  if (type.timestamp_at != 0) {
    row.timestamp = LoadAt<int64_t>(bytes, type.timestamp_at);
    row.flags |= kHasTimestamp;
  }
  if (type.states_pointer ? type.pointer64 : default_pointer_size == 8) row.flags |= kPointer64;
  switch (type.kind) {
    case HeaderKind::kSystem32:
    case HeaderKind::kSystem64:
    case HeaderKind::kCompact32:
    case HeaderKind::kCompact64:
      row.tid = LoadAt<uint32_t>(bytes, 8);
      row.pid = LoadAt<uint32_t>(bytes, 12);
      row.flags |= kHasPid;
      [[fallthrough]];
    case HeaderKind::kPerfInfo32:
    case HeaderKind::kPerfInfo64: {
      const auto version_word = LoadAt<uint16_t>(bytes);
      row.version = version_word & 0xFF;
      row.opcode = LoadAt<uint8_t>(bytes, 6);
      row.provider = providers.ResolveHook(LoadAt<uint8_t>(bytes, 7), row.opcode);
      row.flags |= kHasProvider;
      const bool fits = SetCounters(version_word, row);
      row.extended_begin = row.payload_begin;
      return fits;
    }
    case HeaderKind::kFull32:
    case HeaderKind::kFull64:
    case HeaderKind::kInstance32:
    case HeaderKind::kInstance64:
      row.opcode = LoadAt<uint8_t>(bytes, 4);
      row.level = LoadAt<uint8_t>(bytes, 5);
      row.version = LoadAt<uint16_t>(bytes, 6);
      row.tid = LoadAt<uint32_t>(bytes, 8);
      row.pid = LoadAt<uint32_t>(bytes, 12);
      row.provider = providers.Resolve(GuidAt(bytes + 24));
      row.flags |= kHasPid | kHasProvider;
      return true;
    case HeaderKind::kEvent32:
    case HeaderKind::kEvent64: {
      row.tid = LoadAt<uint32_t>(bytes, 8);
      row.pid = LoadAt<uint32_t>(bytes, 12);
      row.provider = providers.Resolve(GuidAt(bytes + 24));
      row.id = LoadAt<uint16_t>(bytes, 40);
      row.version = LoadAt<uint8_t>(bytes, 42);
      row.channel = LoadAt<uint8_t>(bytes, 43);
      row.level = LoadAt<uint8_t>(bytes, 44);
      row.opcode = LoadAt<uint8_t>(bytes, 45);
      row.task = LoadAt<uint16_t>(bytes, 46);
      row.keyword = LoadAt<uint64_t>(bytes, 48);
      row.flags |= kHasPid | kHasProvider;
      if ((LoadAt<uint16_t>(bytes, 4) & kEventFlagExtended) == 0) return true;
      const size_t end = ExtendedEnd(record, kEventHeaderSize);
      if (end == 0) return false;
      row.payload_begin = static_cast<uint16_t>(end);
      row.flags |= kHasExtended;
      return true;
    }
    default: return true;
  }
}

Guid RecordGuid(std::span<const std::byte> record) { return GuidAt(record.data() + 24); }

bool MessageComponentId(const EventHeader& row, uint32_t& component_id) {
  if (row.kind != HeaderKind::kMessage) return false;
  const MessageHeader layout = LayoutOfMessage(LoadAt<uint16_t>(row.record, 6));
  if (layout.component_at == 0) return false;
  component_id = LoadAt<uint32_t>(row.record, layout.component_at);
  return true;
}

}  // namespace etwpipe::etl

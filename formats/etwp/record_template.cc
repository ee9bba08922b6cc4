#include "formats/etwp/record_template.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

using v1::Slot;

// MESSAGE option flags, etl-format.md 2.7.
constexpr size_t kMessageHeader = 8;
constexpr uint16_t kMessageSequence = 0x01;
constexpr uint16_t kMessageGuid = 0x02;
constexpr uint16_t kMessageComponent = 0x04;
constexpr uint16_t kMessageTimestamp = 0x08;
constexpr uint16_t kMessageSystemInfo = 0x20;

// Headers of types without a known layout: marker and size.
constexpr size_t kMarkerAndSize = 4;
constexpr size_t kMarkerThenSize = 6;

}  // namespace

size_t SlotWidth(Slot::Field field) {
  switch (field) {
    case Slot::FIELD_SIZE: return 2;
    case Slot::FIELD_TIMESTAMP: return 8;
    case Slot::FIELD_ACTIVITY: return 16;
    case Slot::FIELD_TID:
    case Slot::FIELD_PID:
    case Slot::FIELD_KERNEL_TIME:
    case Slot::FIELD_USER_TIME:
    case Slot::FIELD_INSTANCE:
    case Slot::FIELD_PARENT:
    case Slot::FIELD_SEQUENCE: return 4;
    default: return 0;
  }
}

void RecordTemplate::Start(std::span<const std::byte> header) {
  size_ = static_cast<uint16_t>(header.size());
  std::memcpy(header_.data(), header.data(), header.size());
}

void RecordTemplate::MakeRaw() {
  size_ = 0;
  slots_.fill(kNoSlot);
}

void RecordTemplate::AddSlot(Slot::Field field, size_t offset) {
  slots_[static_cast<size_t>(field)] = static_cast<uint16_t>(offset);
  std::memset(header_.data() + offset, 0, SlotWidth(field));
}

RecordTemplate RecordTemplate::FromRow(const EventHeader& row) {
  RecordTemplate made;
  const std::byte* bytes = row.record;
  const size_t size = row.record_size;
  if (size < kMarkerAndSize) return made;

  const auto start = [&](size_t header_size, size_t size_at) {
    if (size < header_size || LoadAt<uint16_t>(bytes, size_at) != row.record_size) return false;
    made.Start({bytes, header_size});
    made.AddSlot(Slot::FIELD_SIZE, size_at);
    return true;
  };
  const auto timestamp = [&](size_t offset) {
    if (LoadAt<int64_t>(bytes, offset) == row.timestamp)
      made.AddSlot(Slot::FIELD_TIMESTAMP, offset);
    else
      made.MakeRaw();
  };
  const auto ids = [&](size_t tid_offset) {
    made.AddSlot(Slot::FIELD_TID, tid_offset);
    made.AddSlot(Slot::FIELD_PID, tid_offset + 4);
  };
  const auto times = [&](size_t offset) {
    made.AddSlot(Slot::FIELD_KERNEL_TIME, offset);
    made.AddSlot(Slot::FIELD_USER_TIME, offset + 4);
  };

  const auto marker_flags = LoadAt<uint8_t>(bytes, 3);
  if (marker_flags == etl::kMarkerMessage) {
    if (size < kMessageHeader) return made;
    const auto options = LoadAt<uint16_t>(bytes, 6);
    size_t header = kMessageHeader;
    const auto take = [&](bool present, size_t width) {
      const size_t at = header;
      header += present ? width : 0;
      return at;
    };
    const bool has_guid = (options & kMessageGuid) != 0;
    const size_t sequence_at = take(options & kMessageSequence, 4);
    take(has_guid, 16);
    take(!has_guid && (options & kMessageComponent) != 0, 4);
    const size_t timestamp_at = take(options & kMessageTimestamp, 8);
    const size_t ids_at = take(options & kMessageSystemInfo, 8);
    if (!start(header, 0)) return made;
    if (options & kMessageSequence) made.AddSlot(Slot::FIELD_SEQUENCE, sequence_at);
    if (options & kMessageSystemInfo) ids(ids_at);
    if (options & kMessageTimestamp) timestamp(timestamp_at);
    return made;
  }

  const auto type = marker_flags == etl::kMarkerFixed ? LoadAt<uint8_t>(bytes, 2) : uint8_t{0};
  switch (type) {
    case etl::kTypeSystem32:
    case etl::kTypeSystem64:
      if (!start(etl::kSystemHeaderSize, 4)) return made;
      ids(8);
      times(24);
      timestamp(16);
      return made;
    case etl::kTypeCompact32:
    case etl::kTypeCompact64:
      if (!start(etl::kCompactHeaderSize, 4)) return made;
      ids(8);
      timestamp(16);
      return made;
    case etl::kTypePerfInfo32:
    case etl::kTypePerfInfo64:
      if (!start(etl::kPerfInfoHeaderSize, 4)) return made;
      timestamp(8);
      return made;
    case etl::kTypeFull32:
    case etl::kTypeFull64:
      if (!start(etl::kFullHeaderSize, 0)) return made;
      ids(8);
      times(40);
      timestamp(16);
      return made;
    case etl::kTypeInstance32:
    case etl::kTypeInstance64:
      if (!start(etl::kInstanceHeaderSize, 0)) return made;
      ids(8);
      times(40);
      made.AddSlot(Slot::FIELD_INSTANCE, 48);
      made.AddSlot(Slot::FIELD_PARENT, 52);
      timestamp(16);
      return made;
    case etl::kTypeEvent32:
    case etl::kTypeEvent64:
      if (!start(etl::kEventHeaderSize, 0)) return made;
      made.extended_ = (LoadAt<uint16_t>(bytes, 4) & etl::kEventFlagExtended) != 0;
      ids(8);
      times(56);
      made.AddSlot(Slot::FIELD_ACTIVITY, 64);
      timestamp(16);
      return made;
    default:
      if (!start(kMarkerAndSize, 0) && size >= kMarkerThenSize) start(kMarkerThenSize, 4);
      return made;
  }
}

std::optional<RecordTemplate> RecordTemplate::FromProto(const v1::Kind& kind) {
  if (kind.number() == kRawKind || kind.header().empty() || kind.header().size() > kMaxHeader) return std::nullopt;
  RecordTemplate made;
  made.Start(std::as_bytes(std::span(kind.header())));
  made.extended_ = kind.extended();
  std::array<bool, kMaxHeader> taken{};
  for (const auto& slot : kind.slots()) {
    const size_t width = SlotWidth(slot.field());
    if (width == 0 || made.has(slot.field())) return std::nullopt;
    if (slot.offset() > made.size_ || width > made.size_ - slot.offset()) return std::nullopt;
    const auto place = taken.begin() + slot.offset();
    if (std::find(place, place + static_cast<ptrdiff_t>(width), true) != place + static_cast<ptrdiff_t>(width)) {
      return std::nullopt;
    }
    std::fill_n(place, width, true);
    made.AddSlot(slot.field(), slot.offset());
  }
  if (made.has(Slot::FIELD_TID) != made.has(Slot::FIELD_PID)) return std::nullopt;
  if (kind.has_layout()) {
    auto layout = PayloadLayout::FromProto(kind.layout());
    if (!layout) return std::nullopt;
    made.layout_ = std::make_shared<const PayloadLayout>(std::move(*layout));
  }
  return made;
}

void RecordTemplate::ToProto(v1::Kind& kind) const {
  kind.set_header(header_.data(), size_);
  kind.set_extended(extended_);
  for (size_t field = 0; field < kFields; ++field) {
    if (slots_[field] == kNoSlot) continue;
    auto& slot = *kind.add_slots();
    slot.set_field(static_cast<Slot::Field>(field));
    slot.set_offset(slots_[field]);
  }
  if (layout_) layout_->ToProto(*kind.mutable_layout());
}

uint64_t RecordTemplate::Hash() const {
  const uint64_t layout = layout_ ? layout_->Hash() : 0;
  return XXH3_64bits_withSeed(header_.data(), size_, layout << 1 | (extended_ ? 1 : 0));
}

bool operator==(const RecordTemplate& a, const RecordTemplate& b) {
  return a.size_ == b.size_ && a.extended_ == b.extended_ && a.slots_ == b.slots_ &&
         std::memcmp(a.header_.data(), b.header_.data(), a.size_) == 0 &&
         (a.layout_ == b.layout_ || (a.layout_ && b.layout_ && *a.layout_ == *b.layout_));
}

}  // namespace etwpipe::etwp

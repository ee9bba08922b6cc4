#include "formats/etl/id_map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "formats/etl/layout.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr uint64_t kMaxGap = uint64_t{1} << 60;
constexpr uint64_t kMaxRecordsPerBuffer = kMaxBufferBytes / 8;
constexpr int kRunAbsolute = 3;

void AppendVarint(std::vector<std::byte>& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::byte>(value));
}

void AppendU64(std::vector<std::byte>& out, uint64_t value) {
  const size_t at = out.size();
  out.resize(at + 8);
  StoreAt(out.data(), at, value);
}

uint64_t Check(std::span<const std::byte> image, std::span<const RecordPlace> records) {
  if (records.empty()) return 0;
  const size_t begin = records.front().offset;
  const size_t end = std::min(image.size(), Align8(records.back().offset + records.back().size));
  return XXH3_64bits(image.data() + begin, end - begin);
}

uint32_t LayoutCheck(std::span<const RecordPlace> records) {
  std::vector<uint16_t> sizes;
  sizes.reserve(records.size());
  for (const RecordPlace& record : records) sizes.push_back(record.size);
  return static_cast<uint32_t>(XXH3_64bits(sizes.data(), sizes.size() * sizeof(uint16_t)));
}

uint64_t IdStep(const RecordPlace& record) { return Align8(record.size) / 8; }

EventInstanceId PlaceId(uint64_t ordinal, const RecordPlace& record) {
  return MakeInstanceId(0, ordinal, record.offset);
}

// Ids that do not follow from record sizes but step evenly, like the counters of injected events.
size_t StrideRun(std::span<const EventInstanceId> ids, size_t begin, uint64_t& stride) {
  stride = begin + 1 < ids.size() && ids[begin + 1] > ids[begin] ? ids[begin + 1] - ids[begin] : 0;
  size_t end = begin + 1;
  if (stride == 0) return 1;
  while (end < ids.size() && ids[end] == ids[end - 1] + stride) ++end;
  return end - begin;
}

}  // namespace

std::vector<std::byte> EncodeIdEntry(std::span<const std::byte> image, std::span<const RecordPlace> records,
                                     std::span<const EventInstanceId> ids, uint64_t ordinal) {
  bool places = true;
  for (size_t i = 0; i < ids.size() && places; ++i) places = ids[i] == PlaceId(ordinal, records[i]);
  std::vector<std::byte> out;
  AppendVarint(out, static_cast<uint64_t>(ids.size()) << 1 | (places ? 1 : 0));
  AppendU64(out, Check(image, records));
  const size_t layout_at = out.size();
  out.resize(layout_at + sizeof(uint32_t));
  StoreAt(out.data(), layout_at, LayoutCheck(records));
  if (places) return out;
  EventInstanceId expected = PlaceId(ordinal, records[0]);
  for (size_t begin = 0; begin < ids.size();) {
    size_t length = 1;
    while (begin + length < ids.size() &&
           ids[begin + length] == ids[begin + length - 1] + IdStep(records[begin + length - 1])) {
      ++length;
    }
    uint64_t stride = 0;
    const size_t stride_length = StrideRun(ids, begin, stride);
    const uint64_t gap = ids[begin] - expected;
    if (ids[begin] < expected || gap >= kMaxGap || stride_length > length + 8) {
      if (stride_length <= length) stride = 0;
      const size_t count = stride_length > length ? stride_length : 1;
      AppendVarint(out, kRunAbsolute);
      AppendU64(out, ids[begin]);
      AppendVarint(out, count);
      AppendVarint(out, stride);
      begin += count;
    } else {
      AppendVarint(out, gap << 2 | std::min<size_t>(length - 1, 2));
      if (length >= 3) AppendVarint(out, length - 3);
      begin += length;
    }
    expected = ids[begin - 1] + IdStep(records[begin - 1]);
  }
  return out;
}

bool IdMap::AddCarrier(uint64_t first_buffer, uint64_t first_record, std::span<const std::byte> data) {
  const size_t base = data_.size();
  data_.insert(data_.end(), data.begin(), data.end());
  ByteReader reader(data);
  uint64_t buffer = first_buffer;
  uint64_t record = first_record;
  for (bool first = true; reader.remaining() > 0; first = false) {
    const uint64_t distance = reader.ReadVarint();
    if (distance > kMaxBufferOrdinal) return false;
    if (!first && distance != 0) record = 0;
    buffer += distance;
    const uint64_t head = reader.ReadVarint();
    const uint64_t count = head >> 1;
    Entry entry{buffer, record, count, base + reader.position(), 0};
    reader.Skip(sizeof(uint64_t) + sizeof(uint32_t));
    if (reader.failed() || count > kMaxRecordsPerBuffer) return false;
    if ((head & 1) == 0) {
      for (uint64_t covered = 0; covered < count;) {
        const uint64_t token = reader.ReadVarint();
        uint64_t length = (token & 3) + 1;
        if ((token & 3) == 2) length = reader.ReadVarint() + 3;
        if ((token & 3) == kRunAbsolute) {
          reader.Skip(8);
          length = reader.ReadVarint();
          (void)reader.ReadVarint();
        }
        if (reader.failed() || length == 0 || length > count - covered) return false;
        covered += length;
      }
    }
    entry.data_end = base + reader.position();
    // Bit 0 travels in the top bit of the count.
    if ((head & 1) != 0) entry.record_count |= uint64_t{1} << 63;
    if (!entries_.empty() && std::pair(entry.buffer, entry.first_record) <=
                                 std::pair(entries_.back().buffer, entries_.back().first_record)) {
      return false;
    }
    entries_.push_back(entry);
    record += count;
  }
  return true;
}

bool IdMap::DecodeEntry(const Entry& entry, const SourceBuffer& buffer, std::vector<EventInstanceId>& ids,
                        bool& all_places, bool& changed) const {
  const uint64_t count = entry.record_count & ~(uint64_t{1} << 63);
  const bool places = entry.record_count >> 63 != 0;
  if (entry.first_record != ids.size() || buffer.records.size() - ids.size() < count) return false;
  const auto records = std::span(buffer.records).subspan(ids.size(), count);
  ByteReader reader(std::span<const std::byte>(data_).subspan(entry.data_begin, entry.data_end - entry.data_begin));
  changed |= reader.Read<uint64_t>() != Check(buffer.image, records);
  if (reader.Read<uint32_t>() != LayoutCheck(records)) return false;
  if (places) {
    for (const RecordPlace& record : records) ids.push_back(PlaceId(entry.buffer, record));
    return true;
  }
  all_places = false;
  if (records.empty()) return true;
  EventInstanceId expected = PlaceId(entry.buffer, records[0]);
  for (size_t covered = 0; covered < count;) {
    const uint64_t token = reader.ReadVarint();
    if ((token & 3) == kRunAbsolute) {
      EventInstanceId id = reader.Read<uint64_t>();
      const uint64_t length = reader.ReadVarint();
      const uint64_t stride = reader.ReadVarint();
      for (uint64_t i = 0; i < length; ++i, ++covered, id += stride) ids.push_back(id);
    } else {
      const uint64_t length = (token & 3) == 2 ? reader.ReadVarint() + 3 : (token & 3) + 1;
      EventInstanceId id = expected + (token >> 2);
      for (uint64_t i = 0; i < length; ++i, ++covered) {
        ids.push_back(id);
        id += IdStep(records[covered]);
      }
    }
    expected = ids.back() + IdStep(records[covered - 1]);
  }
  return true;
}

IdMap::Answer IdMap::Lookup(const SourceBuffer& buffer, std::vector<EventInstanceId>& ids, bool& changed) const {
  ids.clear();
  changed = false;
  auto entry = std::lower_bound(entries_.begin(), entries_.end(), buffer.ordinal,
                                [](const Entry& e, uint64_t ordinal) { return e.buffer < ordinal; });
  if (entry == entries_.end() || entry->buffer != buffer.ordinal) return Answer::kNone;
  bool all_places = true;
  for (; entry != entries_.end() && entry->buffer == buffer.ordinal; ++entry) {
    if (!DecodeEntry(*entry, buffer, ids, all_places, changed)) return Answer::kMismatch;
  }
  if (ids.size() != buffer.records.size()) return Answer::kMismatch;
  return all_places ? Answer::kPlaces : Answer::kIds;
}

void IdMapWriter::Add(uint64_t ordinal, uint64_t first_record, std::span<const std::byte> entry) {
  std::vector<std::byte> distance;
  if (!carriers_.empty()) AppendVarint(distance, ordinal - last_buffer_);
  if (carriers_.empty() || carriers_.back().data.size() + distance.size() + entry.size() > max_payload_) {
    carriers_.push_back({ordinal, first_record, {}});
    distance.assign(1, std::byte{0});
  }
  auto& data = carriers_.back().data;
  data.insert(data.end(), distance.begin(), distance.end());
  data.insert(data.end(), entry.begin(), entry.end());
  last_buffer_ = ordinal;
}

}  // namespace etwpipe::etl

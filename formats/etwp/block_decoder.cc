#include "formats/etwp/block_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "formats/etl/layout.h"
#include "formats/etwp/block_layout.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/rows_block.h"
#include "pipeline/batch.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {

std::optional<DecodeError> FindNames(const v1::Block& block, const Dictionary& dictionary, BlockNames& names) {
  names.kinds.clear();
  names.annotations.clear();
  for (const uint32_t number : block.kinds()) {
    names.kinds.push_back(dictionary.kind(number));
    if (names.kinds.back() == nullptr) {
      return DecodeError{DiagnosticId::kArchiveFrameBad,
                         fmt::format("it needs kind {}, whose dictionary frame is missing or damaged", number)};
    }
  }
  for (const uint32_t number : block.annotations()) {
    names.annotations.push_back(dictionary.annotation(number));
    if (names.annotations.back() == nullptr) {
      return DecodeError{DiagnosticId::kArchiveFrameBad,
                         fmt::format("it needs annotation {}, whose dictionary frame is missing or damaged", number)};
    }
  }
  return std::nullopt;
}

namespace {

using v1::Slot;

// Readable bytes after the last record, so that looking at a marker never reaches outside.
constexpr size_t kRecordSlack = 8;

// Columns of one kind while its events are put together.
struct KindCursor {
  const RecordTemplate* kind = nullptr;
  size_t count = 0;
  size_t next = 0;  // event of this kind that comes next
  std::vector<uint64_t> timestamps;
  std::vector<uint64_t> extended_sizes;
  std::vector<uint64_t> payload_sizes;
  std::span<const std::byte> extended;
  std::span<const std::byte> payload;
};

class Decoding {
 public:
  Decoding(const v1::Block& block, const BlockNames& names, DecodedBlock& out)
      : block_(block), names_(names), out_(out), events_(block.events()) {}

  std::optional<DecodeError> Run() {
    if (auto error = CheckBlock()) return error;
    if (auto error = columns_.Open(block_.columns())) return error;
    if (!ReadKinds() || !ReadHeaderColumns() || !ReadKindColumns()) return Bad("a column does not fit its events");
    if (!BuildRecords()) return Bad("its columns contradict each other");
    for (int i = 0; i < block_.annotations_size(); ++i) {
      const auto& info = *names_.annotations[static_cast<size_t>(i)];
      if (!ReadAnnotation(block_.annotations(i), info)) return Bad("an annotation column does not fit its events");
    }
    return std::nullopt;
  }

 private:
  static DecodeError Bad(std::string reason) { return {DiagnosticId::kArchiveFrameBad, std::move(reason)}; }

  std::optional<DecodeError> CheckBlock() const {
    if (events_ == 0 || events_ > kMaxBlockEvents) return Bad(fmt::format("it declares {} events", events_));
    if (block_.record_bytes() > kMaxContent) {
      return Bad(fmt::format("it declares {} bytes of records", block_.record_bytes()));
    }
    uint64_t batched = 0;
    for (const uint32_t batch : block_.batch_events()) {
      if (batch == 0 || batch > kMaxBatchRows) return Bad("it declares an impossible batch");
      batched += batch;
    }
    if (batched != events_) return Bad("its batches do not add up to its events");
    return std::nullopt;
  }

  bool ReadKinds() {
    if (!columns_.Numbers(v1::COLUMN_KIND, 0, events_, kind_index_)) return false;
    cursors_.resize(names_.kinds.size());
    for (size_t i = 0; i < cursors_.size(); ++i) cursors_[i].kind = names_.kinds[i];
    for (const uint64_t index : kind_index_) {
      if (index >= cursors_.size()) return false;
      ++cursors_[index].count;
    }
    return cursors_.size() <= 0x10000;
  }

  size_t CountWith(Slot::Field field) const {
    size_t count = 0;
    for (const auto& cursor : cursors_) count += cursor.kind->has(field) ? cursor.count : 0;
    return count;
  }

  bool ReadHeaderColumns() {
    if (!columns_.Numbers(v1::COLUMN_CPU, 0, events_, cpus_)) return false;
    if (!columns_.Numbers(v1::COLUMN_INSTANCE_ID, 0, events_, ids_)) return false;
    if (!columns_.Numbers(v1::COLUMN_THREAD, 0, CountWith(Slot::FIELD_TID), threads_)) return false;
    uint64_t pairs = 0;
    for (const uint64_t thread : threads_) pairs = std::max(pairs, thread);
    if (pairs > threads_.size()) return false;
    if (!columns_.Numbers(v1::COLUMN_THREAD_PID, 0, pairs, pids_)) return false;
    if (!columns_.Numbers(v1::COLUMN_THREAD_TID, 0, pairs, tids_)) return false;
    if (!columns_.Numbers(v1::COLUMN_ACTIVITY, 0, CountWith(Slot::FIELD_ACTIVITY), activities_)) return false;
    if (!columns_.Bytes(v1::COLUMN_ACTIVITY_GUID, 0, guids_) || guids_.size() % kGuidSize != 0) return false;
    for (size_t i = 0; i < kNumberSlotCount; ++i) {
      const auto& slot = kNumberSlots[i];
      if (!columns_.Numbers(slot.column, 0, CountWith(slot.field), slot_values_[i])) return false;
    }
    return true;
  }

  bool ReadKindColumns() {
    for (size_t i = 0; i < cursors_.size(); ++i) {
      KindCursor& cursor = cursors_[i];
      const uint32_t number = block_.kinds(static_cast<int>(i));
      if (!columns_.Numbers(v1::COLUMN_TIMESTAMP, number, cursor.count, cursor.timestamps)) return false;
      if (!columns_.Numbers(v1::COLUMN_PAYLOAD_SIZE, number, cursor.count, cursor.payload_sizes)) return false;
      if (!columns_.Bytes(v1::COLUMN_PAYLOAD, number, cursor.payload)) return false;
      if (!cursor.kind->extended()) continue;
      if (!columns_.Numbers(v1::COLUMN_EXTENDED_SIZE, number, cursor.count, cursor.extended_sizes)) return false;
      if (!columns_.Bytes(v1::COLUMN_EXTENDED, number, cursor.extended)) return false;
    }
    return true;
  }

  // Sizes first, so that the memory for all records is known before it is taken.
  bool LayOut() {
    uint64_t total = 0;
    uint64_t aligned = 0;
    out_.rows.resize(events_);
    for (size_t i = 0; i < events_; ++i) {
      KindCursor& cursor = cursors_[kind_index_[i]];
      const uint64_t payload = cursor.payload_sizes[cursor.next];
      const uint64_t extended = cursor.kind->extended() ? cursor.extended_sizes[cursor.next] : 0;
      ++cursor.next;
      if (payload > etl::kMaxRecordSize || extended > etl::kMaxRecordSize) return false;
      const uint64_t size = cursor.kind->header_size() + extended + payload;
      if (size > etl::kMaxRecordSize) return false;
      auto& row = out_.rows[i];
      row.size = static_cast<uint16_t>(size);
      row.offset = static_cast<uint32_t>(aligned);
      total += size;
      aligned += etl::Align8(size);
      if (total > block_.record_bytes()) return false;
    }
    if (total != block_.record_bytes()) return false;
    out_.bytes.resize(aligned + kRecordSlack);
    for (auto& cursor : cursors_) cursor.next = 0;
    return true;
  }

  bool BuildRecords() {
    if (!LayOut()) return false;
    CpuStates states;
    auto previous = static_cast<uint64_t>(block_.first_timestamp());
    size_t next_thread = 0;
    size_t next_activity = 0;
    size_t next_value[kNumberSlotCount] = {};
    for (size_t i = 0; i < events_; ++i) {
      auto& row = out_.rows[i];
      KindCursor& cursor = cursors_[kind_index_[i]];
      const RecordTemplate& kind = *cursor.kind;
      if (cpus_[i] > std::numeric_limits<uint16_t>::max()) return false;
      row.cpu = static_cast<uint16_t>(cpus_[i]);
      row.kind = static_cast<uint16_t>(kind_index_[i]);
      CpuState& state = states[row.cpu];
      row.instance_id = state.expected_id + UnZigZag(ids_[i]);
      state.expected_id = NextInstanceId(row.instance_id, row.size);
      previous += UnZigZag(cursor.timestamps[cursor.next]);
      row.timestamp = static_cast<int64_t>(previous);

      std::byte* to = out_.bytes.data() + row.offset;
      std::memcpy(to, kind.header().data(), kind.header_size());
      if (kind.has(Slot::FIELD_SIZE)) StoreAt<uint16_t>(to, kind.slot(Slot::FIELD_SIZE), row.size);
      if (kind.has(Slot::FIELD_TIMESTAMP)) StoreAt<int64_t>(to, kind.slot(Slot::FIELD_TIMESTAMP), row.timestamp);
      if (kind.has(Slot::FIELD_TID)) {
        const uint64_t thread = threads_[next_thread++];
        if (thread != 0) state.thread = thread;
        if (state.thread == 0) return false;
        StoreAt<uint32_t>(to, kind.slot(Slot::FIELD_TID), static_cast<uint32_t>(tids_[state.thread - 1]));
        StoreAt<uint32_t>(to, kind.slot(Slot::FIELD_PID), static_cast<uint32_t>(pids_[state.thread - 1]));
      }
      if (kind.has(Slot::FIELD_ACTIVITY)) {
        const uint64_t activity = activities_[next_activity++];
        if (activity >= guids_.size() / kGuidSize) return false;
        std::memcpy(to + kind.slot(Slot::FIELD_ACTIVITY), guids_.data() + activity * kGuidSize, kGuidSize);
      }
      for (size_t s = 0; s < kNumberSlotCount; ++s) {
        if (!kind.has(kNumberSlots[s].field)) continue;
        StoreAt<uint32_t>(to, kind.slot(kNumberSlots[s].field),
                          static_cast<uint32_t>(slot_values_[s][next_value[s]++]));
      }
      to += kind.header_size();
      if (kind.extended() && !Take(cursor.extended, cursor.extended_sizes[cursor.next], to)) return false;
      if (!Take(cursor.payload, cursor.payload_sizes[cursor.next], to)) return false;
      ++cursor.next;
    }
    for (const auto& cursor : cursors_) {
      if (!cursor.payload.empty() || !cursor.extended.empty()) return false;
    }
    return true;
  }

  static bool Take(std::span<const std::byte>& from, uint64_t count, std::byte*& to) {
    if (count > from.size()) return false;
    if (count != 0) std::memcpy(to, from.data(), count);
    from = from.subspan(count);
    to += count;
    return true;
  }

  bool ReadAnnotation(uint32_t number, const AnnotationInfo& info) {
    auto& note = out_.annotations.emplace_back();
    note.info = info;
    if (!columns_.Numbers(v1::COLUMN_NOTE_PRESENT, number, events_, note.present)) return false;
    uint64_t count = 0;
    for (const uint64_t present : note.present) {
      if (present > 1) return false;
      count += present;
    }
    std::vector<uint64_t> values;
    if (!columns_.Numbers(v1::COLUMN_NOTE_VALUE, number, count, values)) return false;
    const bool text = info.type == AnnotationType::kString || info.type == AnnotationType::kMessage;
    if (text && !ReadTexts(number, values, note)) return false;
    const bool list = info.type == AnnotationType::kU64List || info.type == AnnotationType::kStringList;
    if (list) {
      note.list_sizes.assign(events_, 0);
      uint64_t total = 0;
      for (const uint64_t size : values) {
        if (size > kMaxContent / 8) return false;
        total += size;
        if (total > kMaxContent / 8) return false;
      }
      if (!columns_.Numbers(v1::COLUMN_NOTE_LIST, number, total, note.lists)) return false;
      if (info.type == AnnotationType::kStringList && !ReadTexts(number, note.lists, note)) return false;
    }
    note.values.assign(events_, 0);
    uint64_t list_begin = 0;
    for (size_t row = 0, next = 0; row < events_; ++row) {
      if (note.present[row] == 0) continue;
      uint64_t value = values[next++];
      if (info.type == AnnotationType::kI64) value = UnZigZag(value);
      if (info.type == AnnotationType::kBool && value > 1) return false;
      if (list) {
        note.list_sizes[row] = value;
        value = std::exchange(list_begin, list_begin + value);
      }
      note.values[row] = value;
    }
    return true;
  }

  // `indexes` are those that the values or lists hold: every text has one.
  bool ReadTexts(uint32_t number, std::span<const uint64_t> indexes, DecodedBlock::Annotation& note) {
    uint64_t count = 0;
    for (const uint64_t index : indexes) {
      if (index >= indexes.size()) return false;
      count = std::max(count, index + 1);
    }
    std::vector<uint64_t> sizes;
    std::span<const std::byte> bytes;
    if (!columns_.Numbers(v1::COLUMN_NOTE_TEXT_SIZE, number, count, sizes)) return false;
    if (!columns_.Bytes(v1::COLUMN_NOTE_TEXT, number, bytes)) return false;
    for (const uint64_t size : sizes) {
      if (size > bytes.size()) return false;
      note.texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), size);
      bytes = bytes.subspan(size);
    }
    return bytes.empty();
  }

  const v1::Block& block_;
  const BlockNames& names_;
  DecodedBlock& out_;
  const size_t events_;
  ColumnReader columns_;
  std::vector<KindCursor> cursors_;
  std::vector<uint64_t> kind_index_;
  std::vector<uint64_t> cpus_;
  std::vector<uint64_t> ids_;
  std::vector<uint64_t> threads_;
  std::vector<uint64_t> pids_;
  std::vector<uint64_t> tids_;
  std::vector<uint64_t> activities_;
  std::span<const std::byte> guids_;
  std::vector<uint64_t> slot_values_[kNumberSlotCount];
};

}  // namespace

std::optional<DecodeError> DecodeBlock(const v1::Block& block, const BlockNames& names, DecodedBlock& decoded) {
  if (block.has_rows()) return DecodeRows(block, decoded);
  decoded.rows.clear();
  decoded.annotations.clear();
  return Decoding(block, names, decoded).Run();
}

}  // namespace etwpipe::etwp

#include "formats/etwp/block_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "formats/etl/layout.h"
#include "formats/etwp/block_layout.h"
#include "formats/etwp/event_order.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/payload_decoder.h"
#include "formats/etwp/rows_block.h"
#include "formats/etwp/value_tables.h"
#include "pipeline/batch.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {

std::optional<DecodeError> FindNames(const v1::Block& block, const Dictionary& dictionary, BlockNames& names) {
  names.kinds.clear();
  names.annotations.clear();
  names.prefix = nullptr;
  if (NeedsPrefix(block.columns())) {
    if (block.first_event() == 0) {
      return DecodeError{DiagnosticId::kArchiveFrameBad, "the first block needs the columns of another"};
    }
    names.prefix = dictionary.prefix();
    if (names.prefix == nullptr) {
      return DecodeError{DiagnosticId::kArchiveFrameBad,
                         "it needs the columns of the first block, and neither they nor their copy can be read so far"};
    }
  }
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

// The longest record, and readable bytes behind it, so that looking at a marker never reaches outside.
constexpr size_t kRecordRoom = etl::Align8(etl::kMaxRecordSize) + 8;
constexpr size_t kMostPadding = 7;  // behind a record
constexpr size_t kMaxBlockKinds = 1 << 16;

// Columns of one kind while its events are put together.
struct KindCursor {
  const RecordTemplate* kind = nullptr;
  size_t count = 0;
  NumberCursor extended_counts;
  NumberCursor extended_parts;
  NumberCursor extended_sizes;
  std::span<const std::byte> extended;
  NumberCursor forms;
  NumberCursor payload_sizes;
  std::span<const std::byte> payload;

  bool at_end() const {
    return extended_counts.at_end() && extended_parts.at_end() && extended_sizes.at_end() && extended.empty() &&
           forms.at_end() && payload_sizes.at_end() && payload.empty();
  }
};

}  // namespace

class BlockDecoder::Decoding {
 public:
  // With `look` events go there, else into `out`.
  std::optional<DecodeError> Run(const v1::Block& block, const BlockNames& names, const Look* look, DecodedBlock& out) {
    block_ = &block;
    names_ = &names;
    look_ = look;
    stopped_ = false;
    out_ = &out;
    events_ = block.events();
    list_values_ = texts_ = 0;
    out.rows.clear();
    out.annotations.clear();
    if (auto error = CheckBlock()) return error;
    if (auto error = columns_.Open(block_->columns(), BytesOf(names.prefix))) return error;
    if (!ReadOrder() || !ReadHeaderColumns() || !ReadKindColumns()) return Bad("a column does not fit its events");
    if (!BuildRecords()) return Bad("its columns contradict each other");
    if (stopped_) return std::nullopt;
    for (int i = 0; i < block_->annotations_size(); ++i) {
      const auto& info = *names_->annotations[static_cast<size_t>(i)];
      if (!ReadAnnotation(block_->annotations(i), info)) return Bad("an annotation column does not fit its events");
    }
    return std::nullopt;
  }

 private:
  static DecodeError Bad(std::string reason) { return {DiagnosticId::kArchiveFrameBad, std::move(reason)}; }

  std::optional<DecodeError> CheckBlock() const {
    if (events_ == 0 || events_ > kMaxBlockEvents) return Bad(fmt::format("it declares {} events", events_));
    if (block_->record_bytes() > kMaxContent) {
      return Bad(fmt::format("it declares {} bytes of records", block_->record_bytes()));
    }
    uint64_t batched = 0;
    for (const uint32_t batch : block_->batch_events()) {
      if (batch == 0 || batch > kMaxBatchRows) return Bad("it declares an impossible batch");
      batched += batch;
    }
    if (batched != events_) return Bad("its batches do not add up to its events");
    const auto ascend = [](const auto& numbers) {
      return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end();
    };
    if (!ascend(block_->kinds()) || !ascend(block_->annotations())) return Bad("it names a kind or annotation twice");
    if (names_->kinds.size() > kMaxBlockKinds) return Bad("it names too many kinds");
    if (uint64_t{events_} * names_->annotations.size() > kMaxBlockNotes) return Bad("it names too many annotations");
    return std::nullopt;
  }

  bool ReadOrder() {
    const std::vector<uint32_t> kinds(block_->kinds().begin(), block_->kinds().end());
    if (!order_.Read(columns_, kinds, events_, block_->first_timestamp())) return false;
    cursors_.resize(names_->kinds.size());
    for (size_t i = 0; i < cursors_.size(); ++i) {
      cursors_[i].kind = names_->kinds[i];
      cursors_[i].count = 0;
    }
    for (const auto& event : order_.events()) ++cursors_[event.kind].count;
    return true;
  }

  size_t CountWith(Slot::Field field) const {
    size_t count = 0;
    for (const auto& cursor : cursors_) count += cursor.kind->has(field) ? cursor.count : 0;
    return count;
  }

  bool ReadHeaderColumns() {
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
      const uint32_t prediction = columns_.PredictionOf(slot.column, 0);
      if (prediction > kSinceThread) return false;
      slot_by_thread_[i] = prediction == kSinceThread;
    }
    return true;
  }

  bool ReadKindColumns() {
    std::vector<const PayloadLayout*> layouts;
    for (size_t i = 0; i < cursors_.size(); ++i) {
      KindCursor& cursor = cursors_[i];
      const uint32_t number = block_->kinds(static_cast<int>(i));
      layouts.push_back(cursor.kind->layout());
      if (!columns_.Cursor(v1::COLUMN_EXTENDED_COUNT, number, cursor.extended_counts)) return false;
      if (!columns_.Cursor(v1::COLUMN_EXTENDED_PART, number, cursor.extended_parts)) return false;
      if (!columns_.Cursor(v1::COLUMN_EXTENDED_SIZE, number, cursor.extended_sizes)) return false;
      if (!columns_.Bytes(v1::COLUMN_EXTENDED, number, cursor.extended)) return false;
      if (!columns_.Cursor(v1::COLUMN_PAYLOAD_FORM, number, cursor.forms)) return false;
      if (!columns_.Cursor(v1::COLUMN_PAYLOAD_SIZE, number, cursor.payload_sizes)) return false;
      if (!columns_.Bytes(v1::COLUMN_PAYLOAD, number, cursor.payload)) return false;
    }
    extended_table_ = {};
    const std::vector<uint32_t> numbers(block_->kinds().begin(), block_->kinds().end());
    return payloads_.Start(layouts, numbers, columns_) && extended_table_.Open(0, v1::LayoutField::TEXT_NONE, columns_);
  }

  bool BuildRecords() {
    CpuStates states;
    ThreadValues last_values[kNumberSlotCount];
    uint64_t total = 0;
    size_t offset = 0;
    size_t next_thread = 0;
    size_t next_activity = 0;
    size_t next_value[kNumberSlotCount] = {};
    const bool keep = look_ == nullptr;
    if (keep) out_->rows.resize(events_);
    DecodedBlock::Row at_hand;
    // All that it may take, so that the memory never moves; CheckBlock() bounds it.
    const size_t most = keep ? block_->record_bytes() + kMostPadding * events_ + kRecordRoom : kRecordRoom;
    if (out_->bytes.size() < most) out_->bytes = std::vector<std::byte>(most);
    for (size_t i = 0; i < events_; ++i) {
      auto& row = keep ? out_->rows[i] : at_hand;
      const OrderedEvent& event = order_.events()[i];
      KindCursor& cursor = cursors_[event.kind];
      const RecordTemplate& kind = *cursor.kind;
      // There is room for the longest record, so that only its own size needs a check.
      std::byte* to = out_->bytes.data() + offset;
      row.offset = static_cast<uint32_t>(offset);
      row.cpu = event.cpu;
      row.kind = static_cast<uint16_t>(event.kind);
      CpuState& state = states[row.cpu];
      row.timestamp = static_cast<int64_t>(event.timestamp);
      state.facts.timestamp = event.timestamp;
      state.facts.cpu = event.cpu;

      std::memcpy(to, kind.header().data(), kind.header_size());
      if (kind.has(Slot::FIELD_TIMESTAMP)) StoreAt<int64_t>(to, kind.slot(Slot::FIELD_TIMESTAMP), row.timestamp);
      if (kind.has(Slot::FIELD_TID)) {
        const uint64_t thread = threads_[next_thread++];
        if (thread != 0) state.thread = thread;
        if (state.thread == 0) return false;
        state.facts.tid = static_cast<uint32_t>(tids_[state.thread - 1]);
        state.facts.pid = static_cast<uint32_t>(pids_[state.thread - 1]);
        StoreAt<uint32_t>(to, kind.slot(Slot::FIELD_TID), static_cast<uint32_t>(state.facts.tid));
        StoreAt<uint32_t>(to, kind.slot(Slot::FIELD_PID), static_cast<uint32_t>(state.facts.pid));
      }
      if (kind.has(Slot::FIELD_ACTIVITY)) {
        const uint64_t activity = activities_[next_activity++];
        if (activity >= guids_.size() / kGuidSize) return false;
        std::memcpy(to + kind.slot(Slot::FIELD_ACTIVITY), guids_.data() + activity * kGuidSize, kGuidSize);
      }
      for (size_t s = 0; s < kNumberSlotCount; ++s) {
        if (!kind.has(kNumberSlots[s].field)) continue;
        uint64_t value = slot_values_[s][next_value[s]++];
        if (slot_by_thread_[s]) {
          uint64_t& last = last_values[s][state.thread];
          value = last += UnZigZag(value);
        }
        StoreAt<uint32_t>(to, kind.slot(kNumberSlots[s].field), static_cast<uint32_t>(value));
      }
      size_t size = kind.header_size();
      if (kind.extended() && !AddExtended(cursor, to, size)) return false;
      if (!AddPayload(event.kind, state.facts, to, size)) return false;
      state.facts.previous_timestamp = event.timestamp;
      row.size = static_cast<uint16_t>(size);
      if (kind.has(Slot::FIELD_SIZE)) StoreAt<uint16_t>(to, kind.slot(Slot::FIELD_SIZE), row.size);
      row.instance_id = state.expected_id + UnZigZag(ids_[i]);
      state.expected_id = NextInstanceId(row.instance_id, row.size);
      total += size;
      if (total > block_->record_bytes()) return false;
      if (keep) {
        offset += etl::Align8(size);
      } else if (!(*look_)(row, to)) {
        stopped_ = true;
        return true;
      }
    }
    return total == block_->record_bytes() && payloads_.at_end() && extended_table_.at_end() &&
           std::all_of(cursors_.begin(), cursors_.end(), [](const KindCursor& cursor) { return cursor.at_end(); });
  }

  static bool Append(std::span<const std::byte> from, std::byte* to, size_t& size) {
    if (from.size() > etl::kMaxRecordSize - size) return false;
    if (!from.empty()) std::memcpy(to + size, from.data(), from.size());
    size += from.size();
    return true;
  }

  bool AddExtended(KindCursor& cursor, std::byte* to, size_t& size) {
    // Version 1 has bytes in place of parts.
    uint64_t bytes = 0;
    if (!cursor.extended_sizes.Next(bytes) || bytes > cursor.extended.size()) return false;
    if (!Append(cursor.extended.first(bytes), to, size)) return false;
    cursor.extended = cursor.extended.subspan(bytes);
    uint64_t parts = 0;
    // A part without bytes is none.
    if (!cursor.extended_counts.Next(parts) || parts > etl::kMaxRecordSize) return false;
    for (; parts > 0; --parts) {
      uint64_t entry = 0;
      if (!cursor.extended_parts.Next(entry)) return false;
      if (entry == 0) {
        if (extended_table_.size() == kMaxTableEntries || !extended_table_.Advance()) return false;
        entry = extended_table_.size();
      }
      if (entry > extended_table_.size() || extended_table_.entry(entry - 1).empty()) return false;
      if (!Append(extended_table_.entry(entry - 1), to, size)) return false;
    }
    return true;
  }

  bool AddPayload(size_t kind, const HeaderFacts& facts, std::byte* to, size_t& size) {
    KindCursor& cursor = cursors_[kind];
    uint64_t form = 1;
    uint64_t left = 0;
    if (cursor.kind->layout() != nullptr && !cursor.forms.Next(form)) return false;
    if (form == 1) {
      if (!cursor.payload_sizes.Next(left)) return false;
    } else {
      if (!payloads_.Next(kind, facts, to + size, etl::kMaxRecordSize - size)) return false;
      size += payloads_.size();
      left = form == 0 ? 0 : form - 1;
    }
    if (left > cursor.payload.size() || !Append(cursor.payload.first(left), to, size)) return false;
    cursor.payload = cursor.payload.subspan(left);
    return true;
  }

  bool ReadAnnotation(uint32_t number, const AnnotationInfo& info) {
    auto& note = out_->annotations.emplace_back();
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
        if (size > kMaxBlockListValues - list_values_) return false;
        total += size;
        list_values_ += size;
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
    if (count > kMaxBlockTexts - texts_) return false;
    texts_ += count;
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

  const v1::Block* block_ = nullptr;
  const BlockNames* names_ = nullptr;
  const Look* look_ = nullptr;
  bool stopped_ = false;
  uint64_t list_values_ = 0;  // of the annotations so far
  uint64_t texts_ = 0;
  DecodedBlock* out_ = nullptr;
  size_t events_ = 0;
  ColumnReader columns_;
  PayloadDecoder payloads_;
  TableReader extended_table_;
  std::vector<KindCursor> cursors_;
  EventOrderReader order_;
  std::vector<uint64_t> ids_;
  std::vector<uint64_t> threads_;
  std::vector<uint64_t> pids_;
  std::vector<uint64_t> tids_;
  std::vector<uint64_t> activities_;
  std::span<const std::byte> guids_;
  std::vector<uint64_t> slot_values_[kNumberSlotCount];
  bool slot_by_thread_[kNumberSlotCount] = {};
};

BlockDecoder::BlockDecoder() = default;
BlockDecoder::BlockDecoder(BlockDecoder&&) noexcept = default;
BlockDecoder& BlockDecoder::operator=(BlockDecoder&&) noexcept = default;
BlockDecoder::~BlockDecoder() = default;

std::optional<DecodeError> BlockDecoder::Decode(const v1::Block& block, const BlockNames& names,
                                                DecodedBlock& decoded) {
  if (block.has_rows()) return DecodeRows(block, decoded);
  if (decoding_ == nullptr) decoding_ = std::make_unique<Decoding>();
  return decoding_->Run(block, names, nullptr, decoded);
}

std::optional<DecodeError> BlockDecoder::Walk(const v1::Block& block, const BlockNames& names, const Look& look,
                                              DecodedBlock& decoded) {
  if (decoding_ == nullptr) decoding_ = std::make_unique<Decoding>();
  return decoding_->Run(block, names, &look, decoded);
}

std::optional<DecodeError> DecodeBlock(const v1::Block& block, const BlockNames& names, DecodedBlock& decoded) {
  return BlockDecoder().Decode(block, names, decoded);
}

}  // namespace etwpipe::etwp

#include "formats/etwp/block_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "formats/etl/layout.h"
#include "formats/etwp/block_layout.h"
#include "formats/etwp/frame.h"
#include "pipeline/batch.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

using v1::Slot;

// Readable bytes after the last record, so that looking at a marker never reaches outside.
constexpr size_t kRecordSlack = 8;
constexpr size_t kGuidSize = 16;

const RecordTemplate& RawTemplate() {
  static const RecordTemplate raw;
  return raw;
}

// Small fixed columns of a record header: slot, column, bytes.
struct NumberSlot {
  Slot::Field field;
  uint32_t column;
};
constexpr NumberSlot kNumberSlots[] = {
    {Slot::FIELD_KERNEL_TIME, v1::COLUMN_KERNEL_TIME}, {Slot::FIELD_USER_TIME, v1::COLUMN_USER_TIME},
    {Slot::FIELD_INSTANCE, v1::COLUMN_INSTANCE},       {Slot::FIELD_PARENT, v1::COLUMN_PARENT},
    {Slot::FIELD_SEQUENCE, v1::COLUMN_SEQUENCE},
};
constexpr size_t kNumberSlotCount = std::size(kNumberSlots);

struct GuidHash {
  size_t operator()(const std::array<uint64_t, 2>& guid) const {
    return (guid[0] ^ guid[1] * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  }
};

void SetBatches(std::span<const BlockRow> rows, v1::Block& block) {
  block.clear_batch_events();
  uint32_t events = 0;
  size_t bytes = 0;
  for (const auto& row : rows) {
    if (events == kMaxBatchRows || (events > 0 && bytes + row.size > kMaxBatchBytes)) {
      block.add_batch_events(events);
      events = 0;
      bytes = 0;
    }
    ++events;
    bytes += row.size;
  }
  if (events > 0) block.add_batch_events(events);
}

// Index of the first row that did not come back, or the number of rows.
size_t FirstDifference(std::span<const BlockRow> rows, const DecodedBlock& decoded) {
  if (decoded.rows.size() != rows.size()) return 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& was = rows[i];
    const auto& is = decoded.rows[i];
    if (was.size != is.size || was.cpu != is.cpu || was.timestamp != is.timestamp ||
        was.instance_id != is.instance_id || std::memcmp(was.record, decoded.bytes.data() + is.offset, was.size) != 0) {
      return i;
    }
  }
  return rows.size();
}

bool SameAnnotations(const BlockEvents& events, const v1::Block& block, const DecodedBlock& decoded) {
  size_t at = 0;
  for (const auto& annotation : events.annotations) {
    const bool stored = std::binary_search(block.annotations().begin(), block.annotations().end(), annotation.number);
    const DecodedBlock::Annotation* back = stored ? &decoded.annotations[at++] : nullptr;
    for (size_t row = 0; row < annotation.cells.size(); ++row) {
      const auto& [column, from] = annotation.cells[row];
      const bool has = column != nullptr && column->has(from);
      if (has != (back != nullptr && back->present[row] != 0)) return false;
      if (!has) continue;
      switch (annotation.type) {
        case AnnotationType::kString:
        case AnnotationType::kMessage:
          if (back->texts[back->values[row]] != column->string(from)) return false;
          break;
        case AnnotationType::kU64List: {
          const auto list = column->list_view(from);
          if (back->list_sizes[row] != list.size()) return false;
          if (!std::equal(list.begin(), list.end(), back->lists.begin() + static_cast<ptrdiff_t>(back->values[row]))) {
            return false;
          }
          break;
        }
        default:
          if (back->values[row] != column->u64(from)) return false;
      }
    }
  }
  return true;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------
// Writing

void BlockEncoder::AddHeaderColumns(std::span<const BlockRow> rows) {
  auto& cpus = numbers_[0];
  auto& ids = numbers_[1];
  auto& threads = numbers_[2];
  auto& pids = numbers_[3];
  auto& tids = numbers_[4];
  auto& activities = numbers_[5];
  for (auto& numbers : numbers_) numbers.clear();
  CpuStates states;
  std::unordered_map<uint64_t, uint64_t> pairs;
  std::unordered_map<std::array<uint64_t, 2>, uint64_t, GuidHash> guids;
  std::vector<std::array<uint64_t, 2>> guid_list;
  std::array<uint64_t, 2> last_guid{};
  uint64_t last_activity = 0;

  for (const auto& row : rows) {
    cpus.push_back(row.cpu);
    CpuState& state = states[row.cpu];
    ids.push_back(ZigZag(row.instance_id - state.expected_id));
    state.expected_id = NextInstanceId(row.instance_id, row.size);

    const RecordTemplate& kind = *row.kind;
    if (kind.has(Slot::FIELD_TID)) {
      const auto tid = LoadAt<uint32_t>(row.record, kind.slot(Slot::FIELD_TID));
      const auto pid = LoadAt<uint32_t>(row.record, kind.slot(Slot::FIELD_PID));
      const size_t last = state.thread;
      if (last != 0 && tids[last - 1] == tid && pids[last - 1] == pid) {
        threads.push_back(0);
      } else {
        const auto [found, added] = pairs.try_emplace(uint64_t{pid} << 32 | tid, pids.size() + 1);
        if (added) {
          pids.push_back(pid);
          tids.push_back(tid);
        }
        state.thread = found->second;
        threads.push_back(state.thread);
      }
    }
    if (kind.has(Slot::FIELD_ACTIVITY)) {
      const auto guid = LoadAt<std::array<uint64_t, 2>>(row.record, kind.slot(Slot::FIELD_ACTIVITY));
      if (guid_list.empty() || guid != last_guid) {
        const auto [found, added] = guids.try_emplace(guid, guid_list.size());
        if (added) guid_list.push_back(guid);
        last_guid = guid;
        last_activity = found->second;
      }
      activities.push_back(last_activity);
    }
  }
  columns_.AddNumbers(v1::COLUMN_KIND, 0, kind_index_);
  columns_.AddNumbers(v1::COLUMN_CPU, 0, cpus);
  columns_.AddNumbers(v1::COLUMN_INSTANCE_ID, 0, ids);
  columns_.AddNumbers(v1::COLUMN_THREAD, 0, threads);
  columns_.AddNumbers(v1::COLUMN_THREAD_PID, 0, pids);
  columns_.AddNumbers(v1::COLUMN_THREAD_TID, 0, tids);
  columns_.AddNumbers(v1::COLUMN_ACTIVITY, 0, activities);
  auto& bytes = columns_.BeginBytes(v1::COLUMN_ACTIVITY_GUID, 0);
  for (const auto& guid : guid_list) {
    const auto* from = reinterpret_cast<const std::byte*>(guid.data());
    bytes.insert(bytes.end(), from, from + kGuidSize);
  }
  columns_.EndBytes();

  for (const auto& slot : kNumberSlots) {
    auto& values = numbers_[0];
    values.clear();
    for (const auto& row : rows) {
      if (row.kind->has(slot.field)) values.push_back(LoadAt<uint32_t>(row.record, row.kind->slot(slot.field)));
    }
    columns_.AddNumbers(slot.column, 0, values);
  }
}

void BlockEncoder::AddKindColumns(std::span<const BlockRow> rows, const v1::Block& block) {
  auto& values = numbers_[0];
  const auto kinds = static_cast<size_t>(block.kinds_size());
  const auto group = [&](size_t kind) {
    const size_t begin = kind == 0 ? 0 : group_ends_[kind - 1];
    return std::span<const uint32_t>(order_).subspan(begin, group_ends_[kind] - begin);
  };
  for (size_t kind = 0; kind < kinds; ++kind) {
    values.clear();
    for (const uint32_t index : group(kind)) {
      const int64_t before = index == 0 ? block.first_timestamp() : rows[index - 1].timestamp;
      values.push_back(ZigZag(static_cast<uint64_t>(rows[index].timestamp) - static_cast<uint64_t>(before)));
    }
    columns_.AddNumbers(v1::COLUMN_TIMESTAMP, block.kinds(static_cast<int>(kind)), values);
  }
  for (size_t kind = 0; kind < kinds; ++kind) {
    const uint32_t number = block.kinds(static_cast<int>(kind));
    const auto indexes = group(kind);
    const RecordTemplate& made = *rows[indexes.front()].kind;
    const size_t header = made.header_size();
    if (made.extended()) {
      values.clear();
      for (const uint32_t index : indexes) values.push_back(rows[index].extended_size);
      columns_.AddNumbers(v1::COLUMN_EXTENDED_SIZE, number, values);
    }
    values.clear();
    for (const uint32_t index : indexes) {
      values.push_back(static_cast<uint64_t>(rows[index].size - header - rows[index].extended_size));
    }
    columns_.AddNumbers(v1::COLUMN_PAYLOAD_SIZE, number, values);
    if (made.extended()) {
      auto& bytes = columns_.BeginBytes(v1::COLUMN_EXTENDED, number);
      for (const uint32_t index : indexes) {
        const std::byte* from = rows[index].record + header;
        bytes.insert(bytes.end(), from, from + rows[index].extended_size);
      }
      columns_.EndBytes();
    }
    auto& bytes = columns_.BeginBytes(v1::COLUMN_PAYLOAD, number);
    for (const uint32_t index : indexes) {
      const BlockRow& row = rows[index];
      bytes.insert(bytes.end(), row.record + header + row.extended_size, row.record + row.size);
    }
    columns_.EndBytes();
  }
}

void BlockEncoder::AddAnnotation(const BlockAnnotation& annotation) {
  auto& present = numbers_[0];
  auto& values = numbers_[1];
  auto& lists = numbers_[2];
  auto& text_sizes = numbers_[3];
  for (auto& numbers : numbers_) numbers.clear();
  std::unordered_map<std::string_view, uint64_t> text_index;
  std::vector<std::string_view> texts;
  for (const auto& [column, row] : annotation.cells) {
    const bool has = column != nullptr && column->has(row);
    present.push_back(has ? 1 : 0);
    if (!has) continue;
    switch (annotation.type) {
      case AnnotationType::kI64: values.push_back(ZigZag(column->u64(row))); break;
      case AnnotationType::kString:
      case AnnotationType::kMessage: {
        const auto [found, added] = text_index.try_emplace(column->string(row), texts.size());
        if (added) {
          texts.push_back(found->first);
          text_sizes.push_back(found->first.size());
        }
        values.push_back(found->second);
        break;
      }
      case AnnotationType::kU64List: {
        const auto list = column->list_view(row);
        values.push_back(list.size());
        lists.insert(lists.end(), list.begin(), list.end());
        break;
      }
      default: values.push_back(column->u64(row));
    }
  }
  columns_.AddNumbers(v1::COLUMN_NOTE_PRESENT, annotation.number, present);
  columns_.AddNumbers(v1::COLUMN_NOTE_VALUE, annotation.number, values);
  columns_.AddNumbers(v1::COLUMN_NOTE_LIST, annotation.number, lists);
  columns_.AddNumbers(v1::COLUMN_NOTE_TEXT_SIZE, annotation.number, text_sizes);
  auto& bytes = columns_.BeginBytes(v1::COLUMN_NOTE_TEXT, annotation.number);
  for (const auto text : texts) {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
  }
  columns_.EndBytes();
}

Status BlockEncoder::EncodeOnce(const BlockEvents& events, std::span<const uint32_t> raw_kinds, int level,
                                v1::Block& block) {
  rows_.assign(events.rows.begin(), events.rows.end());
  uint64_t bytes = 0;
  int64_t first = rows_.front().timestamp;
  auto [low, high] = std::pair(first, first);
  uint32_t largest_kind = 0;
  for (auto& row : rows_) {
    if (std::find(raw_kinds.begin(), raw_kinds.end(), row.kind_number) != raw_kinds.end()) row.kind_number = kRawKind;
    if (row.kind_number == kRawKind) {
      row.kind = &RawTemplate();
      row.extended_size = 0;
    }
    bytes += row.size;
    low = std::min(low, row.timestamp);
    high = std::max(high, row.timestamp);
    largest_kind = std::max(largest_kind, row.kind_number);
  }
  block.Clear();
  block.set_first_event(events.first_event);
  block.set_events(static_cast<uint32_t>(rows_.size()));
  block.set_record_bytes(bytes);
  block.set_first_timestamp(first);
  block.set_min_timestamp(low);
  block.set_max_timestamp(high);
  SetBatches(rows_, block);

  // Counting sort by kind: events per kind, then where each group ends.
  std::vector<uint32_t> counts(size_t{largest_kind} + 1);
  for (const auto& row : rows_) ++counts[row.kind_number];
  std::vector<uint32_t> local(counts.size());
  std::vector<uint32_t> next;
  group_ends_.clear();
  uint32_t end = 0;
  for (uint32_t number = 0; number <= largest_kind; ++number) {
    if (counts[number] == 0) continue;
    local[number] = static_cast<uint32_t>(block.kinds_size());
    block.add_kinds(number);
    next.push_back(end);
    end += counts[number];
    group_ends_.push_back(end);
  }
  order_.resize(rows_.size());
  kind_index_.resize(rows_.size());
  for (uint32_t index = 0; index < rows_.size(); ++index) {
    const uint32_t kind = local[rows_[index].kind_number];
    kind_index_[index] = kind;
    order_[next[kind]++] = index;
  }

  columns_.Clear();
  AddHeaderColumns(rows_);
  AddKindColumns(rows_, block);
  for (const auto& annotation : events.annotations) {
    const bool any = std::any_of(annotation.cells.begin(), annotation.cells.end(),
                                 [](const auto& cell) { return cell.column != nullptr && cell.column->has(cell.row); });
    if (!any) continue;
    block.add_annotations(annotation.number);
    AddAnnotation(annotation);
  }
  return columns_.Finish(level, compressor_, *block.mutable_columns());
}

void BlockEncoder::CountKinds(v1::BlockEntry& entry) const {
  uint32_t begin = 0;
  for (const uint32_t end : group_ends_) {
    uint64_t bytes = 0;
    for (uint32_t i = begin; i < end; ++i) bytes += rows_[order_[i]].size;
    entry.add_kind_events(end - begin);
    entry.add_kind_bytes(bytes);
    begin = end;
  }
}

Status BlockEncoder::Encode(const BlockEvents& events, int level, v1::Block& block) {
  std::vector<uint32_t> raw = raw_kinds_;
  while (true) {
    ETWPIPE_RETURN_IF_ERROR(EncodeOnce(events, raw, level, block));
    BlockNames names;
    for (size_t kind = 0; kind < group_ends_.size(); ++kind) {
      names.kinds.push_back(rows_[order_[group_ends_[kind] - 1]].kind);
    }
    std::vector<AnnotationInfo> infos(static_cast<size_t>(block.annotations_size()));
    for (size_t i = 0; i < infos.size(); ++i) {
      const auto number = block.annotations(static_cast<int>(i));
      const auto found = std::find_if(events.annotations.begin(), events.annotations.end(),
                                      [&](const auto& annotation) { return annotation.number == number; });
      infos[i].type = found->type;
      names.annotations.push_back(&infos[i]);
    }
    const auto error = DecodeBlock(block, names, check_);
    const size_t wrong = error ? 0 : FirstDifference(rows_, check_);
    if (!error && wrong == rows_.size()) {
      if (SameAnnotations(events, block, check_)) return {};
      return Status::Internal("an archive block does not give its annotations back");
    }
    const uint32_t kind = rows_[wrong].kind_number;
    if (error || kind == kRawKind) {
      // Which kind is at fault is unknown: the whole block is stored as raw records, once.
      const auto all = block.kinds();
      if (all.size() == 1 && all[0] == kRawKind) {
        return Status::Internal(fmt::format("an archive block does not give its events back{}{}", error ? ": " : "",
                                            error ? error->reason : ""));
      }
      raw.assign(all.begin(), all.end());
      continue;
    }
    raw.push_back(kind);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Reading

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
    const bool list = info.type == AnnotationType::kU64List;
    if (list) {
      note.list_sizes.assign(events_, 0);
      uint64_t total = 0;
      for (const uint64_t size : values) {
        if (size > kMaxContent / 8) return false;
        total += size;
        if (total > kMaxContent / 8) return false;
      }
      if (!columns_.Numbers(v1::COLUMN_NOTE_LIST, number, total, note.lists)) return false;
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

  bool ReadTexts(uint32_t number, std::span<const uint64_t> values, DecodedBlock::Annotation& note) {
    uint64_t count = 0;
    for (const uint64_t value : values) {
      if (value >= values.size()) return false;
      count = std::max(count, value + 1);
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
  decoded.rows.clear();
  decoded.annotations.clear();
  return Decoding(block, names, decoded).Run();
}

}  // namespace etwpipe::etwp

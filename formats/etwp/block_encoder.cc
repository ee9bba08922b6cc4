#include "formats/etwp/block_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "formats/etwp/block_comparison.h"
#include "formats/etwp/block_layout.h"
#include "formats/etwp/event_order.h"
#include "formats/schema/extended_items.h"
#include "pipeline/batch.h"
#include "pipeline/byte_reader.h"
#include "pipeline/platform.h"

namespace etwpipe::etwp {
namespace {

using v1::Slot;

// Kinds of a block that are found at fault one by one, each by writing the block again.
constexpr size_t kMaxRetries = 4;
// Records of a block whose memory is worth the time to give it back to the system.
constexpr uint64_t kLargeBlock = 8 << 20;

const RecordTemplate& RawTemplate() {
  static const RecordTemplate raw;
  return raw;
}

struct GuidHash {
  size_t operator()(const std::array<uint64_t, 2>& guid) const {
    return (guid[0] ^ guid[1] * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  }
};

// Values of a header field, also as differences to the last one of their thread.
struct SlotColumn {
  std::vector<uint64_t> values;
  std::vector<uint64_t> differences;
  ThreadValues last;

  void Add(uint32_t value, uint64_t thread) {
    values.push_back(value);
    differences.push_back(PackDifference(value - std::exchange(last[thread], value), kNumberSlotWidth));
  }
  void Write(uint32_t column, ColumnWriter& columns) const {
    if (values.empty()) return;
    const auto told = columns.numbers().Choose(differences);
    const auto plain = columns.numbers().Choose(values);
    if (told.cost < plain.cost) {
      columns.AddNumbers(column, 0, differences, kSinceThread, told.encoding);
      columns.Require(v1::ENCODING_PREDICTIONS);
    } else {
      columns.AddNumbers(column, 0, values, 0, plain.encoding);
    }
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
}  // namespace

void BlockEncoder::AddOrder(std::span<const BlockRow> rows, const v1::Block& block) {
  std::vector<OrderedEvent> events(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    events[i] = {static_cast<uint64_t>(rows[i].timestamp), static_cast<uint32_t>(kind_index_[i]), rows[i].cpu};
  }
  WriteOrder(events, std::vector<uint32_t>(block.kinds().begin(), block.kinds().end()), columns_);
}

void BlockEncoder::AddHeaderColumns(std::span<const BlockRow> rows) {
  auto& ids = numbers_[0];
  auto& threads = numbers_[1];
  auto& pids = numbers_[2];
  auto& tids = numbers_[3];
  auto& activities = numbers_[4];
  for (auto& numbers : numbers_) numbers.clear();
  CpuStates states;
  std::unordered_map<uint64_t, uint64_t> pairs;
  std::unordered_map<std::array<uint64_t, 2>, uint64_t, GuidHash> guids;
  std::vector<std::array<uint64_t, 2>> guid_list;
  std::array<uint64_t, 2> last_guid{};
  uint64_t last_activity = 0;
  SlotColumn slots[kNumberSlotCount];

  for (const auto& row : rows) {
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
    for (size_t i = 0; i < kNumberSlotCount; ++i) {
      if (!kind.has(kNumberSlots[i].field)) continue;
      slots[i].Add(LoadAt<uint32_t>(row.record, kind.slot(kNumberSlots[i].field)), state.thread);
    }
  }
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

  for (size_t i = 0; i < kNumberSlotCount; ++i) slots[i].Write(kNumberSlots[i].column, columns_);
}

void BlockEncoder::AddPayloads(std::span<const BlockRow> rows, const v1::Block& block) {
  std::vector<const PayloadLayout*> layouts;
  std::vector<size_t> events;
  for (size_t kind = 0; kind < group_ends_.size(); ++kind) {
    layouts.push_back(rows[order_[group_ends_[kind] - 1]].kind->layout());
    events.push_back(group_ends_[kind] - (kind == 0 ? 0 : group_ends_[kind - 1]));
  }
  payloads_.Start(layouts, events);
  forms_.assign(rows.size(), 0);
  extended_table_ = {};
  extended_.assign(layouts.size(), {});
  CpuStates states;
  for (size_t i = 0; i < rows.size(); ++i) {
    const BlockRow& row = rows[i];
    CpuState& state = states[row.cpu];
    const RecordTemplate& kind = *row.kind;
    if (kind.has(Slot::FIELD_TID)) {
      state.facts.tid = LoadAt<uint32_t>(row.record, kind.slot(Slot::FIELD_TID));
      state.facts.pid = LoadAt<uint32_t>(row.record, kind.slot(Slot::FIELD_PID));
    }
    state.facts.timestamp = static_cast<uint64_t>(row.timestamp);
    state.facts.cpu = row.cpu;
    if (kind.extended()) AddExtended(row, extended_[kind_index_[i]]);
    if (kind.layout() != nullptr) {
      const size_t begin = kind.header_size() + row.extended_size;
      forms_[i] = payloads_.Add(kind_index_[i], {row.record + begin, row.size - begin}, state.facts);
    }
    state.facts.previous_timestamp = state.facts.timestamp;
  }
  payloads_.EndPayloads();
  for (size_t kind = 0; kind < layouts.size(); ++kind) {
    if (layouts[kind] != nullptr) payloads_.WriteKind(kind, block.kinds(static_cast<int>(kind)), columns_);
  }
  payloads_.WriteTables(columns_);
}

void BlockEncoder::AddExtended(const BlockRow& row, ExtendedColumns& columns) {
  const std::span<const std::byte> area(row.record + row.kind->header_size(), row.extended_size);
  std::vector<std::span<const std::byte>> parts;
  auto rest = area;
  schema::ExtendedItemView item;
  for (auto before = rest; schema::NextExtendedItem(rest, item); before = rest) {
    parts.push_back(before.first(before.size() - rest.size()));
  }
  // An area that does not fall into items is one part.
  if (!rest.empty()) parts.assign(1, area);
  columns.counts.push_back(parts.size());
  for (const auto part : parts) {
    bool added = false;
    const uint64_t entry = extended_table_.Intern(part, added);
    columns.codes.push_back(added ? 0 : entry + 1);
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
    const uint32_t number = block.kinds(static_cast<int>(kind));
    const auto indexes = group(kind);
    const RecordTemplate& made = *rows[indexes.front()].kind;
    const size_t header = made.header_size();
    columns_.AddNumbers(v1::COLUMN_EXTENDED_COUNT, number, extended_[kind].counts);
    columns_.AddNumbers(v1::COLUMN_EXTENDED_PART, number, extended_[kind].codes);
    if (made.layout() != nullptr) {
      values.clear();
      for (const uint32_t index : indexes) values.push_back(forms_[index]);
      columns_.AddNumbers(v1::COLUMN_PAYLOAD_FORM, number, values);
    }
    const auto whole = [&](uint32_t index) { return made.layout() == nullptr || forms_[index] == 1; };
    values.clear();
    for (const uint32_t index : indexes) {
      if (whole(index)) values.push_back(static_cast<uint64_t>(rows[index].size - header - rows[index].extended_size));
    }
    columns_.AddNumbers(v1::COLUMN_PAYLOAD_SIZE, number, values);
    auto& bytes = columns_.BeginBytes(v1::COLUMN_PAYLOAD, number);
    for (const uint32_t index : indexes) {
      const BlockRow& row = rows[index];
      const std::byte* end = row.record + row.size;
      if (whole(index)) {
        bytes.insert(bytes.end(), row.record + header + row.extended_size, end);
      } else if (forms_[index] > 1) {
        bytes.insert(bytes.end(), end - (forms_[index] - 1), end);
      }
    }
    // Rows only where nothing stands between them that is left over of fields.
    if (values.size() == indexes.size()) {
      columns_.EndRows(values);
    } else {
      columns_.EndBytes();
    }
  }
  extended_table_.Write(0, v1::LayoutField::TEXT_NONE, columns_);
}

void BlockEncoder::AddAnnotation(const BlockAnnotation& annotation) {
  auto& present = numbers_[0];
  auto& values = numbers_[1];
  auto& lists = numbers_[2];
  auto& text_sizes = numbers_[3];
  for (auto& numbers : numbers_) numbers.clear();
  std::unordered_map<std::string_view, uint64_t> text_index;
  std::vector<std::string_view> texts;
  const auto index_of = [&](std::string_view text) {
    const auto [found, added] = text_index.try_emplace(text, texts.size());
    if (added) {
      texts.push_back(text);
      text_sizes.push_back(text.size());
    }
    return found->second;
  };
  for (const auto& [column, row] : annotation.cells) {
    const bool has = column != nullptr && column->has(row);
    present.push_back(has ? 1 : 0);
    if (!has) continue;
    switch (annotation.type) {
      case AnnotationType::kI64: values.push_back(ZigZag(column->u64(row))); break;
      case AnnotationType::kString:
      case AnnotationType::kMessage: values.push_back(index_of(column->string(row))); break;
      case AnnotationType::kU64List: {
        const auto list = column->list_view(row);
        values.push_back(list.size());
        lists.insert(lists.end(), list.begin(), list.end());
        break;
      }
      case AnnotationType::kStringList: {
        const auto list = column->list_view(row);
        values.push_back(list.size());
        for (const uint64_t number : list) lists.push_back(index_of(column->text(number)));
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

Status BlockEncoder::EncodeOnce(BlockEvents& events, std::span<const uint32_t> raw_kinds, int level, v1::Block& block) {
  std::vector<BlockRow>& rows = events.rows;
  uint64_t bytes = 0;
  int64_t first = rows.front().timestamp;
  auto [low, high] = std::pair(first, first);
  uint32_t largest_kind = 0;
  for (auto& row : rows) {
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
  block.set_events(static_cast<uint32_t>(rows.size()));
  block.set_record_bytes(bytes);
  large_ = bytes >= kLargeBlock;
  block.set_first_timestamp(first);
  block.set_min_timestamp(low);
  block.set_max_timestamp(high);
  SetBatches(rows, block);

  // Counting sort by kind: events per kind, then where each group ends.
  std::vector<uint32_t> counts(size_t{largest_kind} + 1);
  for (const auto& row : rows) ++counts[row.kind_number];
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
  order_.resize(rows.size());
  kind_index_.resize(rows.size());
  for (uint32_t index = 0; index < rows.size(); ++index) {
    const uint32_t kind = local[rows[index].kind_number];
    kind_index_[index] = kind;
    order_[next[kind]++] = index;
  }

  columns_.Clear();
  AddOrder(rows, block);
  AddHeaderColumns(rows);
  AddPayloads(rows, block);
  AddKindColumns(rows, block);
  for (const auto& annotation : events.annotations) {
    const bool any = std::any_of(annotation.cells.begin(), annotation.cells.end(),
                                 [](const auto& cell) { return cell.column != nullptr && cell.column->has(cell.row); });
    if (!any) continue;
    block.add_annotations(annotation.number);
    AddAnnotation(annotation);
  }
  Release();
  ETWPIPE_RETURN_IF_ERROR(columns_.Finish(level, compressor_, *block.mutable_columns(), BytesOf(prefix_)));
  if (large_) {
    columns_.Release();
    block.mutable_columns()->mutable_content()->shrink_to_fit();
  }
  return {};
}

// Compressing and checking need as much memory again.
void BlockEncoder::Release() {
  payloads_.Release();
  extended_table_ = {};
  extended_ = {};
  kind_index_ = {};
  forms_ = {};
  for (auto& numbers : numbers_) numbers = {};
  if (large_) ReturnFreeMemory();
}

void BlockEncoder::CountKinds(std::span<const BlockRow> rows, v1::BlockEntry& entry) const {
  uint32_t begin = 0;
  for (const uint32_t end : group_ends_) {
    uint64_t bytes = 0;
    for (uint32_t i = begin; i < end; ++i) bytes += rows[order_[i]].size;
    entry.add_kind_events(end - begin);
    entry.add_kind_bytes(bytes);
    begin = end;
  }
}

Status BlockEncoder::Encode(BlockEvents& events, int level, v1::Block& block) {
  std::vector<uint32_t> raw = raw_kinds_;
  const std::vector<BlockRow>& rows = events.rows;
  while (true) {
    ETWPIPE_RETURN_IF_ERROR(EncodeOnce(events, raw, level, block));
    BlockNames names{.kinds = {}, .annotations = {}, .prefix = prefix_};
    for (size_t kind = 0; kind < group_ends_.size(); ++kind) {
      names.kinds.push_back(rows[order_[group_ends_[kind] - 1]].kind);
    }
    std::vector<AnnotationInfo> infos(static_cast<size_t>(block.annotations_size()));
    for (size_t i = 0; i < infos.size(); ++i) {
      const auto number = block.annotations(static_cast<int>(i));
      const auto found = std::find_if(events.annotations.begin(), events.annotations.end(),
                                      [&](const auto& annotation) { return annotation.number == number; });
      infos[i].type = found->type;
      names.annotations.push_back(&infos[i]);
    }
    size_t same = 0;
    const auto error = decoder_.Walk(
        block, names,
        [&](const DecodedBlock::Row& row, const std::byte* record) {
          if (!SameEvent(rows[same], row, record)) return false;
          ++same;
          return true;
        },
        check_);
    decoder_ = {};
    if (large_) ReturnFreeMemory();
    const size_t wrong = error ? 0 : same;
    if (!error && wrong == rows.size()) {
      if (SameAnnotations(events, block, check_)) return {};
      return Status::Internal("an archive block does not give its annotations back");
    }
    const uint32_t kind = rows[wrong].kind_number;
    if (error || kind == kRawKind || raw.size() - raw_kinds_.size() >= kMaxRetries) {
      // Which kind is at fault is unknown, or too many are: the whole block is stored as raw records, once.
      const auto all = block.kinds();
      if (all.size() == 1 && all[0] == kRawKind) {
        return Status::Internal(fmt::format("an archive block does not give its events back{}{}", error ? ": " : "",
                                            error ? error->reason : ""));
      }
      raw.insert(raw.end(), all.begin(), all.end());
      continue;
    }
    raw.push_back(kind);
  }
}

}  // namespace etwpipe::etwp

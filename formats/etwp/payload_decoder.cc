#include "formats/etwp/payload_decoder.h"

#include <algorithm>
#include <cstring>

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;

constexpr uint64_t kMaxCount = 0xFFFF;

}  // namespace

bool PayloadDecoder::CheckPrediction(const PayloadLayout& layout, size_t index, uint32_t prediction) const {
  const auto& field = layout.fields[index];
  if (prediction == kNoPrediction || prediction == kFromLast) return true;
  if (prediction == kPaired) return field.pair;
  if (field.repeated) return false;
  if (prediction == kFromRow || prediction == kFromNearest) return layout.key != 0 && index >= layout.key;
  const auto single = [&](size_t other) { return layout.fields[other].number() && !layout.fields[other].repeated; };
  if (prediction >= kFromProcessor) {
    const uint32_t other = prediction - kFromProcessor;
    return other == index || (field.number() && other < layout.fields.size() && single(other));
  }
  if (!field.number()) return false;
  if (prediction == kFromEnd) return index + 1 < layout.fields.size() && single(index + 1);
  if (prediction < kFromField) return prediction <= kFromPid;
  const uint32_t other = prediction - kFromField;
  return other < index && single(other);
}

bool PayloadDecoder::Start(std::span<const PayloadLayout* const> layouts, std::span<const uint32_t> numbers,
                           const ColumnReader& columns) {
  state_.Start(layouts, PredictionState::Keep::kUsed);
  tables_.clear();
  entries_ = 0;
  kinds_.resize(layouts.size());
  for (size_t i = 0; i < layouts.size(); ++i) {
    Kind& kind = kinds_[i];
    kind.layout = layouts[i];
    kind.by_processor = false;
    if (kind.layout == nullptr) {
      kind.fields.clear();
      continue;
    }
    kind.fields.resize(kind.layout->fields.size());
    for (size_t f = 0; f < kind.fields.size(); ++f) {
      const auto& field = kind.layout->fields[f];
      FieldColumn& column = kind.fields[f];
      column.table = nullptr;
      column.width = field.width;
      column.mask = WidthMask(field.width);
      column.key = kind.layout->key == f + 1;
      const uint32_t of = numbers[i] | static_cast<uint32_t>(f) << 16;
      if (!columns.Cursor(v1::COLUMN_FIELD_COUNT, of, column.counts)) return false;
      if (!columns.Cursor(v1::COLUMN_FIELD, of, column.values)) return false;
      column.prediction = columns.PredictionOf(v1::COLUMN_FIELD, of);
      if (!CheckPrediction(*kind.layout, f, column.prediction)) return false;
      if (column.prediction == kFromRow || column.prediction == kFromNearest) {
        state_.UseRows(i, column.prediction == kFromNearest);
      }
      if (column.prediction == kFromLast && !field.repeated) state_.UseLast(field.context);
      if (column.prediction == kFromEnd) {
        state_.UseLast(field.context);
        state_.UseLast(kind.layout->fields[f + 1].context);
      }
      kind.by_processor |= column.prediction >= kFromProcessor;
      if (field.number() || field.is_struct()) continue;
      const auto [found, added] = tables_.try_emplace({field.context, field.text});
      if (added && !found->second.Open(field.context, field.text, columns)) return false;
      column.table = &found->second;
    }
    uint16_t simple = 0;
    for (size_t f = kind.fields.size(); f-- > 0;) {
      const auto& field = kind.layout->fields[f];
      simple = static_cast<uint16_t>(field.number() && field.count == LayoutField::EXTENT_ONE ? simple + 1 : 0);
      kind.fields[f].simple = simple;
    }
  }
  state_.Prepare();
  return true;
}

bool PayloadDecoder::Next(size_t kind, const HeaderFacts& facts, std::byte* to, size_t room) {
  const PayloadLayout& layout = *kinds_[kind].layout;
  kind_ = kind;
  at_kind_ = &kinds_[kind];
  facts_ = facts;
  row_ = {};
  below_ = {};
  to_ = to;
  room_ = room;
  at_ = 0;
  steps_ = 0;
  values_.assign(layout.fields.size(), 0);
  if (at_kind_->by_processor) {
    before_ = state_.OnProcessor(kind, facts.cpu);
    if (before_.empty()) return false;
  }
  if (!Range(0, layout.fields.size())) return false;
  state_.Update(kind, values_, row_);
  if (at_kind_->by_processor) std::copy(values_.begin(), values_.end(), before_.begin());
  return true;
}

bool PayloadDecoder::Range(size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    if (const size_t simple = at_kind_->fields[i].simple; simple != 0) {
      const size_t after = std::min(i + simple, end);
      if (!SimpleNumbers(i, after)) return false;
      i = after;
      continue;
    }
    if (!Elements(i)) return false;
    i += 1 + size_t{at_kind_->layout->fields[i].members};
  }
  return true;
}

// Most fields are single numbers: the same as Step() and Number() for each.
bool PayloadDecoder::SimpleNumbers(size_t begin, size_t end) {
  // Each is stored as a whole u64; what that writes too much is written over or cut off.
  if (room_ - at_ < (end - begin) * sizeof(uint64_t)) {
    for (size_t i = begin; i < end; ++i) {
      if (!Step() || !Number(i)) return false;
    }
    return true;
  }
  // The others cannot be one step too many: each number allows more.
  if (!Step()) return false;
  steps_ += end - begin - 1;
  FieldColumn* const fields = at_kind_->fields.data();
  uint64_t* const values = values_.data();
  std::byte* to = to_ + at_;
  for (size_t i = begin; i < end; ++i) {
    FieldColumn& column = fields[i];
    uint64_t value = 0;
    if (!column.values.Next(value)) return false;
    if (column.prediction != kNoPrediction) value = UnZigZag(value) + Predicted(i, column.prediction);
    value &= column.mask;
    values[i] = value;
    if (column.key && !FindRows(value)) return false;
    std::memcpy(to, &value, sizeof value);
    to += column.width;
  }
  at_ = static_cast<size_t>(to - to_);
  return true;
}

bool PayloadDecoder::Elements(size_t index) {
  const auto& field = at_kind_->layout->fields[index];
  if (!Step()) return false;
  uint64_t count = 0;
  switch (field.count) {
    case LayoutField::EXTENT_FIXED: count = field.count_value; break;
    case LayoutField::EXTENT_FIELD: count = values_[field.count_value]; break;
    case LayoutField::EXTENT_PREFIX16:
    case LayoutField::EXTENT_REST:
      if (!at_kind_->fields[index].counts.Next(count) || count > kMaxCount) return false;
      if (field.count == LayoutField::EXTENT_PREFIX16 && !PutNumber(count, 2)) return false;
      break;
    default: return One(index);
  }
  if (count > kMaxCount) return false;
  const auto& columns = at_kind_->fields;
  if (columns[index].prediction == kPaired) return Pair(index, count);
  if (index > 0 && columns[index - 1].prediction == kPaired) {
    // Pair() took its elements from the column of the first.
    for (const uint64_t value : second_) {
      if (!Step() || !PutNumber(value, field.width)) return false;
    }
    return second_.size() == count;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!Step()) return false;
    if (field.is_struct() ? !Range(index + 1, index + 1 + field.members) : !One(index)) return false;
  }
  return true;
}

bool PayloadDecoder::One(size_t index) {
  return at_kind_->layout->fields[index].number() ? Number(index) : Value(index);
}

bool PayloadDecoder::Pair(size_t index, uint64_t count) {
  const auto& fields = at_kind_->layout->fields;
  NumberCursor& values = at_kind_->fields[index].values;
  const size_t width = fields[index].width;
  PairState states[2];
  second_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t codes[2];
    if (!Step() || !values.Next(codes[0]) || !values.Next(codes[1])) return false;
    if (!PutNumber(states[0].Unpack(codes[0], width), width)) return false;
    second_.push_back(states[1].Unpack(codes[1], fields[index + 1].width));
  }
  return true;
}

uint64_t PayloadDecoder::Predicted(size_t index, uint32_t prediction) const {
  const auto& field = at_kind_->layout->fields[index];
  switch (prediction) {
    case kFromLast: return field.repeated ? values_[index] : state_.last(field.context);
    case kFromRow: return row_.empty() ? 0 : row_[state_.slot(kind_, index)];
    case kFromNearest: return below_.empty() ? 0 : below_[state_.slot(kind_, index)];
    case kFromTimestamp: return facts_.timestamp;
    case kFromPrevious: return facts_.previous_timestamp;
    case kFromTid: return facts_.tid;
    case kFromPid: return facts_.pid;
    case kFromEnd: return state_.last(field.context) + state_.last(at_kind_->layout->fields[index + 1].context);
    default:
      if (prediction >= kFromProcessor) return before_[prediction - kFromProcessor];
      return values_[prediction - kFromField];
  }
}

bool PayloadDecoder::FindRows(uint64_t key) {
  if (state_.used(kind_)) {
    row_ = state_.Row(kind_, key);
    if (row_.empty()) return false;
  }
  if (state_.ordered(kind_)) below_ = state_.Below(kind_, key);
  return true;
}

bool PayloadDecoder::Number(size_t index) {
  FieldColumn& column = at_kind_->fields[index];
  uint64_t value = 0;
  if (!column.values.Next(value)) return false;
  if (column.prediction != kNoPrediction) value = UnZigZag(value) + Predicted(index, column.prediction);
  value &= column.mask;
  values_[index] = value;
  return (!column.key || FindRows(value)) && PutNumber(value, column.width);
}

bool PayloadDecoder::Value(size_t index) {
  const auto& field = at_kind_->layout->fields[index];
  FieldColumn& column = at_kind_->fields[index];
  TableReader& table = *column.table;
  uint64_t code = 0;
  if (!column.values.Next(code)) return false;
  // The number of the entry, from 1; 0 for the next new one.
  uint64_t entry = code;
  if (column.prediction != kNoPrediction) {
    entry = code == 0 ? Predicted(index, column.prediction) : code - 1;
    if (code == 0 && entry == 0) return false;
  }
  if (entry == 0) {
    if (++entries_ > kMaxTableEntries || !table.Advance()) return false;
    entry = table.size();
  }
  if (entry > table.size()) return false;
  values_[index] = entry;
  const auto bytes = table.entry(entry - 1);
  switch (field.shape) {
    case LayoutField::SHAPE_BYTES:
      if (field.length == LayoutField::EXTENT_PREFIX16) {
        if (bytes.size() / field.width > kMaxCount || !PutNumber(bytes.size() / field.width, 2)) return false;
      }
      return Put(bytes);
    case LayoutField::SHAPE_TEXT16: return Put(bytes) && PutNumber(0, 2);
    case LayoutField::SHAPE_TEXT8: return Put(bytes) && PutNumber(0, 1);
    case LayoutField::SHAPE_COUNTED16:
    case LayoutField::SHAPE_COUNTED16_SWAPPED: {
      if (bytes.size() > kMaxCount) return false;
      const auto size = static_cast<uint16_t>(bytes.size());
      const bool swapped = field.shape == LayoutField::SHAPE_COUNTED16_SWAPPED;
      return PutNumber(swapped ? static_cast<uint16_t>(size << 8 | size >> 8) : size, 2) && Put(bytes);
    }
    case LayoutField::SHAPE_COUNTED32: return PutNumber(bytes.size(), 4) && Put(bytes);
    case LayoutField::SHAPE_SID:
    case LayoutField::SHAPE_WBEM_SID: return Put(bytes);
    default: return false;
  }
}

bool PayloadDecoder::Put(std::span<const std::byte> bytes) {
  if (bytes.size() > room_ - at_) return false;
  if (!bytes.empty()) std::memcpy(to_ + at_, bytes.data(), bytes.size());
  at_ += bytes.size();
  return true;
}

bool PayloadDecoder::PutNumber(uint64_t value, size_t width) {
  // A whole store is one instruction; what it writes too much is written over or cut off.
  if (room_ - at_ >= sizeof value) {
    std::memcpy(to_ + at_, &value, sizeof value);
  } else if (width <= room_ - at_) {
    std::memcpy(to_ + at_, &value, width);
  } else {
    return false;
  }
  at_ += width;
  return true;
}

bool PayloadDecoder::at_end() const {
  for (const Kind& kind : kinds_) {
    for (const auto& column : kind.fields) {
      if (!column.values.at_end() || !column.counts.at_end()) return false;
    }
  }
  return std::all_of(tables_.begin(), tables_.end(), [](const auto& table) { return table.second.at_end(); });
}

}  // namespace etwpipe::etwp

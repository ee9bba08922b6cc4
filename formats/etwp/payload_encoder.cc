#include "formats/etwp/payload_encoder.h"

#include <algorithm>
#include <utility>

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;

// Earlier fields of the payload that are looked at as predictions, the nearest ones.
constexpr size_t kMaxFieldCandidates = 3;
// Bytes of a column that need no better prediction: all its values are the same.
constexpr size_t kAsGoodAsNone = 1;
// Predictions that survive the estimate and go into the trial.
constexpr size_t kTrials = 3;

constexpr uint32_t FieldColumnOf(uint32_t kind, size_t field) { return kind | static_cast<uint32_t>(field) << 16; }

}  // namespace

void PayloadEncoder::Start(std::span<const PayloadLayout* const> layouts, std::span<const size_t> events) {
  state_.Start(layouts, PredictionState::Keep::kAll);
  state_.Prepare();
  tables_.clear();
  processors_ = {};
  last_on_processor_.clear();
  processor_values_ = 0;
  kinds_.resize(layouts.size());
  for (size_t i = 0; i < layouts.size(); ++i) {
    Kind& kind = kinds_[i];
    kind.layout = layouts[i];
    kind.facts.clear();
    kind.before.clear();
    kind.fields.clear();
    kind.arrays.clear();
    if (layouts[i] == nullptr) continue;
    kind.fields.resize(layouts[i]->fields.size());
    for (size_t f = 0; f < kind.fields.size(); ++f) {
      const auto& field = layouts[i]->fields[f];
      FieldColumn& column = kind.fields[f];
      if (!field.number() && !field.is_struct()) column.table = &tables_[{field.context, field.text}];
      if (field.repeated) kind.arrays.push_back(f);
      if (events.empty() || field.repeated) continue;
      column.values.Reserve(events[i]);
      column.last.Reserve(events[i]);
      if (layouts[i]->key == 0 || f < layouts[i]->key) continue;
      column.row.Reserve(events[i]);
      column.below.Reserve(events[i]);
    }
  }
}

// 0 at first.
uint32_t& PayloadEncoder::LastOnProcessor(size_t kind, uint16_t cpu) {
  const uint64_t key = KindOnProcessor(kind, cpu);
  uint32_t place = processors_.Find(key);
  if (place == KeyIndex::kNone) {
    place = static_cast<uint32_t>(last_on_processor_.size());
    processors_.Add(key, place);
    last_on_processor_.push_back(0);
    processor_values_ += kinds_[kind].fields.size();
  }
  return last_on_processor_[place];
}

uint64_t PayloadEncoder::Add(size_t kind_index, std::span<const std::byte> payload, const HeaderFacts& facts) {
  Kind& kind = kinds_[kind_index];
  const PayloadLayout& layout = *kind.layout;
  if (!splitter_.Split(layout, payload)) return 1;
  kind.facts.push_back(facts);
  kind.before.push_back(
      std::exchange(LastOnProcessor(kind_index, facts.cpu), static_cast<uint32_t>(kind.facts.size())));
  scalars_.assign(layout.fields.size(), 0);
  for (const size_t i : kind.arrays) {
    kind.fields[i].previous = 0;
    if (layout.fields[i].pair) kind.fields[i].starts.push_back(kind.fields[i].values.size());
  }
  std::span<uint64_t> row;
  std::span<const uint64_t> below;
  bool have_row = false;
  for (const FieldValue& value : splitter_.values()) {
    FieldColumn& column = kind.fields[value.field];
    if (value.what == FieldValue::What::kCount) {
      column.counts.push_back(value.number);
      continue;
    }
    const auto& field = layout.fields[value.field];
    uint64_t stored = value.number;
    uint64_t remembered = value.number;
    if (column.table != nullptr) {
      bool added = false;
      const uint64_t entry = column.table->Intern(payload.subspan(value.number, value.size), added);
      stored = entry << 1 | (added ? 1 : 0);
      remembered = entry + 1;
    }
    column.values.Add(stored);
    if (field.repeated) {
      column.last.Add(column.previous);
      column.previous = remembered;
      continue;
    }
    column.last.Add(state_.last(field.context));
    scalars_[value.field] = remembered;
    if (have_row) {
      const size_t slot = state_.slot(kind_index, value.field);
      column.row.Add(row.empty() ? 0 : row[slot]);
      column.below.Add(below.empty() ? 0 : below[slot]);
    }
    if (layout.key == value.field + 1u) {
      row = state_.Row(kind_index, value.number);
      below = state_.Below(kind_index, value.number);
      have_row = true;
    }
  }
  state_.Update(kind_index, scalars_, row);
  const size_t left = payload.size() - splitter_.used();
  return left == 0 ? 0 : left + 1;
}

void PayloadEncoder::AddPredicted(const Kind& kind, size_t index, uint32_t prediction, size_t begin, size_t end) {
  const FieldColumn& column = kind.fields[index];
  const size_t width = kind.layout->fields[index].width;
  const size_t before = column_.size();
  column_.resize(before + (end - begin));
  uint64_t* to = column_.data() + before;
  const auto add = [&](auto predicted) {
    for (size_t at = begin; at < end; ++at) {
      const uint64_t value = column.values[at];
      if (column.table == nullptr) {
        *to++ = PackDifference(value - predicted(at), width);
        continue;
      }
      const uint64_t entry = value >> 1;
      const bool added = (value & 1) != 0;
      *to++ = added ? 1 : predicted(at) == entry + 1 ? 0 : entry + 2;
    }
  };
  switch (prediction) {
    case kNoPrediction:
      for (size_t at = begin; at < end; ++at) {
        const uint64_t value = column.values[at];
        *to++ = column.table == nullptr ? value : (value & 1) != 0 ? 0 : (value >> 1) + 1;
      }
      break;
    case kFromLast: add([&](size_t at) { return column.last[at]; }); break;
    case kFromRow: add([&](size_t at) { return column.row[at]; }); break;
    case kFromNearest: add([&](size_t at) { return column.below[at]; }); break;
    case kFromTimestamp: add([&](size_t at) { return kind.facts[at].timestamp; }); break;
    case kFromPrevious: add([&](size_t at) { return kind.facts[at].previous_timestamp; }); break;
    case kFromTid: add([&](size_t at) { return kind.facts[at].tid; }); break;
    case kFromPid: add([&](size_t at) { return kind.facts[at].pid; }); break;
    case kFromEnd: {
      const auto& sizes = kind.fields[index + 1].last;
      add([&](size_t at) { return column.last[at] + sizes[at]; });
      break;
    }
    default: {
      if (prediction >= kFromProcessor) {
        const FieldColumn& other = kind.fields[prediction - kFromProcessor];
        const auto stored = [&](uint64_t value) { return other.table == nullptr ? value : (value >> 1) + 1; };
        add([&](size_t at) { return kind.before[at] == 0 ? 0 : stored(other.values[kind.before[at] - 1]); });
        break;
      }
      const auto& other = kind.fields[prediction - kFromField].values;
      add([&](size_t at) { return other[at]; });
    }
  }
}

PayloadEncoder::Choice PayloadEncoder::ChoosePrediction(const Kind& kind, size_t index, NumberEncoder& numbers) {
  const FieldColumn& column = kind.fields[index];
  const auto& field = kind.layout->fields[index];
  const size_t count = column.values.size();
  std::vector<uint32_t> candidates = {kNoPrediction, kFromLast};
  // A reader has all rows of a table or takes their number for damage.
  if (column.row.size() == count && all_rows_) candidates.insert(candidates.end(), {kFromRow, kFromNearest});
  const bool processors = !field.repeated && processor_values_ <= PredictionState::kMaxRowValues;
  if (processors) candidates.push_back(static_cast<uint32_t>(kFromProcessor + index));
  if (field.number() && !field.repeated) {
    const auto& fields = kind.layout->fields;
    const auto alike = [&](size_t i) {
      return fields[i].number() && !fields[i].repeated && fields[i].width == field.width;
    };
    if (index + 1 < fields.size() && fields[index + 1].number() && !fields[index + 1].repeated) {
      candidates.push_back(kFromEnd);
    }
    if (processors && index + 1 < fields.size() && alike(index + 1)) {
      candidates.push_back(static_cast<uint32_t>(kFromProcessor + index + 1));
    }
    if (processors && index > 0 && alike(index - 1)) {
      candidates.push_back(static_cast<uint32_t>(kFromProcessor + index - 1));
    }
    if (field.width == 8) candidates.insert(candidates.end(), {kFromTimestamp, kFromPrevious});
    if (field.width == 4) candidates.insert(candidates.end(), {kFromTid, kFromPid});
    for (size_t i = index, taken = 0; i-- > 0 && taken < kMaxFieldCandidates;) {
      if (!alike(i)) continue;
      candidates.push_back(static_cast<uint32_t>(kFromField + i));
      ++taken;
    }
  }
  const auto parts = numbers.Sample(count);
  const auto sample = [&](uint32_t prediction) {
    column_.clear();
    for (const auto& [begin, end] : parts) AddPredicted(kind, index, prediction, begin, end);
  };
  std::vector<std::pair<size_t, uint32_t>> costs;
  for (const uint32_t prediction : candidates) {
    sample(prediction);
    costs.emplace_back(numbers.Estimate(column_, prediction == kNoPrediction), prediction);
    if (costs.back().first <= kAsGoodAsNone) break;
  }
  std::sort(costs.begin(), costs.end());
  const bool estimate = numbers.effort() == Effort::kEstimate;
  costs.resize(std::min(costs.size(), estimate ? size_t{1} : kTrials));
  Choice best{.cost = SIZE_MAX};
  for (const auto& [estimated, prediction] : costs) {
    sample(prediction);
    if (estimate) {
      best = {prediction, v1::ENCODING_CONSTANT, estimated};
      continue;
    }
    const auto choice = numbers.Choose(column_);
    if (choice.cost < best.cost) best = {prediction, choice.encoding, choice.cost};
  }
  best.cost = best.cost * count / column_.size();
  return best;
}

void PayloadEncoder::FillPaired(const Kind& kind, size_t index) {
  const FieldColumn& first = kind.fields[index];
  const FieldColumn& second = kind.fields[index + 1];
  const size_t widths[] = {kind.layout->fields[index].width, kind.layout->fields[index + 1].width};
  column_.clear();
  for (size_t array = 0; array < first.starts.size(); ++array) {
    const size_t end = array + 1 < first.starts.size() ? first.starts[array + 1] : first.values.size();
    PairState states[2];
    for (size_t at = first.starts[array]; at < end; ++at) {
      column_.push_back(states[0].Pack(first.values[at], widths[0]));
      column_.push_back(states[1].Pack(second.values[at], widths[1]));
    }
  }
}

void PayloadEncoder::EndPayloads() {
  all_rows_ = !state_.overflowed();
  state_ = {};
  processors_ = {};
  last_on_processor_ = {};
}

void PayloadEncoder::WriteKind(size_t kind_index, uint32_t number, ColumnWriter& columns) {
  Kind& kind = kinds_[kind_index];
  for (size_t index = 0; index < kind.fields.size(); ++index) {
    FieldColumn& column = kind.fields[index];
    const uint32_t of = FieldColumnOf(number, index);
    columns.AddNumbers(v1::COLUMN_FIELD_COUNT, of, column.counts);
    if (column.values.empty()) continue;
    const Choice choice = ChoosePrediction(kind, index, columns.numbers());
    if (kind.layout->fields[index].pair) {
      const Choice other = ChoosePrediction(kind, index + 1, columns.numbers());
      FillPaired(kind, index);
      const size_t paired = columns.numbers().effort() == Effort::kEstimate
                                ? columns.numbers().Estimate(column_)
                                : columns.numbers().ChooseWhole(column_).cost;
      if (paired < choice.cost + other.cost) {
        columns.AddNumbers(v1::COLUMN_FIELD, of, column_, kPaired);
        ++index;
        continue;
      }
    }
    column_.clear();
    AddPredicted(kind, index, choice.prediction, 0, column.values.size());
    columns.AddNumbers(v1::COLUMN_FIELD, of, column_, choice.prediction, choice.encoding);
    if (IsLaterPrediction(choice.prediction)) columns.Require(v1::ENCODING_PREDICTIONS);
  }
  kind = {};
}

void PayloadEncoder::WriteTables(ColumnWriter& columns) const {
  for (const auto& [key, table] : tables_) table.Write(key.first, key.second, columns);
}

void PayloadEncoder::Release() {
  kinds_ = {};
  tables_ = {};
  column_ = {};
}

}  // namespace etwpipe::etwp

#include "formats/etwp/payload_encoder.h"

#include <algorithm>

namespace etwpipe::etwp {
namespace {

using v1::LayoutField;

// Earlier fields of the payload that are looked at as predictions, the nearest ones.
constexpr size_t kMaxFieldCandidates = 6;
// Predictions that survive the estimate and go into the trial.
constexpr size_t kTrials = 3;

constexpr uint32_t FieldColumnOf(uint32_t kind, size_t field) { return kind | static_cast<uint32_t>(field) << 16; }

}  // namespace

void PayloadEncoder::Start(std::span<const PayloadLayout* const> layouts) {
  state_.Start(layouts);
  tables_.clear();
  kinds_.resize(layouts.size());
  for (size_t i = 0; i < layouts.size(); ++i) {
    Kind& kind = kinds_[i];
    kind.layout = layouts[i];
    kind.facts.clear();
    kind.fields.clear();
    if (layouts[i] == nullptr) continue;
    kind.fields.resize(layouts[i]->fields.size());
    for (size_t f = 0; f < kind.fields.size(); ++f) {
      const auto& field = layouts[i]->fields[f];
      if (!field.number() && !field.is_struct()) kind.fields[f].table = &tables_[{field.context, field.text}];
    }
  }
}

uint64_t PayloadEncoder::Add(size_t kind_index, std::span<const std::byte> payload, const HeaderFacts& facts) {
  Kind& kind = kinds_[kind_index];
  const PayloadLayout& layout = *kind.layout;
  if (!splitter_.Split(layout, payload)) return 1;
  kind.facts.push_back(facts);
  scalars_.assign(layout.fields.size(), 0);
  for (auto& column : kind.fields) column.previous = 0;
  std::span<uint64_t> row;
  bool have_row = false;
  for (const FieldValue& value : splitter_.values()) {
    FieldColumn& column = kind.fields[value.field];
    if (value.is_count) {
      column.counts.push_back(value.number);
      continue;
    }
    const auto& field = layout.fields[value.field];
    uint64_t stored = value.number;
    uint64_t remembered = value.number;
    if (column.table != nullptr) {
      bool added = false;
      const uint64_t entry = column.table->Intern(value.bytes, added);
      stored = entry << 1 | (added ? 1 : 0);
      remembered = entry + 1;
    }
    column.values.push_back(stored);
    if (field.repeated) {
      column.last.push_back(column.previous);
      column.previous = remembered;
      continue;
    }
    column.last.push_back(state_.last(field.context));
    scalars_[value.field] = remembered;
    if (have_row) column.row.push_back(row.empty() ? 0 : row[state_.slot(kind_index, value.field)]);
    if (layout.key == value.field + 1u) {
      row = state_.Row(kind_index, value.number);
      have_row = true;
    }
  }
  state_.Update(kind_index, scalars_, row);
  const size_t left = payload.size() - splitter_.used();
  return left == 0 ? 0 : left + 1;
}

uint64_t PayloadEncoder::PredictionAt(const Kind& kind, const FieldColumn& column, size_t at,
                                      uint32_t prediction) const {
  switch (prediction) {
    case kFromLast: return column.last[at];
    case kFromRow: return column.row[at];
    case kFromTimestamp: return kind.facts[at].timestamp;
    case kFromPrevious: return kind.facts[at].previous_timestamp;
    case kFromTid: return kind.facts[at].tid;
    case kFromPid: return kind.facts[at].pid;
    default: return kind.fields[prediction - kFromField].values[at];
  }
}

uint64_t PayloadEncoder::ValueAt(const Kind& kind, size_t index, size_t at, uint32_t prediction) const {
  const FieldColumn& column = kind.fields[index];
  const uint64_t value = column.values[at];
  if (column.table == nullptr) {
    if (prediction == kNoPrediction) return value;
    return PackDifference(value - PredictionAt(kind, column, at, prediction), kind.layout->fields[index].width);
  }
  const uint64_t entry = value >> 1;
  const bool added = (value & 1) != 0;
  if (prediction == kNoPrediction) return added ? 0 : entry + 1;
  if (!added && PredictionAt(kind, column, at, prediction) == entry + 1) return 0;
  return added ? 1 : entry + 2;
}

uint32_t PayloadEncoder::ChoosePrediction(const Kind& kind, size_t index, NumberEncoder& numbers) {
  const FieldColumn& column = kind.fields[index];
  const auto& field = kind.layout->fields[index];
  const size_t count = column.values.size();
  std::vector<uint32_t> candidates = {kNoPrediction, kFromLast};
  if (column.row.size() == count) candidates.push_back(kFromRow);
  if (field.number() && !field.repeated) {
    if (field.width == 8) candidates.insert(candidates.end(), {kFromTimestamp, kFromPrevious});
    if (field.width == 4) candidates.insert(candidates.end(), {kFromTid, kFromPid});
    for (size_t i = index, taken = 0; i-- > 0 && taken < kMaxFieldCandidates;) {
      const auto& other = kind.layout->fields[i];
      if (!other.number() || other.repeated || other.width != field.width) continue;
      candidates.push_back(static_cast<uint32_t>(kFromField + i));
      ++taken;
    }
  }
  const auto parts = NumberEncoder::Sample(count);
  const auto sample = [&](uint32_t prediction) {
    column_.clear();
    for (const auto& [begin, end] : parts) {
      for (size_t at = begin; at < end; ++at) column_.push_back(ValueAt(kind, index, at, prediction));
    }
  };
  std::vector<std::pair<size_t, uint32_t>> costs;
  for (const uint32_t prediction : candidates) {
    sample(prediction);
    costs.emplace_back(numbers.Estimate(column_), prediction);
  }
  std::sort(costs.begin(), costs.end());
  if (numbers.effort() == Effort::kEstimate) return costs.front().second;
  if (costs.size() > kTrials) costs.resize(kTrials);
  for (auto& [cost, prediction] : costs) {
    sample(prediction);
    cost = numbers.Choose(column_).cost;
  }
  return std::min_element(costs.begin(), costs.end())->second;
}

void PayloadEncoder::WriteKind(size_t kind_index, uint32_t number, ColumnWriter& columns) {
  Kind& kind = kinds_[kind_index];
  for (size_t index = 0; index < kind.fields.size(); ++index) {
    FieldColumn& column = kind.fields[index];
    const uint32_t of = FieldColumnOf(number, index);
    columns.AddNumbers(v1::COLUMN_FIELD_COUNT, of, column.counts);
    if (column.values.empty()) continue;
    const uint32_t prediction = ChoosePrediction(kind, index, columns.numbers());
    column_.clear();
    for (size_t at = 0; at < column.values.size(); ++at) column_.push_back(ValueAt(kind, index, at, prediction));
    columns.AddNumbers(v1::COLUMN_FIELD, of, column_, prediction);
  }
}

void PayloadEncoder::WriteTables(ColumnWriter& columns) const {
  for (const auto& [key, table] : tables_) table.Write(key.first, key.second, columns);
}

}  // namespace etwpipe::etwp

#include "formats/etwp/prediction.h"

#include <algorithm>
#include <unordered_map>

namespace etwpipe::etwp {

void PredictionState::Start(std::span<const PayloadLayout* const> layouts) {
  last_.clear();
  kinds_.assign(layouts.size(), {});
  tables_.clear();
  row_values_ = 0;
  overflowed_ = false;
  uint32_t contexts = 0;
  std::unordered_map<uint32_t, size_t> table_of;            // by context of the key
  std::vector<std::unordered_map<uint32_t, size_t>> slots;  // per table, by context
  for (size_t kind = 0; kind < layouts.size(); ++kind) {
    const PayloadLayout* layout = layouts[kind];
    if (layout == nullptr) continue;
    kinds_[kind].layout = layout;
    for (const auto& field : layout->fields) contexts = std::max(contexts, field.context + 1);
    if (layout->key == 0) continue;
    const uint32_t key = layout->fields[layout->key - 1u].context;
    const auto [found, added] = table_of.try_emplace(key, tables_.size());
    if (added) {
      tables_.emplace_back();
      slots.emplace_back();
    }
    kinds_[kind].table = found->second;
    for (const auto& field : layout->fields) {
      auto& by_context = slots[found->second];
      const size_t slot = field.repeated ? 0 : by_context.try_emplace(field.context, by_context.size()).first->second;
      kinds_[kind].slots.push_back(slot);
    }
  }
  for (size_t table = 0; table < tables_.size(); ++table) tables_[table].stride = slots[table].size();
  last_.resize(contexts);
}

std::span<uint64_t> PredictionState::Row(size_t kind, uint64_t key) {
  KeyTable& table = tables_[kinds_[kind].table];
  auto found = table.rows.find(key);
  if (found == table.rows.end()) {
    if (row_values_ + table.stride > kMaxRowValues) {
      overflowed_ = true;
      return {};
    }
    row_values_ += table.stride;
    found = table.rows.emplace(key, table.values.size()).first;
    table.values.resize(table.values.size() + table.stride);
  }
  return std::span(table.values).subspan(found->second, table.stride);
}

std::span<const uint64_t> PredictionState::Below(size_t kind, uint64_t key) const {
  const KeyTable& table = tables_[kinds_[kind].table];
  auto found = table.rows.lower_bound(key);
  if (found == table.rows.begin()) return {};
  --found;
  return std::span(table.values).subspan(found->second, table.stride);
}

void PredictionState::Update(size_t kind, std::span<const uint64_t> values, std::span<uint64_t> row) {
  const Kind& known = kinds_[kind];
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& field = known.layout->fields[i];
    if (field.repeated) continue;
    last_[field.context] = values[i];
    if (!row.empty()) row[known.slots[i]] = values[i];
  }
}

}  // namespace etwpipe::etwp

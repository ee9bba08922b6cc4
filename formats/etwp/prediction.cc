#include "formats/etwp/prediction.h"

#include <algorithm>
#include <unordered_map>

namespace etwpipe::etwp {

void KeyIndex::Put(uint64_t key, uint32_t place) {
  size_t at = SlotOf(key);
  while (entries_[at].place != kNone) at = (at + 1) & (entries_.size() - 1);
  entries_[at] = {key, place};
}

void KeyIndex::Add(uint64_t key, uint32_t place) {
  constexpr size_t kFirst = 16;
  if (++count_ * 2 > entries_.size()) {
    std::vector<Entry> before(std::max(kFirst, entries_.size() * 2));
    before.swap(entries_);
    for (const Entry& entry : before) {
      if (entry.place != kNone) Put(entry.key, entry.place);
    }
  }
  Put(key, place);
}

void PredictionState::Start(std::span<const PayloadLayout* const> layouts, Keep keep) {
  last_.clear();
  kinds_.assign(layouts.size(), {});
  tables_.clear();
  processor_rows_ = {};
  processor_values_.clear();
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
  for (size_t table = 0; table < tables_.size(); ++table) {
    tables_[table].stride = slots[table].size();
    tables_[table].used = tables_[table].ordered = keep == Keep::kAll;
  }
  last_.resize(contexts);
  last_used_.assign(contexts, keep == Keep::kAll);
}

void PredictionState::Prepare() {
  for (Kind& kind : kinds_) {
    if (kind.layout == nullptr) continue;
    const bool rows = kind.layout->key != 0 && tables_[kind.table].used;
    for (uint32_t i = 0; i < kind.layout->fields.size(); ++i) {
      const auto& field = kind.layout->fields[i];
      if (field.repeated) continue;
      if (last_used_[field.context]) kind.lasts.emplace_back(i, field.context);
      if (rows) kind.rows.emplace_back(i, static_cast<uint32_t>(kind.slots[i]));
    }
  }
}

std::span<uint64_t> PredictionState::Row(size_t kind, uint64_t key) {
  KeyTable& table = tables_[kinds_[kind].table];
  uint32_t place = table.rows.Find(key);
  if (place == KeyIndex::kNone) {
    if (row_values_ + table.stride > kMaxRowValues) {
      overflowed_ = true;
      return {};
    }
    row_values_ += table.stride;
    place = static_cast<uint32_t>(table.values.size());
    table.rows.Add(key, place);
    if (table.ordered) table.sorted.emplace(key, place);
    table.values.resize(table.values.size() + table.stride);
  }
  return std::span(table.values).subspan(place, table.stride);
}

std::span<const uint64_t> PredictionState::Below(size_t kind, uint64_t key) const {
  const KeyTable& table = tables_[kinds_[kind].table];
  auto found = table.sorted.lower_bound(key);
  if (found == table.sorted.begin()) return {};
  --found;
  return std::span(table.values).subspan(found->second, table.stride);
}

std::span<uint64_t> PredictionState::OnProcessor(size_t kind, uint16_t cpu) {
  const size_t fields = kinds_[kind].layout->fields.size();
  const uint64_t key = KindOnProcessor(kind, cpu);
  uint32_t place = processor_rows_.Find(key);
  if (place == KeyIndex::kNone) {
    if (processor_values_.size() + fields > kMaxRowValues) return {};
    place = static_cast<uint32_t>(processor_values_.size());
    processor_rows_.Add(key, place);
    processor_values_.resize(processor_values_.size() + fields);
  }
  return std::span(processor_values_).subspan(place, fields);
}

void PredictionState::Update(size_t kind, std::span<const uint64_t> values, std::span<uint64_t> row) {
  for (const auto& [field, context] : kinds_[kind].lasts) last_[context] = values[field];
  if (row.empty()) return;
  for (const auto& [field, slot] : kinds_[kind].rows) row[slot] = values[field];
}

}  // namespace etwpipe::etwp

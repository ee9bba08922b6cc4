#include "pipeline/injected_tail.h"

#include <algorithm>
#include <vector>

namespace etwpipe {
namespace {

bool IsNew(const EventHeader& row) { return row.has(kInjected) && row.instance_id == 0; }

bool SamePlace(const EventHeader& a, const EventHeader& b) { return a.timestamp == b.timestamp && a.cpu == b.cpu; }

// The row, with its record in the memory of `batch`.
EventHeader CopyRow(const EventHeader& row, EventBatch& batch) {
  const auto record = batch.arena.Allocate(row.record_size);
  std::copy_n(row.record, row.record_size, record.data());
  EventHeader copy = row;
  copy.record = record.data();
  return copy;
}

void CopyValue(const AnnotationColumn& from, size_t from_row, AnnotationColumn& to, size_t to_row) {
  if (!from.has(from_row)) return;
  switch (from.info().type) {
    case AnnotationType::kString:
    case AnnotationType::kMessage: return to.SetString(to_row, from.string(from_row));
    case AnnotationType::kU64List: return to.SetList(to_row, from.list_view(from_row));
    case AnnotationType::kStringList: {
      std::vector<uint64_t> numbers;
      for (const uint64_t number : from.list_view(from_row)) numbers.push_back(to.InternText(from.text(number)));
      return to.SetTexts(to_row, numbers);
    }
    default: return to.SetU64(to_row, from.u64(from_row));
  }
}

// Columns of one plan: every batch has the same ones, but for batches that no stage put any into.
void CopyValues(const EventBatch& from, size_t from_row, EventBatch& to, size_t to_row) {
  for (const AnnotationColumn& column : from.annotations) {
    AnnotationColumn* same = to.FindAnnotation(column.info().name);
    if (same == nullptr) same = &to.AddAnnotation(column.info());
    CopyValue(column, from_row, *same, to_row);
  }
}

}  // namespace

void InjectedTail::PutInto(EventBatch& batch, EventBatch& held) const {
  const auto& selection = batch.selection;
  size_t place = 0;
  if (order_ == Order::kPerCpu) {
    const auto same_cpu = [&](uint16_t index) { return batch.rows[index].cpu == held.rows.front().cpu; };
    const auto first = std::find_if(selection.begin(), selection.end(), same_cpu);
    if (first == selection.end()) return;
    place = static_cast<size_t>(first - selection.begin());
  }
  while (place < selection.size() && SamePlace(batch.rows[selection[place]], held.rows.front()) &&
         !IsNew(batch.rows[selection[place]])) {
    ++place;
  }
  std::vector<EventHeader> rows;
  std::vector<uint32_t> from;
  rows.reserve(selection.size() + held.rows.size());
  from.reserve(rows.capacity());
  const auto add = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      rows.push_back(batch.rows[selection[i]]);
      from.push_back(selection[i]);
    }
  };
  add(0, place);
  for (const EventHeader& row : held.rows) {
    rows.push_back(CopyRow(row, batch));
    from.push_back(AnnotationColumn::kNoRow);
  }
  add(place, selection.size());
  batch.rows = std::move(rows);
  for (AnnotationColumn& column : batch.annotations) column.Reorder(from);
  for (size_t i = 0; i < held.rows.size(); ++i) CopyValues(held, i, batch, place + i);
  batch.SelectAll();
  batch.buffer = nullptr;
  held.Clear();
}

void InjectedTail::Settle(EventBatch& batch) {
  if (batch.selection.empty()) return;
  for (auto& [cpu, held] : held_) {
    if (!held.rows.empty()) PutInto(batch, held);
  }
  const auto& selection = batch.selection;
  size_t begin = selection.size();
  while (begin > 0 && IsNew(batch.rows[selection[begin - 1]]) &&
         SamePlace(batch.rows[selection[begin - 1]], batch.rows[selection.back()])) {
    --begin;
  }
  const size_t count = selection.size() - begin;
  if (count == 0 || count > kMaxHeld) return;
  EventBatch& held = held_[batch.rows[selection.back()].cpu];
  held.rows.reserve(count);
  for (size_t i = begin; i < selection.size(); ++i) held.rows.push_back(CopyRow(batch.rows[selection[i]], held));
  for (const AnnotationColumn& column : batch.annotations) held.AddAnnotation(column.info());
  for (size_t i = 0; i < count; ++i) CopyValues(batch, selection[begin + i], held, i);
  batch.selection.resize(begin);
}

bool InjectedTail::Flush(EventBatch& batch) {
  while (!held_.empty()) {
    const auto first = held_.begin();
    const bool any = !first->second.rows.empty();
    if (any) {
      batch.rows = std::move(first->second.rows);
      batch.annotations = std::move(first->second.annotations);
      batch.arena = std::move(first->second.arena);
      batch.SelectAll();
    }
    held_.erase(first);
    if (any) return true;
  }
  return false;
}

}  // namespace etwpipe

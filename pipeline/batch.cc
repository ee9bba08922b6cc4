#include "pipeline/batch.h"

#include <algorithm>
#include <numeric>

namespace etwpipe {

std::span<std::byte> Arena::Allocate(size_t size) {
  const size_t rounded = (size + 7) & ~size_t{7};
  while (chunk_ < chunks_.size() && chunks_[chunk_].size - used_ < rounded) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const size_t chunk_size = std::max(kChunkBytes, rounded);
    chunks_.push_back({std::make_unique<std::byte[]>(chunk_size), chunk_size});
    used_ = 0;
  }
  std::byte* bytes = chunks_[chunk_].bytes.get() + used_;
  used_ += rounded;
  return {bytes, size};
}

void Arena::Clear() {
  chunk_ = 0;
  used_ = 0;
}

void EventBatch::SelectAll() {
  selection.resize(rows.size());
  std::iota(selection.begin(), selection.end(), uint16_t{0});
}

void EventBatch::Inject(std::span<const std::pair<uint16_t, EventHeader>> added) {
  std::vector<EventHeader> placed;
  std::vector<uint32_t> from;
  size_t next = 0;     // of `added`, whose row has not come yet
  size_t waiting = 0;  // of `added`, first whose place has not come yet
  for (size_t i = 0; i < selection.size(); ++i) {
    const EventHeader& row = rows[selection[i]];
    placed.push_back(row);
    from.push_back(selection[i]);
    while (next < added.size() && added[next].first == selection[i]) ++next;
    const EventHeader* follower = i + 1 < selection.size() ? &rows[selection[i + 1]] : nullptr;
    if (follower != nullptr && follower->timestamp == row.timestamp && follower->cpu == row.cpu) continue;
    for (; waiting < next; ++waiting) {
      placed.push_back(added[waiting].second);
      from.push_back(AnnotationColumn::kNoRow);
    }
  }
  rows = std::move(placed);
  SelectAll();
  for (AnnotationColumn& column : annotations) column.Reorder(from);
  buffer = nullptr;
}

AnnotationColumn* EventBatch::FindAnnotation(std::string_view name) {
  const auto found = std::find_if(annotations.begin(), annotations.end(),
                                  [&](const AnnotationColumn& column) { return column.info().name == name; });
  return found == annotations.end() ? nullptr : &*found;
}

const AnnotationColumn* EventBatch::FindAnnotation(std::string_view name) const {
  return const_cast<EventBatch*>(this)->FindAnnotation(name);
}

AnnotationColumn& EventBatch::AddAnnotation(const AnnotationInfo& info) {
  auto& column = annotations.emplace_back(info);
  column.Reset(rows.size());
  return column;
}

void EventBatch::Clear() {
  sequence = 0;
  rows.clear();
  selection.clear();
  pins.clear();
  arena.Clear();
  annotations.clear();
  opened.clear();
  buffer.reset();
  buffer_row = 0;
  source_state.reset();
}

}  // namespace etwpipe

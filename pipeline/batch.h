// The unit of flow: up to 4,096 events in order, the bytes they point into, and what stages say of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/annotation.h"
#include "pipeline/event.h"
#include "pipeline/source_buffer.h"

namespace etwpipe {

constexpr size_t kMaxBatchRows = 4096;
constexpr size_t kMaxBatchBytes = 1 << 20;

/// Bump allocator for rewritten and injected bytes; the views it hands out live as long as the batch.
class Arena {
 public:
  /// `size` uninitialised bytes, 8-aligned.
  std::span<std::byte> Allocate(size_t size);
  /// Forgets everything handed out and keeps the memory.
  void Clear();

 private:
  static constexpr size_t kChunkBytes = 64 * 1024;
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;  // chunk in use
  size_t used_ = 0;   // bytes of it
};

/// Rows in order with a selection over them. A filter marks, it never moves rows. Rows, payload views and annotation
/// columns are valid until the batch is cleared or destroyed; whoever needs more copies.
struct EventBatch {
  uint64_t sequence = 0;  ///< 0, 1, 2 ... in the order of the source
  std::vector<EventHeader> rows;
  /// Indexes of the rows that are still in, ascending.
  std::vector<uint16_t> selection;
  /// Keeps the bytes of `rows` alive.
  std::vector<std::shared_ptr<const void>> pins;
  Arena arena;
  std::vector<AnnotationColumn> annotations;

  /// Buffers whose first record is in this batch (or that hold none), in stream order; for sinks that restore them.
  std::vector<std::shared_ptr<const SourceBuffer>> opened;
  /// In per-CPU order a batch holds rows of one buffer only: this one, rows [buffer_row, buffer_row + rows.size()).
  std::shared_ptr<const SourceBuffer> buffer;
  size_t buffer_row = 0;

  /// Work the source left for Fill(), opaque to everybody else.
  std::shared_ptr<void> source_state;

  /// Selects every row.
  void SelectAll();
  /// Keeps the selected rows for which `keep(row)` is true. One call per row, inlined.
  template <typename Keep>
  void Retain(Keep&& keep) {
    size_t kept = 0;
    for (const uint16_t index : selection) {
      selection[kept] = index;
      kept += keep(static_cast<const EventHeader&>(rows[index])) ? 1 : 0;
    }
    selection.resize(kept);
  }
  /// Adds selected rows behind others: `added` holds the index of a selected row and the new row that belongs to it, by
  /// index. A new row goes behind the last selected one of the same timestamp and processor that follows without a gap
  /// (design.md section 7). Rows that are not selected go; annotations stay with their rows; the batch is no longer
  /// part of a buffer.
  void Inject(std::span<const std::pair<uint16_t, EventHeader>> added);
  /// The column of that name, or null.
  AnnotationColumn* FindAnnotation(std::string_view name);
  const AnnotationColumn* FindAnnotation(std::string_view name) const;
  /// Adds a column with room for every row.
  AnnotationColumn& AddAnnotation(const AnnotationInfo& info);
  /// Empty again, with its memory kept for reuse.
  void Clear();
};

}  // namespace etwpipe

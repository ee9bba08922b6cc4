// Pads are what an earlier buffer held at the same place: the recorder uses the memory of its buffers again and never
// clears it. So they are stored as what differs from there (FORMAT.md, "Restore section").
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "pipeline/source_buffer.h"

namespace etwpipe::etwp {

/// Images of earlier buffers that a buffer may refer to take at most this many bytes together.
constexpr size_t kPadWindowBytes = 32u << 20;
/// ... and are at most so many.
constexpr size_t kPadWindowBuffers = 1024;

/// Calls gap(offset, size) for each gap of a buffer: between header and first record, between records, and after the
/// last record up to the next multiple of 8. A buffer without records has none.
void ForEachGap(const SourceBuffer& buffer, const std::function<void(size_t, size_t)>& gap);

/// Finds the earlier buffer that the gaps of each buffer are like. One thread at a time, buffers in their order.
class PadPredictor {
 public:
  /// `gaps`: the bytes of the buffer's gaps; they become their difference (exclusive or) to the reference. Returns how
  /// many buffers earlier that is, 0 for none.
  uint64_t Predict(std::shared_ptr<const SourceBuffer> buffer, std::span<std::byte> gaps);

 private:
  size_t Misses(const SourceBuffer& reference, std::span<const std::byte> gaps, size_t limit) const;

  std::vector<std::pair<size_t, size_t>> places_;  // offset and size of each gap
  std::deque<std::shared_ptr<const SourceBuffer>> window_;
  size_t window_bytes_ = 0;
  size_t last_distance_ = 0;
};

}  // namespace etwpipe::etwp

#include "formats/etwp/pad_predictor.h"

#include <algorithm>

#include "formats/etl/layout.h"

namespace etwpipe::etwp {
namespace {

// Buffers looked at when the last distance does not fit, the latest ones.
constexpr size_t kSearched = 256;

}  // namespace

void ForEachGap(const SourceBuffer& buffer, const std::function<void(size_t, size_t)>& gap) {
  if (buffer.records.empty()) return;
  size_t position = std::min(etl::buffer::kHeaderSize, buffer.image.size());
  for (const auto& place : buffer.records) {
    if (place.offset > position) gap(position, place.offset - position);
    position = size_t{place.offset} + place.size;
  }
  const size_t end = std::min<size_t>(etl::Align8(position), buffer.image.size());
  if (end > position) gap(position, end - position);
}

size_t PadPredictor::Misses(const SourceBuffer& reference, std::span<const std::byte> gaps, size_t limit) const {
  const auto& image = reference.image;
  size_t misses = 0;
  size_t at = 0;
  for (const auto& [offset, size] : places_) {
    for (size_t i = 0; i < size; ++i, ++at) {
      const std::byte before = offset + i < image.size() ? image[offset + i] : std::byte{0};
      if (before != gaps[at] && ++misses >= limit) return misses;
    }
  }
  return misses;
}

uint64_t PadPredictor::Predict(std::shared_ptr<const SourceBuffer> buffer, std::span<std::byte> gaps) {
  places_.clear();
  ForEachGap(*buffer, [&](size_t offset, size_t size) { places_.emplace_back(offset, size); });
  const auto reference = [&](size_t distance) -> const SourceBuffer& { return *window_[window_.size() - distance]; };
  size_t best = 0;
  size_t fewest =
      static_cast<size_t>(std::count_if(gaps.begin(), gaps.end(), [](std::byte byte) { return byte != std::byte{0}; }));
  const auto look_at = [&](size_t distance) {
    if (fewest == 0) return;
    const size_t misses = Misses(reference(distance), gaps, fewest);
    if (misses >= fewest) return;
    fewest = misses;
    best = distance;
  };
  if (last_distance_ != 0 && last_distance_ <= window_.size()) look_at(last_distance_);
  for (size_t distance = 1; distance <= std::min(window_.size(), kSearched); ++distance) look_at(distance);
  if (best != 0) {
    last_distance_ = best;
    const auto& image = reference(best).image;
    size_t at = 0;
    for (const auto& [offset, size] : places_) {
      for (size_t i = 0; i < size; ++i, ++at) {
        if (offset + i < image.size()) gaps[at] ^= image[offset + i];
      }
    }
  }
  window_bytes_ += buffer->image.size();
  window_.push_back(std::move(buffer));
  while (window_bytes_ > kPadWindowBytes || window_.size() > kPadWindowBuffers) {
    window_bytes_ -= window_.front()->image.size();
    window_.pop_front();
  }
  return best;
}

}  // namespace etwpipe::etwp

#include "formats/facts/area_index.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace etwpipe::facts {
namespace {

// Calls `visit(node)` for the nodes that together cover the leaves [begin, end) of a tree of `leaves` leaves.
template <typename Visit>
void ForCover(size_t begin, size_t end, size_t leaves, Visit&& visit) {
  for (begin += leaves, end += leaves; begin < end; begin /= 2, end /= 2) {
    if (begin % 2 != 0) visit(begin++);
    if (end % 2 != 0) visit(--end);
  }
}

}  // namespace

AreaIndex::AreaIndex(std::vector<Area> areas) : areas_(std::move(areas)) {
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  std::sort(areas_.begin(), areas_.end(), [](const Area& a, const Area& b) { return a.from < b.from; });
  for (const Area& area : areas_) {
    bounds_.push_back(area.first);
    if (area.last != kLast) bounds_.push_back(area.last + 1);
  }
  std::sort(bounds_.begin(), bounds_.end());
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());

  const size_t leaves = bounds_.size();
  const auto leaf_at = [&](uint64_t address) {
    return static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), address) - bounds_.begin());
  };
  const auto for_nodes = [&](const Area& area, auto&& visit) {
    ForCover(leaf_at(area.first), area.last == kLast ? leaves : leaf_at(area.last + 1), leaves, visit);
  };
  begins_.assign(2 * leaves + 1, 0);
  for (const Area& area : areas_) for_nodes(area, [&](size_t node) { ++begins_[node + 1]; });
  for (size_t node = 1; node < begins_.size(); ++node) begins_[node] += begins_[node - 1];
  entries_.resize(begins_.back());
  std::vector<uint32_t> next = begins_;
  for (size_t i = 0; i < areas_.size(); ++i) {
    for_nodes(areas_[i], [&](size_t node) { entries_[next[node]++] = static_cast<uint32_t>(i); });
  }
}

std::optional<uint32_t> AreaIndex::Find(uint64_t address, int64_t time) const {
  const auto bound = std::upper_bound(bounds_.begin(), bounds_.end(), address);
  if (bound == bounds_.begin()) return std::nullopt;
  const auto leaf = static_cast<size_t>(bound - bounds_.begin()) - 1;
  for (size_t node = leaf + bounds_.size(); node >= 1; node /= 2) {
    const auto begin = entries_.begin() + begins_[node];
    const auto after = std::upper_bound(begin, entries_.begin() + begins_[node + 1], time,
                                        [&](int64_t at, uint32_t index) { return at < areas_[index].from; });
    if (after == begin) continue;
    const Area& area = areas_[*(after - 1)];
    if (time < area.to) return area.value;
  }
  return std::nullopt;
}

}  // namespace etwpipe::facts

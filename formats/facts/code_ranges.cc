#include "formats/facts/code_ranges.h"

#include <algorithm>

namespace etwpipe::facts {
void CodeRanges::AddGroup(std::span<const Range> ranges) {
  std::vector<uint64_t> starts;
  starts.reserve(ranges.size() * 2);
  for (const Range& range : ranges) {
    starts.push_back(range.begin);
    starts.push_back(range.end);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  const auto cells = static_cast<uint32_t>(starts.size());
  const auto cell_of = [&](uint64_t address) {
    return static_cast<uint32_t>(std::lower_bound(starts.begin(), starts.end(), address) - starts.begin());
  };

  // The nodes of the tree: 1 is its root, those from `cells` on are the cells.
  std::vector<std::pair<uint32_t, uint32_t>> held;  // node, index of a range
  held.reserve(ranges.size());
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    uint32_t left = cell_of(ranges[i].begin) + cells;
    uint32_t right = cell_of(ranges[i].end) + cells;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 == 1) held.emplace_back(left++, i);
      if (right % 2 == 1) held.emplace_back(--right, i);
    }
  }
  std::sort(held.begin(), held.end());

  std::vector<uint32_t> nearest(size_t{cells} * 2, kNone);  // the link of a node or of the next above that has one
  std::vector<TimeLines::Life> lives;
  size_t at = 0;
  const auto first_cell = static_cast<uint32_t>(cells_.size());
  for (uint32_t node = 1; node < cells * 2; ++node) {
    const uint32_t above = nearest[node / 2];
    nearest[node] = above;
    lives.clear();
    for (; at < held.size() && held[at].first == node; ++at) lives.push_back(ranges[held[at].second].life);
    const bool leaf = node >= cells;
    if (!lives.empty()) {
      const TimeLines::Line line = lines_.Add(lives);
      if (leaf && above == kNone && (line & kChain) == 0) {
        cells_.push_back({lives[0].from, lives[0].to, line});
        continue;
      }
      nearest[node] = static_cast<uint32_t>(links_.size());
      links_.push_back({line, above});
    }
    if (leaf) cells_.push_back({0, 0, nearest[node] == kNone ? kNone : kChain | nearest[node]});
  }
  groups_.push_back({SortedKeys(starts), first_cell});
}

void CodeRanges::Finish() {
  cells_.shrink_to_fit();
  links_.shrink_to_fit();
}

}  // namespace etwpipe::facts

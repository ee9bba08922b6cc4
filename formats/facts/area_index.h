// Finds which of many areas of address and time holds a point.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace etwpipe::facts {

/// Addresses [first, last] during [from, to).
struct Area {
  uint64_t first = 0;
  uint64_t last = 0;
  int64_t from = 0;
  int64_t to = 0;
  uint32_t value = 0;
};

/// A segment tree over the addresses; each node lists, by time, the areas that cover all addresses of the node. Built
/// once, then read from any thread.
class AreaIndex {
 public:
  AreaIndex() = default;
  /// No two areas may share a point; then those of one node follow each other in time, and a lookup is one binary
  /// search per level. n areas take at most 2 log2(2n) entries each, mostly one or two.
  explicit AreaIndex(std::vector<Area> areas);

  /// The value of the area that holds the point.
  std::optional<uint32_t> Find(uint64_t address, int64_t time) const;

 private:
  std::vector<uint64_t> bounds_;  // leaf i covers addresses from bounds_[i] up to the next bound
  std::vector<Area> areas_;
  std::vector<uint32_t> begins_;   // of node i in entries_
  std::vector<uint32_t> entries_;  // indexes of areas, by time within a node
};

}  // namespace etwpipe::facts

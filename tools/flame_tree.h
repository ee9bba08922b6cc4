// What a flame chart draws: frames merged by their path, laid out side by side, and cut to what a person can look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tools/flame_chart.h"

namespace etwpipe {

struct FlameLimits {
  uint32_t max_rows = 200;          // rows of nodes, the base row among them
  size_t max_nodes = 10'000;        // drawn at most; as many rectangles again may stand for what was left out
  int64_t smallest_share = 10'000;  // a node below 1 / this of the whole is too narrow to draw
};

/// One rectangle. Ticks are exact: own_ticks and the total_ticks of all children, drawn or not, add up to total_ticks.
struct FlameNode {
  enum class Kind : unsigned char {
    kFrame,
    kRest,  // children of its parent that are not drawn, in one; `count` says how many children
  };
  Kind kind = Kind::kFrame;
  std::string_view name;       // as in FlameFrame; empty for the base and for kRest
  uint32_t parent = kNoFrame;  // index in FlameTree::nodes; kNoFrame for the base
  uint32_t depth = 0;          // row; the base stands in row 0
  int64_t start_ticks = 0;     // of its left edge, from the left edge of the base
  int64_t total_ticks = 0;
  int64_t own_ticks = 0;
  uint64_t count = 0;  // sum over the merged frames; stays at 2^64 - 1 if it would pass it
};

/// Nodes that are not drawn for one reason. A node whose parent is not drawn counts to the parent's reason.
struct FlameLeftOut {
  uint64_t nodes = 0;
  int64_t ticks = 0;  // exact; what is left out for different reasons does not overlap
};

struct FlameTree {
  /// The base first; a parent stands before its children, a node before what is right of it in its row.
  std::vector<FlameNode> nodes;
  FlameLeftOut deep;     // below the last row
  FlameLeftOut narrow;   // below the smallest share, or without ticks
  FlameLeftOut crowded;  // the smallest of what remains, beyond the number of nodes
  /// Input that cannot be true, and what was done: ticks below 0 count as 0, ticks that would lift the whole past
  /// 2^63 - 1 are cut there, a frame whose parent does not stand before it is drawn on the base.
  uint64_t negative_frames = 0;
  uint64_t cut_frames = 0;
  uint64_t orphan_frames = 0;
};

/// The names of the result point into `frames`. Without recursion: a path may be as long as `frames`. The result
/// depends on the frames of each path only, not on the order of the paths.
FlameTree BuildFlameTree(std::span<const FlameFrame> frames, const FlameLimits& limits = {});

}  // namespace etwpipe

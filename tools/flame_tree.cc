// Merging walks the frames once, since a parent stands before its children; sums walk the nodes backwards. Only nodes
// that may be drawn are ordered.
#include "tools/flame_tree.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace etwpipe {
namespace {

enum class Reason : unsigned char { kNone, kDeep, kNarrow, kCrowded };

struct MergedNode {
  std::string_view name;
  uint32_t parent = kNoFrame;
  uint32_t depth = 0;
  int64_t own = 0;
  int64_t total = 0;
  uint64_t count = 0;
  Reason left_out = Reason::kNone;
};

// Node 0 is the base.
using MergedNodes = std::vector<MergedNode>;

struct PathKey {
  uint32_t parent;
  uint32_t name;
  bool operator==(const PathKey&) const = default;
};

struct PathKeyHash {
  size_t operator()(const PathKey& key) const {
    const uint64_t mixed = (uint64_t{key.parent} << 32 | key.name) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed ^ mixed >> 32);
  }
};

uint64_t SaturatingSum(uint64_t a, uint64_t b) { return a + b < a ? std::numeric_limits<uint64_t>::max() : a + b; }

MergedNodes Merge(std::span<const FlameFrame> frames, FlameTree& tree) {
  MergedNodes nodes(1);
  std::vector<uint32_t> node_of(frames.size());
  std::unordered_map<std::string_view, uint32_t> names;
  std::unordered_map<PathKey, uint32_t, PathKeyHash> node_at;
  int64_t whole = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const FlameFrame& frame = frames[i];
    uint32_t parent = 0;
    if (frame.parent < i) {
      parent = node_of[frame.parent];
    } else if (frame.parent != kNoFrame) {
      ++tree.orphan_frames;
    }
    const uint32_t name = names.try_emplace(frame.name, static_cast<uint32_t>(names.size())).first->second;
    const auto [place, added] = node_at.try_emplace({parent, name}, static_cast<uint32_t>(nodes.size()));
    if (added) {
      nodes.push_back({.name = frame.name, .parent = parent, .depth = nodes[parent].depth + 1});
    }
    node_of[i] = place->second;

    MergedNode& node = nodes[place->second];
    if (frame.own_ticks < 0) ++tree.negative_frames;
    const int64_t asked = std::max<int64_t>(frame.own_ticks, 0);
    // No sum below can overflow once the whole does not.
    const int64_t own = std::min(asked, std::numeric_limits<int64_t>::max() - whole);
    if (own != asked) ++tree.cut_frames;
    whole += own;
    node.own += own;
    node.count = SaturatingSum(node.count, frame.count);
    nodes[0].count = SaturatingSum(nodes[0].count, frame.count);
  }
  for (size_t i = nodes.size(); i-- > 1;) {
    nodes[i].total += nodes[i].own;
    nodes[nodes[i].parent].total += nodes[i].total;
  }
  return nodes;
}

// The fewest ticks of a rectangle.
int64_t Narrowest(int64_t whole, const FlameLimits& limits) {
  return std::max<int64_t>(1, whole / limits.smallest_share + (whole % limits.smallest_share != 0 ? 1 : 0));
}

// The nodes that are neither too deep nor too narrow, the base first, a parent before its children, and siblings
// largest first. A node that is left out has no descendant that is not, so these are a tree.
std::vector<uint32_t> Candidates(MergedNodes& nodes, const FlameLimits& limits) {
  const int64_t narrowest = Narrowest(nodes[0].total, limits);
  std::vector<uint32_t> siblings;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    MergedNode& node = nodes[i];
    if (node.total < narrowest) {
      node.left_out = Reason::kNarrow;
    } else if (node.depth >= limits.max_rows) {
      node.left_out = Reason::kDeep;
    } else {
      siblings.push_back(i);
    }
  }
  std::sort(siblings.begin(), siblings.end(), [&nodes](uint32_t a, uint32_t b) {
    if (nodes[a].parent != nodes[b].parent) return nodes[a].parent < nodes[b].parent;
    if (nodes[a].total != nodes[b].total) return nodes[a].total > nodes[b].total;
    return nodes[a].name < nodes[b].name;
  });

  std::vector<uint32_t> order;
  order.reserve(siblings.size() + 1);
  std::vector<uint32_t> open = {0};
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    order.push_back(node);
    const auto end = std::partition_point(siblings.begin(), siblings.end(),
                                          [&](uint32_t sibling) { return nodes[sibling].parent <= node; });
    for (auto child = end; child != siblings.begin() && nodes[*(child - 1)].parent == node;) open.push_back(*--child);
  }
  return order;
}

// Keeps the largest of `order`, which stays in its order.
void KeepLargest(MergedNodes& nodes, std::vector<uint32_t>& order, size_t max_nodes) {
  if (order.size() <= max_nodes) return;
  std::vector<uint32_t> by_size(order.size());
  for (uint32_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  // A parent is no smaller than its children and stands before them, so it is kept if one of them is.
  std::sort(by_size.begin(), by_size.end(), [&](uint32_t a, uint32_t b) {
    const int64_t total_a = nodes[order[a]].total;
    const int64_t total_b = nodes[order[b]].total;
    return total_a != total_b ? total_a > total_b : a < b;
  });
  for (size_t i = max_nodes; i < by_size.size(); ++i) nodes[order[by_size[i]]].left_out = Reason::kCrowded;
  std::erase_if(order, [&nodes](uint32_t node) { return nodes[node].left_out != Reason::kNone; });
}

struct Rest {
  int64_t ticks = 0;
  uint64_t children = 0;
};

// What hides below each node that is drawn, by node; counts what is left out by reason.
std::unordered_map<uint32_t, Rest> CountLeftOut(MergedNodes& nodes, FlameTree& tree) {
  std::unordered_map<uint32_t, Rest> rests;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    MergedNode& node = nodes[i];
    const Reason above = nodes[node.parent].left_out;
    if (above != Reason::kNone) node.left_out = above;
    if (node.left_out == Reason::kNone) continue;
    FlameLeftOut& sum = node.left_out == Reason::kDeep     ? tree.deep
                        : node.left_out == Reason::kNarrow ? tree.narrow
                                                           : tree.crowded;
    ++sum.nodes;
    if (above != Reason::kNone) continue;
    sum.ticks += node.total;
    Rest& rest = rests[node.parent];
    rest.ticks += node.total;
    ++rest.children;
  }
  return rests;
}

}  // namespace

FlameTree BuildFlameTree(std::span<const FlameFrame> frames, const FlameLimits& limits) {
  FlameTree tree;
  MergedNodes merged = Merge(frames, tree);
  std::vector<uint32_t> order = Candidates(merged, limits);
  KeepLargest(merged, order, std::max<size_t>(limits.max_nodes, 1));
  const auto rests = CountLeftOut(merged, tree);

  // Where the next child of a node begins, by node; a parent comes first, so that its own start is known.
  std::unordered_map<uint32_t, int64_t> next_start;
  std::unordered_map<uint32_t, uint32_t> drawn_as;
  struct OpenRest {
    uint32_t node;
    uint32_t parent;
  };
  // The rest of a node comes behind its last descendant.
  std::vector<OpenRest> open;
  const auto close = [&](uint32_t depth) {
    while (!open.empty() && merged[open.back().node].depth >= depth) {
      const auto [node, parent] = open.back();
      open.pop_back();
      const Rest& rest = rests.at(node);
      tree.nodes.push_back({.kind = FlameNode::Kind::kRest,
                            .name = {},
                            .parent = parent,
                            .depth = merged[node].depth + 1,
                            .start_ticks = next_start[node],
                            .total_ticks = rest.ticks,
                            .own_ticks = 0,
                            .count = rest.children});
    }
  };
  const int64_t narrowest = Narrowest(merged[0].total, limits);
  for (const uint32_t index : order) {
    const MergedNode& node = merged[index];
    close(node.depth);
    const auto place = static_cast<uint32_t>(tree.nodes.size());
    drawn_as[index] = place;
    int64_t start = 0;
    uint32_t parent = kNoFrame;
    if (index != 0) {
      start = next_start[node.parent];
      next_start[node.parent] += node.total;
      parent = drawn_as[node.parent];
    }
    next_start[index] = start;
    tree.nodes.push_back({.kind = FlameNode::Kind::kFrame,
                          .name = node.name,
                          .parent = parent,
                          .depth = node.depth,
                          .start_ticks = start,
                          .total_ticks = node.total,
                          .own_ticks = node.own,
                          .count = node.count});
    const auto rest = rests.find(index);
    if (rest != rests.end() && rest->second.ticks >= narrowest) open.push_back({index, place});
  }
  close(0);
  return tree;
}

}  // namespace etwpipe

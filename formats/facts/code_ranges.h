// Which code stood at an address at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/facts/sorted_keys.h"
#include "formats/facts/time_lines.h"

namespace etwpipe::facts {

/// Ranges of addresses with lives, in groups that know nothing of each other (processes). The addresses of a group are
/// cut where a range begins or ends; a tree over these cells puts each range on at most 2 log n nodes, and the lives of
/// the ranges of one node are a time line. So an answer is one search and a walk over the few nodes above a cell that
/// hold something: logarithmic also where everything overlaps.
class CodeRanges {
 public:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;  ///< exclusive, above begin
    TimeLines::Life life;
  };

  /// Adds the next group, numbered 0, 1, 2 ...
  void AddGroup(std::span<const Range> ranges);
  /// After the last group.
  void Finish();

  /// What stands at the address: what is alive, else what begins at most `slack` ticks later (kBackfilled), else
  /// nothing (kUnknown). Of several that are alive the one that began last.
  template <typename LifeOf>
  TimeLines::Pick Find(size_t group, uint64_t address, int64_t time, int64_t slack, const LifeOf& life_of) const {
    const Cell* cell = CellOf(group, address);
    TimeLines::Pick best;
    if (cell == nullptr || cell->holds == kNone) return best;
    if ((cell->holds & kChain) == 0) {
      const auto own_life = [&](uint32_t) -> const Cell& { return *cell; };
      return Judge(lines_.Find(cell->holds, time, own_life), time, slack, own_life);
    }
    for (uint32_t link = cell->holds & ~kChain; link != kNone; link = links_[link].above) {
      const auto pick = Judge(lines_.Find(links_[link].line, time, life_of), time, slack, life_of);
      if (pick.outcome != LookupOutcome::kUnknown && Better(pick, best, life_of)) best = pick;
    }
    return best;
  }

  uint64_t memory() const {
    uint64_t bytes = lines_.memory() + cells_.capacity() * sizeof(cells_[0]) + links_.capacity() * sizeof(links_[0]) +
                     groups_.capacity() * sizeof(groups_[0]);
    for (const Group& group : groups_) bytes += group.starts.memory();
    return bytes;
  }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static constexpr uint32_t kChain = 0x80000000;

  struct Group {
    SortedKeys starts;  // first address of each cell
    uint32_t first_cell = 0;
  };
  // One node that holds something, and the next such node above it.
  struct Link {
    TimeLines::Line line = 0;
    uint32_t above = kNone;
  };

  // Addresses from a start up to the next. With its life at hand where it holds one range, since a look at the version
  // would be one more cache miss.
  struct Cell {
    int64_t from = 0;
    int64_t to = 0;
    uint32_t holds = kNone;  // kNone, the time line of one life, or kChain and a link
  };

  const Cell* CellOf(size_t number, uint64_t address) const {
    const Group& group = groups_[number];
    const Cell* cells = cells_.data() + group.first_cell;
    const uint32_t cell = group.starts.LastAtMost(address, [&](uint32_t near) {
      __builtin_prefetch(cells + near);
      __builtin_prefetch(cells + near + 1);
    });
    return cell == SortedKeys::kNone ? nullptr : cells + cell;
  }

  template <typename LifeOf>
  static TimeLines::Pick Judge(TimeLines::Pick pick, int64_t time, int64_t slack, const LifeOf& life_of) {
    // Unsigned, since times of a damaged file may be as far apart as can be.
    const auto wait = static_cast<uint64_t>(life_of(pick.item).from) - static_cast<uint64_t>(time);
    const bool late = pick.outcome == LookupOutcome::kBackfilled && wait > static_cast<uint64_t>(slack);
    if (late || pick.outcome == LookupOutcome::kStale) pick.outcome = LookupOutcome::kUnknown;
    return pick;
  }
  template <typename LifeOf>
  static bool Better(const TimeLines::Pick& a, const TimeLines::Pick& b, const LifeOf& life_of) {
    if (b.outcome == LookupOutcome::kUnknown) return true;
    const bool a_later = a.outcome == LookupOutcome::kBackfilled;
    const bool b_later = b.outcome == LookupOutcome::kBackfilled;
    if (a_later != b_later) return b_later;
    const int64_t a_from = life_of(a.item).from;
    const int64_t b_from = life_of(b.item).from;
    if (a_from == b_from) return a.item > b.item;
    return (a_from > b_from) != a_later;
  }

  TimeLines lines_;
  std::vector<Cell> cells_;
  std::vector<Link> links_;
  std::vector<Group> groups_;
};

}  // namespace etwpipe::facts

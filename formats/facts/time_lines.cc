#include "formats/facts/time_lines.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

namespace etwpipe::facts {
namespace {

using Life = TimeLines::Life;

struct EndsLater {
  bool operator()(const Life* a, const Life* b) const { return a->to > b->to; }
};

// Whether each ends before the next begins, or in the same tick where that makes no difference.
bool FollowEachOther(std::span<const Life> lives) {
  for (size_t i = 1; i < lives.size(); ++i) {
    const Life& before = lives[i - 1];
    if (before.to > lives[i].from) return false;
    if (before.to == lives[i].from && before.identity != lives[i].identity) return false;
  }
  return true;
}

// Those alive at the moment, and how many different things they are.
class Alive {
 public:
  void Insert(const Life& life) {
    order_.emplace(life.from, life.item);
    ++identities_[life.identity];
  }
  void Erase(const Life& life) {
    order_.erase({life.from, life.item});
    if (const auto found = identities_.find(life.identity); --found->second == 0) identities_.erase(found);
  }
  bool empty() const { return order_.empty(); }
  uint32_t best() const { return order_.rbegin()->second; }
  bool ambiguous() const { return identities_.size() > 1; }

 private:
  std::set<std::pair<int64_t, uint32_t>> order_;
  std::unordered_map<uint64_t, uint32_t> identities_;
};

}  // namespace

TimeLines::Line TimeLines::Add(std::span<Life> lives) {
  if (lives.size() == 1) return lives[0].item;
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return std::tie(a.from, a.item) < std::tie(b.from, b.item); });
  const size_t first = moments_.size();
  if (FollowEachOther(lives)) {
    for (const Life& life : lives) {
      if (moments_.size() > first && moments_.back().from == life.from) moments_.pop_back();
      moments_.push_back({life.from, life.item, false});
    }
  } else {
    Sweep(lives);
  }
  lines_.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(moments_.size() - first)});
  return kMany | static_cast<Line>(lines_.size() - 1);
}

// Goes over begins and ends; a moment stands wherever the answer changes.
void TimeLines::Sweep(std::span<const Life> lives) {
  const size_t first = moments_.size();
  Alive alive;
  std::priority_queue<const Life*, std::vector<const Life*>, EndsLater> ends;
  const auto mark = [&](int64_t time) {
    if (alive.empty()) return;
    const Moment moment{time, alive.best(), alive.ambiguous()};
    if (moments_.size() > first && moments_.back().from == time) moments_.pop_back();
    if (moments_.size() > first && moments_.back().item == moment.item &&
        moments_.back().ambiguous == moment.ambiguous) {
      return;
    }
    moments_.push_back(moment);
  };
  const auto end_before = [&](int64_t time) {
    while (!ends.empty() && ends.top()->to < time) {
      const int64_t end = ends.top()->to;
      while (!ends.empty() && ends.top()->to == end) {
        alive.Erase(*ends.top());
        ends.pop();
      }
      mark(end + 1);
    }
  };
  for (const Life& life : lives) {
    end_before(life.from);
    alive.Insert(life);
    ends.push(&life);
    mark(life.from);
  }
  end_before(std::numeric_limits<int64_t>::max());
}

}  // namespace etwpipe::facts

#include "tools/trace_diff.h"

#include <algorithm>

#include "tools/event_digest.h"

namespace etwpipe {
namespace {

using Digests = std::vector<EventDigest>;

// The lowest `limit` differences of all that are added.
class FirstDifferences {
 public:
  explicit FirstDifferences(size_t limit) : limit_(limit) {}

  void Add(EventInstanceId id, Change change, uint64_t times) {
    for (uint64_t i = 0; i < std::min<uint64_t>(times, limit_); ++i) kept_.push_back({id, change});
    if (kept_.size() > 2 * limit_ + kSlack) Prune();
  }
  std::vector<Difference> Take() {
    Prune();
    return std::move(kept_);
  }

 private:
  static constexpr size_t kSlack = 1024;  // so that small limits are not pruned all the time

  void Prune() {
    std::sort(kept_.begin(), kept_.end());
    if (kept_.size() > limit_) kept_.resize(limit_);
  }

  size_t limit_;
  std::vector<Difference> kept_;
};

// Compares the digests of one id, which may occur several times; both ranges are sorted.
void CompareId(std::span<const EventDigest> a, std::span<const EventDigest> b, DiffCounts& counts,
               FirstDifferences& first) {
  size_t equal = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      ++equal, ++i, ++j;
    } else {
      a[i] < b[j] ? ++i : ++j;
    }
  }
  const EventInstanceId id = a.empty() ? b.front().id : a.front().id;
  const uint64_t only_a = a.size() - equal;
  const uint64_t only_b = b.size() - equal;
  const uint64_t changed = std::min(only_a, only_b);
  const auto add = [&](Change change, uint64_t times, uint64_t& count) {
    count += times;
    first.Add(id, change, times);
  };
  add(Change::kChanged, changed, counts.changed);
  add(Change::kMissing, only_a - changed, counts.missing);
  add(Change::kAdded, only_b - changed, counts.added);
}

// The run of one id at the front of `rest`, taken off it.
std::span<const EventDigest> TakeId(std::span<const EventDigest>& rest, EventInstanceId id) {
  size_t count = 0;
  while (count < rest.size() && rest[count].id == id) ++count;
  const auto run = rest.first(count);
  rest = rest.subspan(count);
  return run;
}

void CompareSorted(const Digests& digests_a, const Digests& digests_b, DiffCounts& counts, FirstDifferences& first) {
  std::span<const EventDigest> a = digests_a;
  std::span<const EventDigest> b = digests_b;
  while (!a.empty() || !b.empty()) {
    const EventInstanceId id = b.empty() || (!a.empty() && a.front().id < b.front().id) ? a.front().id : b.front().id;
    const auto run_a = TakeId(a, id);
    const auto run_b = TakeId(b, id);
    CompareId(run_a, run_b, counts, first);
  }
}

// Buckets that differ, cut into groups of at most `max_digests` digests (but at least one bucket).
std::vector<std::vector<size_t>> GroupBuckets(const BucketSums& a, const BucketSums& b, uint64_t max_digests) {
  std::vector<std::vector<size_t>> groups;
  uint64_t held = 0;
  for (size_t i = 0; i < kDigestBuckets; ++i) {
    if (a.buckets()[i] == b.buckets()[i]) continue;
    const uint64_t count = a.buckets()[i].count + b.buckets()[i].count;
    if (groups.empty() || held + count > max_digests) {
      groups.emplace_back();
      held = 0;
    }
    groups.back().push_back(i);
    held += count;
  }
  return groups;
}

}  // namespace

std::string_view ToString(Change change) {
  switch (change) {
    case Change::kMissing: return "missing";
    case Change::kAdded: return "added";
    case Change::kChanged: return "changed";
  }
  return "changed";
}

Result<DiffResult> DiffTraces(const std::array<RunSide, 2>& sides, size_t limit, uint64_t max_digests) {
  std::array<BucketSums, 2> sums;
  for (size_t side = 0; side < 2; ++side) ETWPIPE_RETURN_IF_ERROR(sides[side](sums[side]));
  DiffResult result;
  result.counts.events_a = sums[0].events();
  result.counts.events_b = sums[1].events();
  FirstDifferences first(limit);
  for (const auto& group : GroupBuckets(sums[0], sums[1], max_digests)) {
    std::vector<uint8_t> wanted(kDigestBuckets, 0);
    std::array<size_t, 2> expected{};
    for (const size_t bucket : group) {
      wanted[bucket] = 1;
      for (size_t side = 0; side < 2; ++side) expected[side] += sums[side].buckets()[bucket].count;
    }
    std::array<Digests, 2> digests;
    for (size_t side = 0; side < 2; ++side) {
      DigestList list(wanted, expected[side]);
      ETWPIPE_RETURN_IF_ERROR(sides[side](list));
      digests[side] = std::move(list.digests());
      std::sort(digests[side].begin(), digests[side].end());
    }
    CompareSorted(digests[0], digests[1], result.counts, first);
  }
  result.first = first.Take();
  return result;
}

}  // namespace etwpipe

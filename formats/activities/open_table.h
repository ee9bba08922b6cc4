// Activities that go on, by what their stop will say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/activities/tracker.h"

namespace etwpipe::activities {

/// What start and stop of an activity have in common.
struct PairKey {
  std::array<uint64_t, 4> words{};
  friend bool operator==(const PairKey&, const PairKey&) = default;
};

/// Several activities may have one key: the newest or the oldest of them is found. O(1), no allocation once warm.
class OpenTable {
 public:
  OpenTable() : slots_(kFirstSize) {}

  void Add(const PairKey& key, OpenActivity activity) {
    if ((used_ + 1) * 3 > slots_.size() * 2) Grow();
    Slot& slot = slots_[SlotOf(key)];
    if (slot.newest == kNone) {
      slot.key = key;
      slot.oldest = kNone;
      ++used_;
    }
    uint32_t number = static_cast<uint32_t>(entries_.size());
    if (free_ == kNone) {
      entries_.emplace_back();
    } else {
      number = free_;
      free_ = entries_[number].older;
    }
    entries_[number] = {activity, slot.newest, kNone};
    if (slot.newest != kNone) entries_[slot.newest].newer = number;
    slot.newest = number;
    if (slot.oldest == kNone) slot.oldest = number;
    ++size_;
  }

  /// Takes out the newest (or oldest) activity of that key which goes on in `tracker`; none if there is none.
  OpenActivity Take(const PairKey& key, const ActivityTracker& tracker, bool oldest = false) {
    for (;;) {
      const size_t index = SlotOf(key);
      if (slots_[index].newest == kNone) return {};
      const uint32_t number = oldest ? slots_[index].oldest : slots_[index].newest;
      const OpenActivity activity = entries_[number].activity;
      Remove(index, number);
      if (tracker.IsOpen(activity)) return activity;
    }
  }

  /// The newest of that key which goes on; it stays.
  OpenActivity Newest(const PairKey& key, const ActivityTracker& tracker) {
    const OpenActivity found = Take(key, tracker);
    if (found != OpenActivity{}) Add(key, found);
    return found;
  }

  /// Forgets what goes on no longer, once that is the larger part.
  void Sweep(const ActivityTracker& tracker) {
    if (size_ < 2 * tracker.open() + 1024) return;
    OpenTable kept;
    for (const Slot& slot : slots_) {
      if (slot.newest == kNone) continue;
      for (uint32_t number = slot.oldest; number != kNone; number = entries_[number].newer) {
        if (tracker.IsOpen(entries_[number].activity)) kept.Add(slot.key, entries_[number].activity);
      }
    }
    *this = std::move(kept);
  }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static constexpr size_t kFirstSize = 64;

  struct Slot {
    PairKey key;
    uint32_t newest = kNone;  // kNone: free
    uint32_t oldest = kNone;
  };
  struct Entry {
    OpenActivity activity;
    uint32_t older = kNone;  // next free one, in a free entry
    uint32_t newer = kNone;
  };

  static uint64_t Hash(const PairKey& key) {
    uint64_t hash = 0;
    for (const uint64_t word : key.words) hash = (hash ^ word ^ hash >> 29) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  }
  // Of the key, or the free one where it would stand.
  size_t SlotOf(const PairKey& key) const {
    size_t index = static_cast<size_t>(Hash(key)) & (slots_.size() - 1);
    while (slots_[index].newest != kNone && slots_[index].key != key) index = (index + 1) & (slots_.size() - 1);
    return index;
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.newest != kNone) slots_[SlotOf(slot.key)] = slot;
    }
  }
  void Remove(size_t index, uint32_t number) {
    Slot& slot = slots_[index];
    Entry& entry = entries_[number];
    (entry.newer == kNone ? slot.newest : entries_[entry.newer].older) = entry.older;
    (entry.older == kNone ? slot.oldest : entries_[entry.older].newer) = entry.newer;
    entry.older = free_;
    free_ = number;
    --size_;
    if (slot.newest == kNone) Close(index);
  }
  // Fills the gap with what would not be found behind it.
  void Close(size_t gap) {
    --used_;
    const size_t mask = slots_.size() - 1;
    for (size_t index = (gap + 1) & mask; slots_[index].newest != kNone; index = (index + 1) & mask) {
      const size_t home = static_cast<size_t>(Hash(slots_[index].key)) & mask;
      if (((index - home) & mask) < ((index - gap) & mask)) continue;
      slots_[gap] = slots_[index];
      slots_[index].newest = kNone;
      gap = index;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::vector<Entry> entries_;
  uint32_t free_ = kNone;
  size_t used_ = 0;
  size_t size_ = 0;
};

}  // namespace etwpipe::activities

#include "stages/kept_events.h"

#include <utility>

namespace etwpipe {
namespace {

constexpr size_t kFirstSlots = 1024;

}  // namespace

// The slot that holds the pair, or the free one where it belongs.
size_t KeptEvents::Table::SlotOf(int64_t timestamp, uint32_t tid) const {
  uint64_t hash = (static_cast<uint64_t>(timestamp) ^ uint64_t{tid} << 40) * 0x9E3779B97F4A7C15ull;
  hash ^= hash >> 32;
  size_t slot = static_cast<size_t>(hash) & (slots.size() - 1);
  while (slots[slot].used != 0 && (slots[slot].timestamp != timestamp || slots[slot].tid != tid)) {
    slot = (slot + 1) & (slots.size() - 1);
  }
  return slot;
}

bool KeptEvents::Table::Contains(int64_t timestamp, uint32_t tid) const {
  return !slots.empty() && slots[SlotOf(timestamp, tid)].used != 0;
}

void KeptEvents::Table::Grow() {
  std::vector<Entry> old = std::exchange(slots, std::vector<Entry>(slots.empty() ? kFirstSlots : slots.size() * 2));
  for (const Entry& entry : old) {
    if (entry.used != 0) slots[SlotOf(entry.timestamp, entry.tid)] = entry;
  }
}

void KeptEvents::Table::Insert(int64_t timestamp, uint32_t tid) {
  if (count * 2 >= slots.size()) Grow();
  Entry& entry = slots[SlotOf(timestamp, tid)];
  if (entry.used != 0) return;
  entry = {timestamp, tid, 1};
  ++count;
}

void KeptEvents::Add(int64_t timestamp, uint32_t tid) {
  if (current_.count == kRemembered && !current_.Contains(timestamp, tid)) {
    previous_ = std::move(current_);
    current_ = {};
  }
  current_.Insert(timestamp, tid);
}

bool KeptEvents::Contains(int64_t timestamp, uint32_t tid) const {
  return current_.Contains(timestamp, tid) || previous_.Contains(timestamp, tid);
}

}  // namespace etwpipe

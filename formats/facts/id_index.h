// A hash table that is built once: from an id in a process and a runtime to a number.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace etwpipe::facts {

/// Open addressing in one array: a lookup mostly costs one cache line.
class IdIndex {
 public:
  struct Entry {
    uint64_t id = 0;  ///< not 0
    uint32_t group = 0;
    uint32_t runtime = 0;
    uint32_t number = 0;
    uint32_t note = 0;  ///< for the caller
  };

  /// Keys are distinct.
  void Build(const std::vector<Entry>& entries) {
    slots_.assign(std::bit_ceil(entries.size() + entries.size() / 2 + 1), {});
    for (const Entry& entry : entries) {
      size_t slot = SlotOf(entry.id, entry.group, entry.runtime);
      while (slots_[slot].id != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = entry;
    }
  }

  /// Null if there is none.
  const Entry* Find(uint64_t id, uint32_t group, uint32_t runtime) const {
    if (slots_.empty()) return nullptr;
    for (size_t slot = SlotOf(id, group, runtime); slots_[slot].id != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const Entry& entry = slots_[slot];
      if (entry.id == id && entry.group == group && entry.runtime == runtime) return &entry;
    }
    return nullptr;
  }

  uint64_t memory() const { return slots_.capacity() * sizeof(Entry); }

 private:
  size_t SlotOf(uint64_t id, uint32_t group, uint32_t runtime) const {
    uint64_t hash = (id ^ uint64_t{group} << 40 ^ uint64_t{runtime} << 24) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    return static_cast<size_t>(hash >> 20) & (slots_.size() - 1);
  }

  std::vector<Entry> slots_;  // a power of two, at most two thirds full; id 0 is free
};

}  // namespace etwpipe::facts

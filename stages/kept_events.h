// Which events were kept lately, so that their stacks can follow them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/schema/stack_owner.h"
#include "pipeline/event.h"

namespace etwpipe {

/// A set of (timestamp, thread) of bounded size: of what was added at least the last kRemembered distinct pairs are
/// found, at most twice as many; what is older is forgotten by halves. The same calls give the same answers everywhere.
class KeptEvents {
 public:
  static constexpr size_t kRemembered = 1 << 17;

  /// Remembers an event that was kept.
  void Remember(const EventHeader& row) { Add(row.timestamp, row.has(kHasPid) ? row.tid : kNoId); }
  /// Whether the event that a stack was taken for was kept. A stack follows its event, which came before it; that event
  /// may not have named its thread.
  bool HasOwner(const StackOwner& owner) const {
    return Contains(owner.timestamp, owner.tid) || Contains(owner.timestamp, kNoId);
  }

  /// The same by numbers; `tid` is kNoId where a record has none.
  void Add(int64_t timestamp, uint32_t tid);
  bool Contains(int64_t timestamp, uint32_t tid) const;

 private:
  struct Entry {
    int64_t timestamp = 0;
    uint32_t tid = 0;
    uint32_t used = 0;
  };

  // Open addressing with linear probing, never more than half full. Grows up to its final size.
  struct Table {
    std::vector<Entry> slots;
    size_t count = 0;

    bool Contains(int64_t timestamp, uint32_t tid) const;
    void Insert(int64_t timestamp, uint32_t tid);
    size_t SlotOf(int64_t timestamp, uint32_t tid) const;
    void Grow();
  };

  Table current_;
  Table previous_;
};

}  // namespace etwpipe

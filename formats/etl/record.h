// Event records of an .etl buffer: stepping over them, and their headers as event rows (etl-format.md section 2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "pipeline/event.h"
#include "pipeline/guid.h"
#include "pipeline/provider_table.h"

namespace etwpipe::etl {

/// What stepping over a record needs of its header.
struct RecordProbe {
  uint16_t size = 0;  ///< bytes, without padding
  HeaderKind kind = HeaderKind::kUnknown;
  bool has_timestamp = false;
  int64_t timestamp = 0;  ///< raw ticks, if has_timestamp
};

/// Looks at the record at the start of `rest`, the unread data of a buffer. Returns an empty text if it makes sense
/// and lies inside `rest`, otherwise why it does not. Never reads outside `rest`.
std::string_view ProbeRecord(std::span<const std::byte> rest, RecordProbe& probe);

/// Turns provider GUIDs into numbers with a small cache in front of the shared table. One per thread and task.
class ProviderResolver {
 public:
  explicit ProviderResolver(ProviderTable& table) : table_(table) { groups_.fill(kUnresolved); }

  /// The number of the provider; index 0 when the table is full (see full()).
  ProviderIndex Resolve(const Guid& guid);
  /// The number of a kernel hook's provider.
  ProviderIndex ResolveHook(uint8_t group, uint8_t type);
  /// True once a GUID found no room.
  bool full() const { return full_; }

 private:
  static constexpr ProviderIndex kUnresolved = 0xFFFFFFFF;
  static constexpr size_t kCacheSlots = 64;
  struct Slot {
    Guid guid;
    ProviderIndex index = kUnresolved;
  };
  ProviderTable& table_;
  std::array<Slot, kCacheSlots> cache_;
  std::array<ProviderIndex, 33> groups_;  // one per kernel group, then the null GUID, then image loads
  bool full_ = false;
};

/// Fills every field of `row` that the record itself gives: all but instance_id, cpu and, where the record has no
/// timestamp of its own, timestamp. `record` must have passed ProbeRecord(). `default_pointer_size` (4 or 8) is that of
/// the trace, for records that do not state theirs. False if extended items or counter words overrun the record; they
/// then count as payload.
bool ParseRecord(std::span<const std::byte> record, uint32_t default_pointer_size, ProviderResolver& providers,
                 EventHeader& row);

/// Reads the provider GUID of an EVENT_HEADER, FULL or INSTANCE record.
Guid RecordGuid(std::span<const std::byte> record);

/// The component id of a WPP message without a GUID (etl-format.md 2.7); nullopt-like 0 and false if it has none.
bool MessageComponentId(const EventHeader& row, uint32_t& component_id);

}  // namespace etwpipe::etl

// Which kind each event of a block has, on which processor and when: COLUMN_KIND, COLUMN_CPU, COLUMN_TIMESTAMP
// (FORMAT.md, "Order of events").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "formats/etwp/column_set.h"
#include "formats/etwp/number_codec.h"

namespace etwpipe::etwp {

/// ColumnDirectory.prediction of COLUMN_TIMESTAMP: what the difference is to.
enum TimestampBase : uint32_t {
  kSinceEvent = 0,      ///< the event before
  kSinceCpu = 1,        ///< the event before on the processor, or else the one before
  kSinceKindOnCpu = 2,  ///< the event before of the kind on the processor, or else as kSinceCpu
};

/// What the columns say of one event.
struct OrderedEvent {
  uint64_t timestamp = 0;  ///< ticks
  uint32_t kind = 0;       ///< index into Block.kinds
  uint16_t cpu = 0;
};

/// Writes the columns: event after event, or processor after processor where the timestamps give the order back and
/// that is smaller. `events` in the order of the block, at least one; `kinds`: the numbers that their kinds have in the
/// file.
void WriteOrder(std::span<const OrderedEvent> events, std::span<const uint32_t> kinds, ColumnWriter& columns);

/// Reads them again.
class EventOrderReader {
 public:
  /// False if a column does not fit. `kinds` as above; `count` events, of which the first has that timestamp or is told
  /// from it.
  bool Read(const ColumnReader& columns, std::span<const uint32_t> kinds, size_t count, int64_t first_timestamp);
  /// In the order of the block; valid until the next call.
  std::span<const OrderedEvent> events() const { return events_; }

 private:
  bool ReadTimestamps(const ColumnReader& columns, std::span<const uint32_t> kinds, int64_t first_timestamp);

  std::vector<uint64_t> numbers_;
  std::vector<NumberCursor> timestamps_;  // per kind
  std::vector<TimestampBase> bases_;
  std::vector<OrderedEvent> events_;
  std::vector<OrderedEvent> merged_;
};

/// A processor and how many events it has.
using CpuCount = std::pair<uint16_t, uint32_t>;

/// Fills `merged` with the events of the processors, which stand in `events` one processor after another, in the order
/// of their merge times (FORMAT.md, "Order of events").
void MergeProcessors(std::span<const OrderedEvent> events, std::span<const CpuCount> counts,
                     std::vector<OrderedEvent>& merged);

}  // namespace etwpipe::etwp

// Counts events by kind: what `stats` and `info` show, and what an archive keeps of its events.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/schema/event_schema.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/batch.h"
#include "pipeline/guid.h"
#include "pipeline/trace_context.h"

namespace etwpipe::schema {

/// Counts per key, in a small open-addressing table that remembers the last entry, since records of one kind come in
/// runs. Nothing is allocated per event. Each entry keeps one record of its key, so that schemas, which may stand at
/// the end of the trace, can name it afterwards. One thread at a time.
class EventCounter {
 public:
  /// What events are told apart by, packed so that equality is three comparisons.
  struct Key {
    uint64_t low = 0;
    uint64_t high = 0;
    uint64_t metadata = 0;  ///< hash of what describes a TraceLogging event

    friend bool operator==(const Key&, const Key&) = default;
    uint64_t Hash() const {
      const uint64_t mixed = (low ^ std::rotl(high, 29) ^ metadata) * 0x9E3779B97F4A7C15u;
      return mixed ^ mixed >> 32;
    }
  };
  struct Entry {
    Key key;
    uint64_t count = 0;
    uint64_t bytes = 0;   ///< sum of record sizes
    EventHeader example;  ///< its record lies in the counter; null where there was no room
  };

  EventCounter() : slots_(kFirstSlots, 0) {}

  void Add(const Key& key, const EventHeader& row) { Add(key, 1, row.record_size, row); }
  void Add(const EventCounter& other) {
    for (const Entry& entry : other.entries_) Add(entry.key, entry.count, entry.bytes, entry.example);
  }
  /// In the order in which their keys came.
  const std::vector<Entry>& entries() const { return entries_; }
  /// Keeps its memory.
  void Clear();

 private:
  static constexpr size_t kFirstSlots = 256;

  void Add(const Key& key, uint64_t count, uint64_t bytes, const EventHeader& example) {
    if (last_ == entries_.size() || !(entries_[last_].key == key)) last_ = Place(key, example);
    entries_[last_].count += count;
    entries_[last_].bytes += bytes;
  }
  size_t Place(const Key& key, const EventHeader& example);
  EventHeader Kept(EventHeader row);
  void Grow();

  std::vector<uint32_t> slots_;  // index into entries_ plus one; 0 is free
  std::vector<Entry> entries_;
  Arena examples_;
  size_t example_bytes_ = 0;
  size_t last_ = 0;
};

/// By header, provider, id, version, opcode and TraceLogging metadata.
EventCounter::Key KindKey(const EventHeader& row);

/// Events that share header, provider, id, version, opcode and what schemas call them.
struct KindCount {
  std::string header;            ///< HeaderName(): "EVENT_HEADER64"
  std::optional<Guid> provider;  ///< none: the records carry none
  uint16_t id = 0;
  uint16_t version = 0;
  uint8_t opcode = 0;
  std::string provider_name;           ///< empty where nobody knows it
  std::string name;                    ///< empty where no schema describes them
  std::optional<SchemaOrigin> origin;  ///< who describes them; none: opaque
  uint64_t count = 0;
  uint64_t bytes = 0;  ///< sum of record sizes
};

/// The counts of a counter whose keys are KindKey()s of rows of that trace, each kind once, sorted by its fields.
/// Null `registry`: no event has a name.
std::vector<KindCount> CountsOf(const EventCounter& counter, const TraceContext& trace, const SchemaRegistry* registry);

}  // namespace etwpipe::schema

// Counts of events in groups: what `stats` and `info` show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/facts/process_table.h"
#include "formats/schema/event_counter.h"
#include "pipeline/guid.h"
#include "pipeline/source.h"

namespace etwpipe {

/// What events are counted by.
enum class CountBy : uint8_t {
  kKind,  ///< header, provider, id, opcode, version
  kName,  ///< provider_name/name; kinds without a name stay apart
  kProvider,
  kProcess,  ///< process instance, pid where no process is known
  kThread,   ///< the same and tid
};

/// One group. Fields that the grouping does not use are zero or empty.
struct EventCount {
  std::string header;  ///< "EVENT_HEADER64"; kKind, and kName without a name
  std::optional<Guid> provider;
  std::string provider_name;  ///< empty where nobody knows it
  std::string name;           ///< kKind: empty also where events of one kind have several names
  uint16_t id = 0;
  uint16_t version = 0;
  uint8_t opcode = 0;
  uint32_t pid = 0;  ///< kNoId: the records carry none
  uint32_t tid = 0;
  const facts::ProcessInstance* process = nullptr;  ///< kProcess, kThread; lives as long as the source's facts
  std::vector<schema::SchemaOrigin> origins;        ///< who described events of the row; sorted
  uint64_t count = 0;
  uint64_t bytes = 0;   ///< sum of record sizes
  uint64_t opaque = 0;  ///< events that no schema describes
};

/// Counts of a whole trace, its log-file header record among them.
struct EventCounts {
  std::vector<EventCount> rows;  ///< largest count first; ties by provider, name, id, opcode, version, header, pid, tid
  uint64_t events = 0;
  /// Raw ticks over events that have a timestamp of their own, the header record left out; none if there is none.
  std::optional<int64_t> first_time;
  std::optional<int64_t> last_time;
};

EventCount ToEventCount(const schema::KindCount& kind);
/// Adds up what the grouping does not tell apart.
std::vector<EventCount> GroupCounts(CountBy by, std::vector<EventCount> rows);

/// What the end of an archive says of its events, without reading them; nullopt if the source is no archive, or one
/// that does not say it, or if the counts are by process or thread. Damage that the archive records of its original
/// goes to `diagnostics`, which may be null.
std::optional<EventCounts> CountsFromIndex(const Source& source, CountBy by, Diagnostics* diagnostics);

}  // namespace etwpipe

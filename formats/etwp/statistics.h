// What an archive says of its events without them being read (proto/archive.proto, Statistics).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/schema/event_counter.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

struct ArchiveSummary {
  std::vector<schema::KindCount> kinds;  ///< of all events, the log-file header record among them
  std::optional<int64_t> first_time;     ///< raw ticks; of events with a timestamp of their own
  std::optional<int64_t> last_time;
};

/// Counts what goes into an archive. One thread at a time.
class StatisticsBuilder {
 public:
  /// What a batch adds; made on any thread.
  struct Part {
    schema::EventCounter counter;
    std::optional<int64_t> first_time;
    std::optional<int64_t> last_time;

    void Clear();
    void Add(const EventHeader& row);
  };

  /// Rows of `part` are rows of the trace that Build() is given.
  void Add(const Part& part);
  /// Counts the log-file header record of the trace, if it has one; it has no time of an event.
  void AddHeaderRecord(const TraceContext& trace);
  /// False, and nothing, if there are more kinds than an archive tells of.
  bool Build(const TraceContext& trace, const schema::SchemaRegistry* registry, v1::Statistics& statistics) const;

 private:
  Part total_;
};

/// nullopt if the message makes no sense.
std::optional<ArchiveSummary> ReadStatistics(const v1::Statistics& statistics);

}  // namespace etwpipe::etwp

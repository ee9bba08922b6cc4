// What a generated trace holds: counted while it is written, printed as JSON.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/etl/record_builder.h"
#include "pipeline/guid.h"
#include "tests/tracegen/bounded_list.h"
#include "tests/tracegen/code_truth.h"
#include "tests/tracegen/options.h"

namespace etwpipe::tracegen {

/// One event kind as expected/counts.json of the test data lists them.
struct KindCount {
  std::string header;            ///< "EVENT_HEADER64", ...
  std::optional<Guid> provider;  ///< none for a WPP message with only a component id
  uint32_t id = 0;
  uint32_t opcode = 0;
  uint32_t version = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;  ///< sum of the records' sizes
};

/// Ticks are raw timestamps of the records that start or stop something; none where the trace has no such record.
struct ProcessTruth {
  uint32_t pid = 0;
  uint32_t parent = 0;
  std::string image;
  bool managed = false;
  bool pointer32 = false;
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
};

struct ActivityTruth {
  std::string provider;
  std::string name;
  uint32_t pid = 0;
  uint32_t tid = 0;
  int64_t start = 0;
  std::optional<int64_t> stop;
  Guid activity;
  Guid parent;            ///< null GUID at the root
  uint64_t instance = 0;  ///< number in the etwpipe.ingest provider's events, else 0
};

/// The activity that takes the most wall-clock time of the `build` scenario, by far.
struct PlantedTruth {
  std::string name;
  uint64_t instance = 0;
  int64_t start = 0;
  int64_t stop = 0;
};

struct Truth {
  Options options;
  uint64_t file_size = 0;
  uint64_t buffers = 0;
  uint64_t compressed_buffers = 0;
  int64_t frequency = 0;
  int64_t start_ticks = 0;  ///< timestamp of the log-file header record
  int64_t start_time = 0;   ///< FILETIME
  int64_t end_time = 0;
  int64_t boot_time = 0;
  /// Over all events with a timestamp, the log-file header record not counted.
  int64_t first_timestamp = INT64_MAX;
  int64_t last_timestamp = INT64_MIN;
  std::deque<KindCount> kinds;        ///< in the order of first use; the log-file header record is one of them
  std::map<uint32_t, uint64_t> pids;  ///< events per process id in the record header, where it has one
  BoundedList<ProcessTruth> processes;
  CodeTruth code;
  BoundedList<ActivityTruth> activities;
  std::optional<PlantedTruth> planted;

  /// All records, the log-file header included.
  uint64_t events() const;
  uint64_t record_bytes() const;
  /// The row of a kind, made when new. References stay valid.
  KindCount& Kind(const KindCount& key);
};

/// The kind that records with these fields belong to (etl-format.md 2.8).
KindCount KindOf(const etl::SystemFields& fields);
KindCount KindOf(const etl::FullFields& fields);
KindCount KindOf(const etl::EventFields& fields);
KindCount KindOf(const etl::MessageFields& fields);

/// JSON text; the keys are described in README.md.
std::string ToJson(const Truth& truth);

}  // namespace etwpipe::tracegen

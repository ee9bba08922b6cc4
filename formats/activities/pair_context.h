// What the sources of activities share during one walk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/activities/activity_walk.h"
#include "formats/activities/open_table.h"
#include "formats/activities/tracker.h"
#include "formats/facts/record_fields.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/trace_context.h"

namespace etwpipe::activities {

/// Numbers for names.
class NameTable {
 public:
  uint32_t Number(std::string_view text, std::string_view module = {});
  const ActivityName& Get(uint32_t number) const { return names_[number]; }
  const std::vector<ActivityName>& all() const { return names_; }

 private:
  std::vector<ActivityName> names_;
  std::unordered_map<std::string, uint32_t> numbers_;  // of text, NUL, module
};

/// The tracker of a walk with what pairs starts and stops. One thread at a time.
class PairContext {
 public:
  /// Where the first walk collects what it finds; null in others.
  struct FirstWalk {
    std::vector<ActivityHistory::MissingStart>* missing = nullptr;
    SwitchHistoryBuilder* switches = nullptr;
  };
  /// All arguments outlive it.
  PairContext(const TraceContext& trace, const ActivityOptions& options, const ActivityHistory& history,
              ActivityTracker& tracker, const FirstWalk& first);

  const TraceContext& trace() const { return trace_; }
  const ActivityHistory& history() const { return history_; }
  ActivityTracker& tracker() { return tracker_; }
  NameTable& names() { return names_; }
  bool wants(ActivityKind kind) const { return (options_.kinds & BitOf(kind)) != 0; }
  /// Whether this is the walk that collects the history.
  bool first_walk() const { return first_.missing != nullptr; }
  /// Of the first walk; null in others.
  SwitchHistoryBuilder* switches() { return first_.switches; }

  /// The schema of an event, or null.
  const schema::EventSchema* SchemaOf(const EventHeader& row) { return lookup_.Find(row); }
  uint64_t schema_generation() const { return lookup_.generation(); }
  /// The fields of an event; null where nobody knows its schema. Until the next call.
  facts::RecordFields* FieldsOf(const EventHeader& row);

  /// An activity begins; nothing but its time will stop it.
  OpenActivity Begin(const ActivityTracker::StartArgs& args) {
    changed_ = true;
    return tracker_.Start(args);
  }
  /// An activity begins whose stop will have that key.
  OpenActivity Open(const PairKey& key, const ActivityTracker::StartArgs& args);

  struct CloseArgs {
    bool oldest = false;      ///< of several with that key; else the newest
    bool ends_inner = false;  ///< ActivityTracker::StopArgs
  };
  /// The activity of that key ends; false if none goes on.
  bool Close(const PairKey& key, const EventHeader& row, const CloseArgs& args);

  struct MissingArgs {
    uint32_t name = 0;
    ActivityKind kind = ActivityKind::kApp;
    bool nests = true;  ///< ActivityHistory::MissingStart
    bool ends_inner = false;
    std::optional<uint32_t> pid{};  ///< if it is not that of the record
    std::optional<uint32_t> tid{};
    Guid activity_id{};  ///< ActivityHistory::MissingStart
  };
  /// The record ends an activity that nobody started: it goes on since the trace began.
  void CloseMissing(const EventHeader& row, const MissingArgs& args);

  /// Start arguments that a record gives.
  static ActivityTracker::StartArgs StartOf(const EventHeader& row, uint32_t name, ActivityKind kind);

  /// Whether the event began or ended an activity, and forgets it.
  bool TakeChanged();

  OpenTable& table() { return table_; }
  OpenTable& by_activity_id() { return by_activity_id_; }

 private:
  const TraceContext& trace_;
  const ActivityOptions& options_;
  const ActivityHistory& history_;
  ActivityTracker& tracker_;
  FirstWalk first_;
  schema::SchemaRegistry no_schemas_;
  schema::SchemaLookup lookup_;
  facts::RecordFields fields_;
  NameTable names_;
  OpenTable table_;
  OpenTable by_activity_id_;
  bool changed_ = false;
};

/// One source of activities: it is given the events of some providers.
class PairSource {
 public:
  PairSource() = default;
  PairSource(const PairSource&) = delete;
  PairSource& operator=(const PairSource&) = delete;
  virtual ~PairSource() = default;
  virtual void Observe(const EventHeader& row, PairContext& context) = 0;
};

/// Tells the keys of sources apart.
enum class KeySpace : uint8_t { kApp, kAppThread, kClr, kCall, kIngest, kRule, kProcess, kThread };

/// A key of up to seven half words and bytes of a space.
inline PairKey MakeKey(KeySpace space, uint32_t number, uint32_t pid, uint32_t tid, uint64_t first = 0,
                       uint64_t second = 0) {
  return {{uint64_t{static_cast<uint8_t>(space)} << 32 | number, uint64_t{pid} << 32 | tid, first, second}};
}

std::unique_ptr<PairSource> MakeAppPairs();          ///< opcodes 1 and 2 of any provider
std::unique_ptr<PairSource> MakeClrPairs();          ///< semantics.md 5.4
std::unique_ptr<PairSource> MakeCalls();             ///< etwpipe.profiler
std::unique_ptr<PairSource> MakeIngestPairs();       ///< etwpipe.ingest
std::unique_ptr<PairSource> MakeVcperfActivities();  ///< semantics.md 4.3
std::unique_ptr<PairSource> MakeLifetimes();         ///< processes and threads; context switches and samples

}  // namespace etwpipe::activities

// What the operating system does for threads while they are in a function (semantics.md 5.3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "formats/activities/call_times.h"
#include "formats/schema/decoder.h"
#include "formats/schema/event_schema.h"
#include "pipeline/trace_context.h"

namespace etwpipe::facts {
class ThreadTable;
}

namespace etwpipe::activities {

/// Which records count as operating-system events.
enum class OsPolicy : uint8_t {
  kDefault,  ///< any switch away, disk transfers, hard page faults, reads, writes and flushes of files
  kVs,       ///< what the profiler of Visual Studio names: switches to a thread of another process, disk transfers
};
/// default, vs
const char* ToString(OsPolicy policy);
std::optional<OsPolicy> OsPolicyOf(std::string_view text);

/// What a record says of threads; kNoId: of none. A switch says two things.
struct OsEffect {
  uint32_t touched = kNoId;       ///< the system did something for it
  uint32_t switched_out = kNoId;  ///< likewise, and it runs no longer
  uint32_t switched_in = kNoId;
  void ApplyTo(CallTimes& times, int64_t time) const {
    if (touched != kNoId) times.OsEvent(touched, time);
    if (switched_out != kNoId) times.SwitchOut(switched_out, time);
    if (switched_in != kNoId) times.SwitchIn(switched_in, time);
  }
  friend bool operator==(const OsEffect&, const OsEffect&) = default;
};

struct OsEventCounts {
  uint64_t switches = 0;           ///< CSwitch records
  uint64_t disk = 0;               ///< records of disk transfers: begun and completed ones
  uint64_t files = 0;              ///< reads, writes and flushes of files, begun and completed
  uint64_t faults = 0;             ///< hard page faults
  uint64_t unattributed = 0;       ///< of these, records whose thread nobody knows, and payloads that end early
  uint64_t unknown_processes = 0;  ///< switches between threads of which one has no known process
  uint64_t forgotten = 0;          ///< requests dropped since too many were open
};

/// Reads these records, in the order of the trace. One thread at a time; `trace` outlives it.
///
/// - CSwitch: the old thread is switched out, the new one in; the idle thread has no calls. With `vs` a switch to a
///   thread of the same process is none, and the thread counts as running; where the process of one of both is unknown,
///   they count as different.
/// - DiskIo: the request (opcodes 12, 13, 15) touches the thread that makes it. The completion (10, 11, 14) is logged
///   by any thread and touches the one that issued it: IssuingThreadId, else that of the request with the same IRP.
///   Intervals between both are not touched: whoever waits is switched out, whoever goes on is not held up.
/// - FileIo: read, write, flush (67, 68, 73) touch the thread of their TTID, else of their header; so does the end of
///   such an operation (76), by its IRP.
/// - Hard fault (PageFault 32): its TThreadId, at the time of the record, which is when the page is there.
class OsEvents {
 public:
  OsEvents(const TraceContext& trace, OsPolicy policy);

  OsEffect EffectOf(const EventHeader& row) {
    const bool known =
        row.provider == thread_ || row.provider == disk_ || row.provider == file_ || row.provider == fault_;
    return known ? Read(row) : OsEffect();
  }
  const OsEventCounts& counts() const { return counts_; }

 private:
  // Where the fields of a record stand; -1: nowhere.
  struct Places {
    std::shared_ptr<const schema::EventSchema> schema;
    int tid = -1;
    int irp = -1;
  };
  using Requests = std::unordered_map<uint64_t, uint32_t>;  // by IRP: the thread

  OsEffect Read(const EventHeader& row);
  OsEffect ReadSwitch(const EventHeader& row);
  OsEffect ReadDisk(const EventHeader& row);
  OsEffect ReadFile(const EventHeader& row);
  OsEffect Touched(std::optional<uint32_t> tid);
  const Places& PlacesOf(const EventHeader& row, std::string_view tid, std::string_view irp);
  std::optional<uint64_t> Number(const EventHeader& row, const Places& places, int property);
  std::optional<uint32_t> Tid(const EventHeader& row, const Places& places);
  std::optional<uint32_t> ProcessOf(uint32_t tid, int64_t time) const;
  void Remember(Requests& requests, uint64_t irp, uint32_t tid);
  static std::optional<uint32_t> Complete(Requests& requests, std::optional<uint64_t> irp);

  const TraceContext& trace_;
  OsPolicy policy_;
  const facts::ThreadTable* threads_;  // null: unknown
  ProviderIndex thread_;
  ProviderIndex disk_;
  ProviderIndex file_;
  ProviderIndex fault_;
  std::unordered_map<uint64_t, Places> places_;  // by provider, opcode and version
  schema::DecodedFields fields_;
  Requests disk_requests_;
  Requests file_requests_;
  OsEventCounts counts_;
};

}  // namespace etwpipe::activities

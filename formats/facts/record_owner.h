// The process and thread a record is about, for records whose header does not say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "formats/schema/decoder.h"
#include "formats/schema/event_schema.h"
#include "pipeline/event.h"
#include "pipeline/trace_context.h"

namespace etwpipe::facts {

/// Who a record is attributed to, as PerfView shows it.
struct RecordOwner {
  enum class Source : uint8_t {
    kHeader,
    kPayload,    ///< the payload names the process or the thread
    kProcessor,  ///< the thread that ran on the processor of the record
  };
  uint32_t pid = kNoId;
  uint32_t tid = kNoId;  ///< kNoId where only the process is known, and the other way round
  Source source = Source::kHeader;
};

/// The rules for records of the kernel, by class, opcode and version. One thread at a time; lives no longer than the
/// facts of its trace.
class OwnerScratch {
 public:
  /// With `processors`, what neither header nor payload tell is asked of the CpuState, if the trace has one.
  OwnerScratch(const TraceContext& trace, bool processors);

 private:
  friend std::optional<RecordOwner> OwnerOf(const EventHeader& row, const TraceContext& trace, OwnerScratch& scratch);

  // Where the ids stand.
  struct Places {
    std::shared_ptr<const schema::EventSchema> schema;
    int pid = -1;  // properties; -1: none
    int tid = -1;
    bool before_header = false;  // the record is about somebody else than the one who logged it
    bool header_thread = false;  // the thread of the header acts in the process of the payload
  };
  const Places* PlacesOf(const EventHeader& row, const TraceContext& trace);
  std::optional<RecordOwner> FromPayload(const EventHeader& row, const Places& places);
  std::optional<uint32_t> Read(const EventHeader& row, const Places& places, int property);

  const class ThreadTable* threads_;
  const class CpuState* processors_;
  std::vector<ProviderIndex> providers_;         // of the rules
  std::unordered_map<uint64_t, Places> places_;  // by provider, opcode and version
  schema::DecodedFields fields_;
};

/// The owner of a record: what its payload says of records about a process or thread (starts, ends, images, samples,
/// stacks, connections, disk transfers), else its header, else its payload, else its processor. nullopt where nothing
/// tells. A tid without a pid gets that of the ThreadTable, if the trace has one. Needs `row.payload()`.
std::optional<RecordOwner> OwnerOf(const EventHeader& row, const TraceContext& trace, OwnerScratch& scratch);

}  // namespace etwpipe::facts

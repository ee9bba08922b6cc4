#include "formats/facts/kernel_threads.h"

#include <optional>

#include "formats/schema/context_records.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

// A full provider table holds no record of the class either.
constexpr ProviderIndex kNoProvider = 0xFFFFFFFF;

ProviderIndex Intern(const TraceContext& trace, std::string_view guid) {
  return trace.providers->Intern(GuidOf(guid)).value_or(kNoProvider);
}

}  // namespace

KernelThreads::KernelThreads(const TraceContext& trace)
    : perf_info_(Intern(trace, "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc")),
      thread_(Intern(trace, "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c")),
      page_fault_(Intern(trace, "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c")),
      stack_walk_(Intern(trace, schema::kStackWalkGuid)) {}

uint32_t KernelThreads::Of(const EventHeader& row) const {
  if (row.has(kHasPid)) return row.tid;
  const size_t pointer = row.pointer_size();
  std::optional<size_t> place;
  if (row.provider == perf_info_ && (row.opcode == 46 || row.opcode == 47)) place = pointer;
  if (row.provider == thread_ && row.opcode == 36) place = 0;
  if (row.provider == page_fault_ && row.opcode == 32) place = 16 + 2 * pointer;
  const auto payload = row.payload();
  if (!place || payload.size() < *place + 4) return kNoId;
  return LoadAt<uint32_t>(payload.data(), *place);
}

}  // namespace etwpipe::facts

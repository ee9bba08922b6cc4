#include "formats/activities/kernel_events.h"

#include <string_view>

#include "formats/schema/schema_registry.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::activities {
namespace {

constexpr std::string_view kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kProcess = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kPerfInfo = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
constexpr std::string_view kKernelProcess = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716";

ProviderIndex Number(const TraceContext& trace, std::string_view guid) {
  // A table that is full has none of its events.
  return trace.providers->Intern(GuidOf(guid)).value_or(ProviderTable::kMaxProviders);
}

KernelEvent ThreadClass(uint8_t opcode) {
  switch (opcode) {
    case 1: return KernelEvent::kThreadStart;
    case 2: return KernelEvent::kThreadEnd;
    case 36: return KernelEvent::kSwitch;
    default: return KernelEvent::kOther;
  }
}

KernelEvent PerfInfoClass(uint8_t opcode) {
  switch (opcode) {
    case 46: return KernelEvent::kSample;
    case 72:
    case 73: return KernelEvent::kInterval;
    default: return KernelEvent::kOther;
  }
}

KernelEvent ProcessClass(uint8_t opcode) {
  switch (opcode) {
    case 1: return KernelEvent::kProcessStart;
    case 2: return KernelEvent::kProcessEnd;
    default: return KernelEvent::kOther;
  }
}

KernelEvent ManifestClass(uint16_t id) {
  switch (id) {
    case 1: return KernelEvent::kProcessStart;
    case 2: return KernelEvent::kProcessEnd;
    case 3: return KernelEvent::kThreadStart;
    case 4: return KernelEvent::kThreadEnd;
    default: return KernelEvent::kOther;
  }
}

}  // namespace

KernelEvents::KernelEvents(const TraceContext& trace)
    : thread_(Number(trace, kThread)),
      process_(Number(trace, kProcess)),
      perf_info_(Number(trace, kPerfInfo)),
      manifest_(Number(trace, kKernelProcess)) {}

KernelEvent KernelEvents::ClassOf(const EventHeader& row) const {
  if (row.provider == manifest_) {
    return schema::SchemaRegistry::IsClassic(row.kind) ? KernelEvent::kOther : ManifestClass(row.id);
  }
  if (!schema::SchemaRegistry::IsClassic(row.kind)) return KernelEvent::kOther;
  if (row.provider == thread_) return ThreadClass(row.opcode);
  if (row.provider == perf_info_) return PerfInfoClass(row.opcode);
  if (row.provider == process_) return ProcessClass(row.opcode);
  return KernelEvent::kOther;
}

std::optional<KernelEvents::Switch> KernelEvents::SwitchOf(const EventHeader& row) {
  if (row.payload().size() < 2 * sizeof(uint32_t)) return std::nullopt;
  return Switch{LoadAt<uint32_t>(row.payload().data(), 0), LoadAt<uint32_t>(row.payload().data(), 4)};
}

}  // namespace etwpipe::activities

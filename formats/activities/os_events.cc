#include "formats/activities/os_events.h"

#include "formats/activities/kernel_events.h"
#include "formats/facts/thread_table.h"
#include "formats/schema/builtin_schemas.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/byte_reader.h"
#include "pipeline/guid.h"

namespace etwpipe::activities {
namespace {

constexpr std::string_view kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kPageFault = "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kDiskIo = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kFileIo = "90cbdc39-4a3e-11d1-84f4-0000f80464e3";

constexpr uint8_t kSwitch = 36;
constexpr uint8_t kHardFault = 32;
constexpr uint8_t kFileRead = 67, kFileWrite = 68, kFileFlush = 73, kOperationEnd = 76;

// A hostile file cannot fill the memory.
constexpr size_t kMaxRequests = 1 << 18;
constexpr size_t kMaxPlaces = 1 << 16;

ProviderIndex Number(const TraceContext& trace, std::string_view guid) {
  // A table that is full has none of its events.
  return trace.providers->Intern(GuidOf(guid)).value_or(ProviderTable::kMaxProviders);
}

}  // namespace

const char* ToString(OsPolicy policy) { return policy == OsPolicy::kVs ? "vs" : "default"; }

std::optional<OsPolicy> OsPolicyOf(std::string_view text) {
  for (const OsPolicy policy : {OsPolicy::kDefault, OsPolicy::kVs}) {
    if (text == ToString(policy)) return policy;
  }
  return std::nullopt;
}

OsEvents::OsEvents(const TraceContext& trace, OsPolicy policy)
    : trace_(trace),
      policy_(policy),
      threads_(trace.facts->Get<facts::ThreadTable>()),
      thread_(activities::Number(trace, kThread)),
      disk_(activities::Number(trace, kDiskIo)),
      file_(activities::Number(trace, kFileIo)),
      fault_(activities::Number(trace, kPageFault)) {}

OsEffect OsEvents::Read(const EventHeader& row) {
  if (!schema::SchemaRegistry::IsClassic(row.kind)) return {};
  if (row.provider == thread_) return row.opcode == kSwitch ? ReadSwitch(row) : OsEffect();
  if (row.provider == disk_) return ReadDisk(row);
  if (policy_ == OsPolicy::kVs) return {};
  if (row.provider == file_) return ReadFile(row);
  if (row.opcode != kHardFault) return {};
  ++counts_.faults;
  return Touched(Tid(row, PlacesOf(row, "TThreadId", "")));
}

OsEffect OsEvents::ReadSwitch(const EventHeader& row) {
  ++counts_.switches;
  const auto found = KernelEvents::SwitchOf(row);
  if (!found) {
    ++counts_.unattributed;
    return {};
  }
  OsEffect effect;
  // 0 is the idle thread of every processor.
  if (found->new_tid != 0) effect.switched_in = found->new_tid;
  if (found->old_tid == 0) return effect;
  if (policy_ == OsPolicy::kVs) {
    const auto from = ProcessOf(found->old_tid, row.timestamp);
    const auto to = ProcessOf(found->new_tid, row.timestamp);
    if (!from || !to) ++counts_.unknown_processes;
    if (from && from == to) return effect;
  }
  effect.switched_out = found->old_tid;
  return effect;
}

OsEffect OsEvents::ReadDisk(const EventHeader& row) {
  const bool request = row.opcode == 12 || row.opcode == 13 || row.opcode == 15;
  const bool completion = row.opcode == 10 || row.opcode == 11 || row.opcode == 14;
  if (!request && !completion) return {};
  ++counts_.disk;
  const Places& places = PlacesOf(row, "IssuingThreadId", "Irp");
  auto tid = Tid(row, places);
  const auto irp = Number(row, places, places.irp);
  if (completion) {
    const auto issuer = Complete(disk_requests_, irp);
    return Touched(tid ? tid : issuer);
  }
  if (!tid && row.has(kHasPid) && row.tid != kNoId) tid = row.tid;
  if (tid && irp) Remember(disk_requests_, *irp, *tid);
  return Touched(tid);
}

OsEffect OsEvents::ReadFile(const EventHeader& row) {
  const bool operation = row.opcode == kFileRead || row.opcode == kFileWrite || row.opcode == kFileFlush;
  if (!operation && row.opcode != kOperationEnd) return {};
  const Places& places = PlacesOf(row, "TTID", "IrpPtr");
  const auto irp = Number(row, places, places.irp);
  if (!operation) {
    // The ends of all other operations have no request here.
    const auto tid = Complete(file_requests_, irp);
    if (!tid) return {};
    ++counts_.files;
    return Touched(tid);
  }
  ++counts_.files;
  auto tid = Tid(row, places);
  if (!tid && row.has(kHasPid) && row.tid != kNoId) tid = row.tid;
  if (tid && irp) Remember(file_requests_, *irp, *tid);
  return Touched(tid);
}

OsEffect OsEvents::Touched(std::optional<uint32_t> tid) {
  if (!tid) {
    ++counts_.unattributed;
    return {};
  }
  OsEffect effect;
  if (*tid != 0) effect.touched = *tid;
  return effect;
}

const OsEvents::Places& OsEvents::PlacesOf(const EventHeader& row, std::string_view tid, std::string_view irp) {
  const uint64_t key = uint64_t{row.provider} << 32 | uint64_t{row.opcode} << 16 | row.version;
  if (places_.size() >= kMaxPlaces) places_.clear();
  const auto [known, added] = places_.try_emplace(key);
  Places& places = known->second;
  if (added) {
    const auto& schemas = schema::BuiltInSchemas(trace_.provider_guid(row));
    places.schema = schema::PickVersion(schemas, true, row.opcode, row.version);
    if (places.schema != nullptr) {
      if (!tid.empty()) places.tid = places.schema->IndexOf(tid);
      if (!irp.empty()) places.irp = places.schema->IndexOf(irp);
    }
  }
  return places;
}

std::optional<uint64_t> OsEvents::Number(const EventHeader& row, const Places& places, int property) {
  if (property < 0) return std::nullopt;
  const auto bytes =
      schema::FindValue(*places.schema, static_cast<size_t>(property), row.payload(), row.pointer_size(), fields_);
  if (!bytes) return std::nullopt;
  if (bytes->size() == sizeof(uint64_t)) return LoadAt<uint64_t>(bytes->data(), 0);
  if (bytes->size() == sizeof(uint32_t)) return LoadAt<uint32_t>(bytes->data(), 0);
  return std::nullopt;
}

std::optional<uint32_t> OsEvents::Tid(const EventHeader& row, const Places& places) {
  // Old versions hold ids as pointers.
  const auto number = Number(row, places, places.tid);
  if (!number || static_cast<uint32_t>(*number) == kNoId) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::optional<uint32_t> OsEvents::ProcessOf(uint32_t tid, int64_t time) const {
  if (tid == 0) return 0;
  const auto* thread = threads_ == nullptr ? nullptr : threads_->Find(tid, time);
  return thread == nullptr || thread->pid == kNoId ? std::nullopt : std::optional(thread->pid);
}

void OsEvents::Remember(Requests& requests, uint64_t irp, uint32_t tid) {
  if (requests.size() >= kMaxRequests) {
    counts_.forgotten += requests.size();
    requests.clear();
  }
  requests[irp] = tid;
}

std::optional<uint32_t> OsEvents::Complete(Requests& requests, std::optional<uint64_t> irp) {
  if (!irp) return std::nullopt;
  const auto found = requests.find(*irp);
  if (found == requests.end()) return std::nullopt;
  const uint32_t tid = found->second;
  requests.erase(found);
  return tid;
}

}  // namespace etwpipe::activities

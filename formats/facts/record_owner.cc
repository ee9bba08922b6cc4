#include "formats/facts/record_owner.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "formats/facts/cpu_state.h"
#include "formats/facts/thread_table.h"
#include "formats/schema/builtin_schemas.h"
#include "formats/schema/context_records.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

// Which fields of a record name its owner: those of the built-in schemas (etl-format.md section 8). Versions that lack
// a field have no such rule.
struct Rule {
  std::string_view provider;
  std::initializer_list<uint8_t> opcodes;
  std::string_view pid;
  std::string_view tid;
  bool before_header = false;
  bool header_thread = false;
};

constexpr std::string_view kProcess = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kPageFault = "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kDiskIo = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kImage = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
constexpr std::string_view kPerfInfo = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
constexpr std::string_view kTcpIp = "9a280ac0-c8e0-11d1-84e2-00c04fb998a2";
constexpr std::string_view kUdpIp = "bf3a50c5-a9c9-4988-a005-2df0b7c80f80";
constexpr std::string_view kFileIo = "90cbdc39-4a3e-11d1-84f4-0000f80464e3";
constexpr std::string_view kObject = "89497f50-effe-4440-8cf2-ce6b1cdcaca7";

// A thread that is made ready is none of the list: the record belongs to the one that made it ready.
const Rule kRules[] = {
    {kProcess, {1, 2, 3, 4, 11, 32, 33, 39}, "ProcessId", "", true},
    {kProcess, {112}, "ProcessId", "ThreadId"},
    {kThread, {1, 2, 3, 4}, "ProcessId", "TThreadId", true},
    {kThread, {72}, "ProcessId", "ThreadId", true},
    {kThread, {36}, "", "NewThreadId"},
    {kThread, {41, 48, 49, 51, 52, 53, 61, 62, 63, 66, 67, 68}, "", "ThreadId"},
    {kThread, {57}, "", "TThreadId"},
    {kImage, {10}, "ProcessId", "", true, true},
    {kImage, {2, 3, 4}, "ProcessId", "", true},
    {kPerfInfo, {46, 47}, "", "ThreadId"},
    {schema::kStackWalkGuid, {32, 37, 38}, "StackProcess", "StackThread", true},
    // A transfer ends on any thread.
    {kDiskIo, {10, 11, 14, 55, 56, 57}, "", "IssuingThreadId", true},
    {kDiskIo, {12, 13, 15, 58, 59, 60}, "", "IssuingThreadId"},
    {kPageFault, {32}, "", "TThreadId"},
    {kPageFault, {98, 99, 128, 129}, "ProcessId", ""},
    {kPageFault, {100}, "HRPid", ""},
    {kTcpIp, {10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 26, 27, 28, 29, 30, 31, 32, 34}, "PID", "", true},
    {kUdpIp, {10, 11, 26, 27}, "PID", "", true},
    {kFileIo, {37, 38, 39, 40}, "ProcessId", ""},
    {kFileIo, {64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 77, 79, 80, 81}, "", "TTID"},
    {kObject, {38, 39}, "ProcessId", ""},
};

// A hostile file cannot fill the memory.
constexpr size_t kMaxKinds = 1 << 16;

bool Has(std::initializer_list<uint8_t> opcodes, uint8_t opcode) {
  return std::find(opcodes.begin(), opcodes.end(), opcode) != opcodes.end();
}

}  // namespace

OwnerScratch::OwnerScratch(const TraceContext& trace, bool processors)
    : threads_(trace.facts->Get<ThreadTable>()), processors_(processors ? trace.facts->Get<CpuState>() : nullptr) {
  for (const Rule& rule : kRules) {
    if (const auto provider = trace.providers->Intern(GuidOf(rule.provider))) providers_.push_back(*provider);
  }
  std::sort(providers_.begin(), providers_.end());
  providers_.erase(std::unique(providers_.begin(), providers_.end()), providers_.end());
}

const OwnerScratch::Places* OwnerScratch::PlacesOf(const EventHeader& row, const TraceContext& trace) {
  if (!schema::SchemaRegistry::IsClassic(row.kind)) return nullptr;
  if (!std::binary_search(providers_.begin(), providers_.end(), row.provider)) return nullptr;
  const uint64_t key = uint64_t{row.provider} << 32 | uint64_t{row.opcode} << 16 | row.version;
  if (places_.size() == kMaxKinds) places_.clear();
  const auto [known, added] = places_.try_emplace(key);
  Places& places = known->second;
  if (added) {
    const Guid& provider = trace.provider_guid(row);
    for (const Rule& rule : kRules) {
      if (GuidOf(rule.provider) != provider || !Has(rule.opcodes, row.opcode)) continue;
      places.schema = schema::PickVersion(schema::BuiltInSchemas(provider), true, row.opcode, row.version);
      if (places.schema == nullptr) break;
      places.pid = places.schema->IndexOf(rule.pid);
      places.tid = places.schema->IndexOf(rule.tid);
      places.before_header = rule.before_header;
      places.header_thread = rule.header_thread;
    }
  }
  return places.pid >= 0 || places.tid >= 0 ? &places : nullptr;
}

std::optional<uint32_t> OwnerScratch::Read(const EventHeader& row, const Places& places, int property) {
  if (property < 0) return std::nullopt;
  const auto bytes =
      schema::FindValue(*places.schema, static_cast<size_t>(property), row.payload(), row.pointer_size(), fields_);
  // Old versions hold ids as pointers.
  if (!bytes || bytes->size() < sizeof(uint32_t)) return std::nullopt;
  const auto id = ByteReader(*bytes).Read<uint32_t>();
  return id == kNoId ? std::nullopt : std::optional(id);
}

std::optional<RecordOwner> OwnerScratch::FromPayload(const EventHeader& row, const Places& places) {
  const auto pid = Read(row, places, places.pid);
  const auto tid = Read(row, places, places.tid);
  if (!pid && !tid) return std::nullopt;
  RecordOwner owner{pid.value_or(kNoId), tid.value_or(kNoId), RecordOwner::Source::kPayload};
  if (places.header_thread && row.has(kHasPid) && row.pid == owner.pid) owner.tid = row.tid;
  return owner;
}

std::optional<RecordOwner> OwnerOf(const EventHeader& row, const TraceContext& trace, OwnerScratch& scratch) {
  const auto* places = scratch.PlacesOf(row, trace);
  const bool header = row.has(kHasPid) && row.pid != kNoId;
  std::optional<RecordOwner> owner;
  if (places != nullptr && (places->before_header || !header)) owner = scratch.FromPayload(row, *places);
  if (!owner && header) return RecordOwner{row.pid, row.tid, RecordOwner::Source::kHeader};
  if (!owner && scratch.processors_ != nullptr) {
    if (const auto tid = scratch.processors_->Find(row.cpu, row.timestamp)) {
      owner = RecordOwner{kNoId, *tid, RecordOwner::Source::kProcessor};
    }
  }
  if (owner && owner->pid == kNoId) {
    // The idle threads of all processors have the number 0.
    if (owner->tid == 0) owner->pid = 0;
    const auto* thread = scratch.threads_ == nullptr ? nullptr : scratch.threads_->Find(owner->tid, row.timestamp);
    if (thread != nullptr) owner->pid = thread->pid;
  }
  return owner;
}

}  // namespace etwpipe::facts

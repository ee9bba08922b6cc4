#include "formats/facts/thread_survey.h"

#include <array>
#include <optional>
#include <unordered_map>

#include "formats/facts/record_fields.h"
#include "formats/facts/survey_faults.h"
#include "formats/schema/builtin_schemas.h"
#include "formats/schema/context_records.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

constexpr std::string_view kThreadClass = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kKernelProcessProvider = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716";

using Kind = ThreadRecord::Kind;

// Opcodes of the class: etl-format.md 8.2.
std::optional<Kind> ClassicKind(uint8_t opcode) {
  switch (opcode) {
    case 1: return Kind::kStart;
    case 2: return Kind::kEnd;
    case 3:
    case 4: return Kind::kRundown;
    case 72: return Kind::kName;
    default: return std::nullopt;
  }
}

// Ids of Microsoft-Windows-Kernel-Process: ThreadStart, ThreadStop.
std::optional<Kind> ManifestKind(uint16_t id) {
  switch (id) {
    case 3: return Kind::kStart;
    case 4: return Kind::kEnd;
    default: return std::nullopt;
  }
}

class ThreadSurveyor final : public Surveyor {
 public:
  explicit ThreadSurveyor(const ThreadLimits& limits) : limits_(limits) {}

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!classic_) classic_ = trace.providers->Intern(GuidOf(kThreadClass));
    if (!manifest_) manifest_ = trace.providers->Intern(GuidOf(kKernelProcessProvider));
    if (!stacks_) stacks_ = trace.providers->Intern(GuidOf(schema::kStackWalkGuid));
    for (const EventHeader& row : batch.rows) {
      if (row.has(kHasPid)) Use(row, row.pid, row.tid);
      if (row.provider == classic_) {
        if (schema::SchemaRegistry::IsClassic(row.kind)) Read(row, trace, ClassicKind(row.opcode));
      } else if (row.provider == stacks_) {
        if (row.opcode == 32 || row.opcode == 37 || row.opcode == 38) UseOfStack(row);
      } else if (row.provider == manifest_) {
        if (!schema::SchemaRegistry::IsClassic(row.kind)) Read(row, trace, ManifestKind(row.id));
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    faults_.Report(diagnostics);
    const int64_t tolerance = trace.info.clock.frequency / 10;  // 100 ms
    trace.facts->Set(std::make_shared<const ThreadTable>(ThreadTable::Build(std::move(records_), tolerance)));
    return {};
  }

 private:
  void Read(const EventHeader& row, const TraceContext& trace, std::optional<Kind> kind) {
    if (!kind) return;
    if (told_ == limits_.records) return faults_.Dropped("records of threads beyond the bound");
    const auto schema = built_in_.Find({row, trace.provider_guid(row), {}, {}});
    if (schema == nullptr) return;
    fields_.Load(*schema, row);
    const auto pid = Number("ProcessId", "ProcessID");
    auto tid = Number("TThreadId", "ThreadId");
    if (!tid) tid = fields_.Number("ThreadID");
    if (!pid || !tid) return faults_.Bad("a record of a thread is too short");
    ThreadRecord& record = records_.emplace_back();
    record.kind = *kind;
    record.timestamp = row.timestamp;
    record.id = row.instance_id;
    record.tid = static_cast<uint32_t>(*tid);
    record.pid = static_cast<uint32_t>(*pid);
    record.name = fields_.Text("ThreadName");
    ++told_;
  }
  std::optional<uint64_t> Number(std::string_view name, std::string_view other) {
    const auto number = fields_.Number(name);
    return number ? number : fields_.Number(other);
  }

  void UseOfStack(const EventHeader& row) {
    ByteReader reader(row.payload());
    reader.Read<int64_t>();
    const auto pid = reader.Read<uint32_t>();
    const auto tid = reader.Read<uint32_t>();
    if (!reader.failed()) Use(row, pid, tid);
  }
  // On the way of every event: mostly one comparison.
  void Use(const EventHeader& row, uint32_t pid, uint32_t tid) {
    Seen& seen = seen_[tid / 4 % seen_.size()];
    if (seen.tid == tid && seen.pid == pid) return;
    if (pid == kNoId || tid == kNoId) return;
    seen = {tid, pid};
    const auto [known, added] = pids_.try_emplace(tid, pid);
    if (!added && known->second == pid) return;
    known->second = pid;
    if (uses_ == limits_.uses) return faults_.Dropped("uses of threads beyond the bound");
    ++uses_;
    ThreadRecord& record = records_.emplace_back();
    record.kind = Kind::kUse;
    record.timestamp = row.timestamp;
    record.id = row.instance_id;
    record.tid = tid;
    record.pid = pid;
  }

  struct Seen {
    uint32_t tid = kNoId;
    uint32_t pid = kNoId;
  };

  ThreadLimits limits_;
  SurveyFaults faults_;
  schema::BuiltInSupplier built_in_;
  RecordFields fields_;
  std::optional<ProviderIndex> classic_;
  std::optional<ProviderIndex> manifest_;
  std::optional<ProviderIndex> stacks_;
  std::vector<ThreadRecord> records_;
  size_t told_ = 0;
  size_t uses_ = 0;
  std::array<Seen, 4096> seen_;
  std::unordered_map<uint32_t, uint32_t> pids_;  // tid: pid of its last use
};

}  // namespace

std::unique_ptr<Surveyor> MakeThreadSurveyor(const ThreadLimits& limits) {
  return std::make_unique<ThreadSurveyor>(limits);
}

}  // namespace etwpipe::facts

#include "formats/facts/process_survey.h"

#include <optional>

#include "formats/facts/record_fields.h"
#include "formats/facts/survey_faults.h"
#include "formats/facts/volume_map.h"
#include "formats/schema/builtin_schemas.h"

namespace etwpipe::facts {
namespace {

constexpr std::string_view kKernelProcessClass = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kKernelProcessProvider = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716";

using Kind = ProcessRecord::Kind;

// Opcodes of the class: etl-format.md 8.1.
std::optional<Kind> ClassicKind(uint8_t opcode) {
  switch (opcode) {
    case 1: return Kind::kStart;
    case 2: return Kind::kStop;
    case 3: return Kind::kRundownStart;
    case 4: return Kind::kRundownStop;
    case 39: return Kind::kDefunct;
    default: return std::nullopt;
  }
}

// Ids of Microsoft-Windows-Kernel-Process: ProcessStart, ProcessStop, ProcessRundown.
std::optional<Kind> ManifestKind(uint16_t id) {
  switch (id) {
    case 1: return Kind::kStart;
    case 2: return Kind::kStop;
    case 15: return Kind::kRundownStart;
    default: return std::nullopt;
  }
}

class ProcessSurveyor final : public Surveyor {
 public:
  explicit ProcessSurveyor(size_t max_records) : max_records_(max_records) {}

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!classic_) classic_ = trace.providers->Intern(GuidOf(kKernelProcessClass));
    if (!manifest_) manifest_ = trace.providers->Intern(GuidOf(kKernelProcessProvider));
    for (const EventHeader& row : batch.rows) {
      if (row.provider == classic_) {
        if (schema::SchemaRegistry::IsClassic(row.kind)) Read(row, trace, ClassicKind(row.opcode));
      } else if (row.provider == manifest_) {
        if (!schema::SchemaRegistry::IsClassic(row.kind)) Read(row, trace, ManifestKind(row.id));
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    faults_.Report(diagnostics);
    const int64_t tolerance = trace.info.clock.frequency / 10;  // 100 ms
    trace.facts->Set(std::make_shared<const ProcessTable>(ProcessTable::Build(std::move(records_), tolerance)));
    return {};
  }

 private:
  void Read(const EventHeader& row, const TraceContext& trace, std::optional<Kind> kind) {
    if (!kind) return;
    if (records_.size() == max_records_) return faults_.Dropped("records of processes beyond the bound");
    const auto schema = built_in_.Find({row, trace.provider_guid(row), {}, {}});
    if (schema == nullptr) return;
    fields_.Load(*schema, row);
    auto pid = fields_.Number("ProcessId");
    if (!pid) pid = fields_.Number("ProcessID");
    if (!pid) return faults_.Bad("a record of a process is too short");
    ProcessRecord record;
    record.kind = *kind;
    record.timestamp = row.timestamp;
    record.id = row.instance_id;
    record.pid = static_cast<uint32_t>(*pid);
    for (const std::string_view name : {"ParentId", "ParentProcessID"}) {
      if (const auto parent = fields_.Number(name)) {
        record.parent = static_cast<uint32_t>(*parent);
        record.has_parent = true;
      }
    }
    record.unique_key = fields_.Number("UniqueProcessKey").value_or(0);
    record.image = fields_.Text("ImageFileName");
    if (record.image.empty()) {
      const std::string path = fields_.Text("ImageName");
      record.image = LastPart(path);
      if (record.image.size() != path.size()) record.image_path = path;
    }
    record.command_line = fields_.Text("CommandLine");
    records_.push_back(std::move(record));
  }

  size_t max_records_;
  SurveyFaults faults_;
  schema::BuiltInSupplier built_in_;
  RecordFields fields_;
  std::optional<ProviderIndex> classic_;
  std::optional<ProviderIndex> manifest_;
  std::vector<ProcessRecord> records_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeProcessSurveyor(size_t max_records) {
  return std::make_unique<ProcessSurveyor>(max_records);
}

}  // namespace etwpipe::facts

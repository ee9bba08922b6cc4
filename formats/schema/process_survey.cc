#include "formats/schema/process_survey.h"

#include <optional>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"

namespace etwpipe::schema {
namespace {

constexpr std::string_view kKernelProcessClass = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kKernelProcessProvider = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716";

// A bound for hostile files; busy machines start some thousands of processes an hour.
constexpr size_t kMaxRecords = 1 << 20;

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

std::string FileNameOf(std::string_view path) { return std::string(path.substr(path.find_last_of("\\/") + 1)); }

// Values of one event by name.
class Fields {
 public:
  Fields(const EventSchema& schema, const EventHeader& row) : schema_(schema), row_(row) {}

  /// Null value if there is no such field, or the payload ends before it.
  const Value& Get(std::string_view name) {
    value_.kind = ValueKind::kNull;
    const int index = schema_.IndexOf(name);
    if (index < 0) return value_;
    const auto place = static_cast<size_t>(index);
    const auto bytes = FindValue(schema_, place, row_.payload(), row_.pointer_size(), scratch_);
    if (bytes) ReadValue(schema_.properties[place], *bytes, value_);
    return value_;
  }
  std::optional<uint64_t> Number(std::string_view name) {
    const Value& value = Get(name);
    return value.kind == ValueKind::kNull ? std::nullopt : std::optional(value.bits);
  }
  std::string Text(std::string_view name) {
    const Value& value = Get(name);
    return value.kind == ValueKind::kText ? value.text : std::string();
  }

 private:
  const EventSchema& schema_;
  const EventHeader& row_;
  DecodedFields scratch_;
  Value value_;
};

class ProcessSurveyor final : public Surveyor {
 public:
  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!classic_) classic_ = trace.providers->Intern(GuidOf(kKernelProcessClass));
    if (!manifest_) manifest_ = trace.providers->Intern(GuidOf(kKernelProcessProvider));
    for (const EventHeader& row : batch.rows) {
      if (row.provider == classic_) {
        if (SchemaRegistry::IsClassic(row.kind)) Read(row, trace, ClassicKind(row.opcode));
      } else if (row.provider == manifest_) {
        if (!SchemaRegistry::IsClassic(row.kind)) Read(row, trace, ManifestKind(row.id));
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics*) override {
    const int64_t tolerance = trace.info.clock.frequency / 10;  // 100 ms
    trace.facts->Set(std::make_shared<const ProcessTable>(ProcessTable::Build(std::move(records_), tolerance)));
    return {};
  }

 private:
  void Read(const EventHeader& row, const TraceContext& trace, std::optional<Kind> kind) {
    if (!kind || records_.size() == kMaxRecords) return;
    const auto schema = built_in_.Find({row, trace.provider_guid(row), {}, {}});
    if (schema == nullptr) return;
    Fields fields(*schema, row);
    auto pid = fields.Number("ProcessId");
    if (!pid) pid = fields.Number("ProcessID");
    if (!pid) return;
    ProcessRecord record;
    record.kind = *kind;
    record.timestamp = row.timestamp;
    record.id = row.instance_id;
    record.pid = static_cast<uint32_t>(*pid);
    for (const std::string_view name : {"ParentId", "ParentProcessID"}) {
      if (const auto parent = fields.Number(name)) {
        record.parent = static_cast<uint32_t>(*parent);
        record.has_parent = true;
      }
    }
    record.unique_key = fields.Number("UniqueProcessKey").value_or(0);
    record.image = fields.Text("ImageFileName");
    if (record.image.empty()) record.image = FileNameOf(fields.Text("ImageName"));
    record.command_line = fields.Text("CommandLine");
    records_.push_back(std::move(record));
  }

  BuiltInSupplier built_in_;
  std::optional<ProviderIndex> classic_;
  std::optional<ProviderIndex> manifest_;
  std::vector<ProcessRecord> records_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeProcessSurveyor() { return std::make_unique<ProcessSurveyor>(); }

}  // namespace etwpipe::schema

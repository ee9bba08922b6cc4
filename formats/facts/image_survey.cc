#include "formats/facts/image_survey.h"

#include <optional>
#include <utility>

#include "formats/facts/record_fields.h"
#include "formats/facts/survey_faults.h"
#include "formats/schema/builtin_schemas.h"

namespace etwpipe::facts {
namespace {

constexpr std::string_view kImageClass = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
constexpr std::string_view kKernelProcessProvider = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716";
constexpr std::string_view kImageIdClass = "b3e675d7-2554-4f18-830b-2762732560de";
constexpr std::string_view kSystemConfigEx = "9b79ee91-b5fd-41c0-a243-4248e266e9d0";

constexpr uint8_t kPdb = 36;
constexpr uint8_t kIlPdb = 37;
constexpr uint8_t kSystemPaths = 33;
constexpr uint8_t kVolumeMapping = 35;

using Kind = ImageRecord::Kind;

// Opcodes of the class: etl-format.md 8.3.
std::optional<Kind> ClassicKind(uint8_t opcode) {
  switch (opcode) {
    case 10: return Kind::kLoad;
    case 2: return Kind::kUnload;
    case 3:
    case 4: return Kind::kRundown;
    default: return std::nullopt;
  }
}

// Ids of Microsoft-Windows-Kernel-Process: ImageLoad, ImageUnload.
std::optional<Kind> ManifestKind(uint16_t id) {
  switch (id) {
    case 5: return Kind::kLoad;
    case 6: return Kind::kUnload;
    default: return std::nullopt;
  }
}

class ImageSurveyor final : public Surveyor {
 public:
  explicit ImageSurveyor(const ImageLimits& limits) : limits_(limits) {}

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!providers_) {
      providers_ = {trace.providers->Intern(GuidOf(kImageClass)),
                    trace.providers->Intern(GuidOf(kKernelProcessProvider)),
                    trace.providers->Intern(GuidOf(kImageIdClass)), trace.providers->Intern(GuidOf(kSystemConfigEx))};
    }
    for (const EventHeader& row : batch.rows) {
      const bool classic = schema::SchemaRegistry::IsClassic(row.kind);
      if (row.provider == providers_->image) {
        if (classic) ReadImage(row, trace, ClassicKind(row.opcode));
      } else if (row.provider == providers_->image_id) {
        if (classic && (row.opcode == kPdb || row.opcode == kIlPdb)) ReadPdb(row, trace);
      } else if (row.provider == providers_->kernel_process) {
        if (!classic) ReadImage(row, trace, ManifestKind(row.id));
      } else if (row.provider == providers_->system_config) {
        if (classic && (row.opcode == kSystemPaths || row.opcode == kVolumeMapping)) ReadPath(row, trace);
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    faults_.Report(diagnostics);
    args_.processes = trace.facts->Get<ProcessTable>();
    args_.pointer_size = trace.info.pointer_size;
    args_.tolerance = trace.info.clock.frequency / 10;  // 100 ms
    auto images = std::make_shared<const ImageTable>(ImageTable::Build(std::move(args_)));
    if (const auto* processes = trace.facts->Get<ProcessTable>()) {
      trace.facts->Set(std::make_shared<const ProcessTable>(WithImagePaths(*processes, *images)));
    }
    trace.facts->Set(std::move(images));
    return {};
  }

 private:
  struct Providers {
    std::optional<ProviderIndex> image;
    std::optional<ProviderIndex> kernel_process;
    std::optional<ProviderIndex> image_id;
    std::optional<ProviderIndex> system_config;
  };

  bool Load(const EventHeader& row, const TraceContext& trace) {
    schema_ = built_in_.Find({row, trace.provider_guid(row), {}, {}});
    if (schema_ == nullptr) return false;
    fields_.Load(*schema_, row);
    return true;
  }
  std::optional<uint64_t> Number(std::string_view name, std::string_view other) {
    const auto number = fields_.Number(name);
    return number ? number : fields_.Number(other);
  }
  // Names beyond the bound are left empty.
  std::string_view Name(const std::string& name) {
    if (args_.names.bytes() <= limits_.name_bytes) return args_.names.Intern(name);
    faults_.Dropped("names of images beyond the bound");
    return {};
  }

  void ReadImage(const EventHeader& row, const TraceContext& trace, std::optional<Kind> kind) {
    if (!kind || !Load(row, trace)) return;
    if (args_.records.size() == limits_.records) return faults_.Dropped("records of images beyond the bound");
    const auto base = Number("ImageBase", "BaseAddress");
    const auto size = Number("ImageSize", "ModuleSize");
    if (!base || !size) return faults_.Bad("a record of an image is too short");
    auto pid = Number("ProcessId", "ProcessID");
    if (!pid && row.has(kHasPid)) pid = row.pid;
    if (!pid) return faults_.Bad("a record of an image names no process");
    std::string name = fields_.Text("FileName");
    if (name.empty()) name = fields_.Text("ImageName");
    if (name.empty()) name = fields_.Text("ImageFileName");
    ImageRecord& record = args_.records.emplace_back();
    record.kind = *kind;
    record.timestamp = row.timestamp;
    record.id = row.instance_id;
    record.pid = static_cast<uint32_t>(*pid);
    record.time_date_stamp = static_cast<uint32_t>(fields_.Number("TimeDateStamp").value_or(0));
    record.base = *base;
    record.size = *size;
    record.file_name = Name(name);
  }

  void ReadPdb(const EventHeader& row, const TraceContext& trace) {
    if (!Load(row, trace)) return;
    if (args_.pdbs.size() == limits_.records) return faults_.Dropped("records of symbol files beyond the bound");
    const auto base = fields_.Number("ImageBase");
    const auto pid = fields_.Number("ProcessId");
    const auto guid = fields_.Identity("GuidSig");
    const auto age = fields_.Number("Age");
    if (!base || !pid || !guid || !age) return faults_.Bad("a record of a symbol file is too short");
    PdbRecord& record = args_.pdbs.emplace_back();
    record.timestamp = row.timestamp;
    record.pid = static_cast<uint32_t>(*pid);
    record.base = *base;
    record.pdb = {*guid, static_cast<uint32_t>(*age), Name(fields_.Text("PdbFileName")), row.opcode == kIlPdb};
  }

  void ReadPath(const EventHeader& row, const TraceContext& trace) {
    if (!Load(row, trace)) return;
    if (row.opcode == kVolumeMapping) {
      const std::string nt_path = fields_.Text("NtPath");
      const std::string dos_path = fields_.Text("DosPath");
      if (nt_path.empty()) return faults_.Bad("a record of a volume is too short");
      if (!args_.volumes.Add(nt_path, dos_path)) faults_.Dropped("records of volumes beyond the bound");
    } else {
      args_.volumes.SetWindowsFolder(fields_.Text("SystemWindowsDirectory"));
    }
  }

  ImageLimits limits_;
  SurveyFaults faults_;
  schema::BuiltInSupplier built_in_;
  std::shared_ptr<const schema::EventSchema> schema_;
  RecordFields fields_;
  std::optional<Providers> providers_;
  ImageTable::BuildArgs args_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeImageSurveyor(const ImageLimits& limits) {
  return std::make_unique<ImageSurveyor>(limits);
}

}  // namespace etwpipe::facts

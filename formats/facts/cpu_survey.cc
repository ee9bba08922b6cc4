#include "formats/facts/cpu_survey.h"

#include <optional>

#include "formats/facts/survey_faults.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

constexpr std::string_view kThreadClass = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr uint8_t kCSwitch = 36;

class CpuSurveyor final : public Surveyor {
 public:
  explicit CpuSurveyor(size_t max_switches) : state_(std::make_shared<CpuState>(max_switches)) {}

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!threads_) threads_ = trace.providers->Intern(GuidOf(kThreadClass));
    for (const EventHeader& row : batch.rows) {
      if (row.provider != threads_ || row.opcode != kCSwitch) continue;
      if (!schema::SchemaRegistry::IsClassic(row.kind)) continue;
      // The first two fields of every version.
      ByteReader reader(row.payload());
      const auto new_tid = reader.Read<uint32_t>();
      const auto old_tid = reader.Read<uint32_t>();
      if (reader.failed()) {
        faults_.Bad("a context switch is too short");
      } else if (!state_->Add(row.cpu, row.timestamp, old_tid, new_tid)) {
        faults_.Dropped("context switches beyond the bound");
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    faults_.Report(diagnostics);
    state_->Finish();
    trace.facts->Set(std::shared_ptr<const CpuState>(std::move(state_)));
    return {};
  }

 private:
  std::optional<ProviderIndex> threads_;
  std::shared_ptr<CpuState> state_;
  SurveyFaults faults_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeCpuSurveyor(size_t max_switches) { return std::make_unique<CpuSurveyor>(max_switches); }

}  // namespace etwpipe::facts

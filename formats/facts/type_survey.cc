#include "formats/facts/type_survey.h"

#include <optional>

#include "formats/facts/survey_faults.h"
#include "formats/schema/builtin_schemas.h"
#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"

namespace etwpipe::facts {
namespace {

constexpr std::string_view kRuntime = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
constexpr uint16_t kBulkType = 15;

class TypeSurveyor final : public Surveyor {
 public:
  explicit TypeSurveyor(const TypeLimits& limits) : limits_(limits) {}

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!runtime_) runtime_ = trace.providers->Intern(GuidOf(kRuntime));
    for (const EventHeader& row : batch.rows) {
      if (row.id == kBulkType && row.provider == runtime_ && row.has(kHasPid)) Read(row, trace);
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    faults_.Report(diagnostics);
    trace.facts->Set(std::make_shared<const TypeTable>(TypeTable::Build(std::move(records_))));
    return {};
  }

 private:
  // Values is an array of structs, each with a TypeID before its Name.
  void Read(const EventHeader& row, const TraceContext& trace) {
    const auto schema = built_in_.Find({row, trace.provider_guid(row), {}, {}});
    if (schema == nullptr) return;
    schema::Decode(*schema, row.payload(), row.pointer_size(), fields_);
    uint64_t type_id = 0;
    for (const schema::Token& token : fields_.tokens) {
      if (token.kind != schema::TokenKind::kValue) continue;
      const schema::Property& property = schema->properties[token.property];
      const bool is_id = property.name == "TypeID";
      if (!is_id && property.name != "Name") continue;
      schema::ReadValue(property, row.payload().subspan(token.offset, token.size), value_);
      if (is_id) {
        type_id = value_.bits;
      } else if (value_.text.empty()) {
        continue;
      } else if (records_.size() >= limits_.records || bytes_ >= limits_.bytes) {
        faults_.Dropped("names of types beyond the bound");
      } else {
        bytes_ += value_.text.size();
        records_.push_back({row.pid, type_id, row.timestamp, value_.text});
      }
    }
  }

  TypeLimits limits_;
  SurveyFaults faults_;
  schema::BuiltInSupplier built_in_;
  std::optional<ProviderIndex> runtime_;
  schema::DecodedFields fields_;
  schema::Value value_;
  std::vector<TypeRecord> records_;
  size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Surveyor> MakeTypeSurveyor(const TypeLimits& limits) { return std::make_unique<TypeSurveyor>(limits); }

}  // namespace etwpipe::facts

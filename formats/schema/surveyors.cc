#include "formats/schema/surveyors.h"

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/listed_schemas.h"
#include "formats/schema/process_survey.h"
#include "formats/schema/schema_registry.h"
#include "formats/schema/schema_text.h"

namespace etwpipe::schema {
namespace {

class SchemaSurveyor final : public Surveyor {
 public:
  Status Observe(const EventBatch&, const TraceContext&) override { return {}; }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    auto embedded = std::make_shared<ListedSchemas>();
    for (const auto& text : trace.info.embedded_schemas) {
      const auto parsed = ParseSchemaText(text, "embedded schemas", SchemaOrigin::kEmbedded);
      if (!parsed.ok()) {
        if (diagnostics != nullptr) diagnostics->Add(DiagnosticId::kSchemaBad, {}, parsed.status().message());
        continue;
      }
      for (const auto& schema : *parsed) embedded->Add(schema);
    }
    auto registry = std::make_shared<SchemaRegistry>();
    registry->Add(embedded);
    registry->Add(std::make_shared<BuiltInSupplier>());
    trace.facts->Set(std::shared_ptr<const SchemaRegistry>(std::move(registry)));
    return {};
  }
};

}  // namespace

Result<SurveyorFactory> MakeSurveyorFactory(const SchemaSources&) {
  return SurveyorFactory([](FactSet facts) {
    std::vector<std::unique_ptr<Surveyor>> surveyors;
    if ((facts & kSchemas) != 0) surveyors.push_back(std::make_unique<SchemaSurveyor>());
    if ((facts & kProcesses) != 0) surveyors.push_back(MakeProcessSurveyor());
    return surveyors;
  });
}

}  // namespace etwpipe::schema

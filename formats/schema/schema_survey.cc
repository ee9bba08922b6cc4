#include "formats/schema/schema_survey.h"

#include <optional>
#include <utility>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/clr_supplier.h"
#include "formats/schema/context_records.h"
#include "formats/schema/event_info.h"
#include "formats/schema/event_source_manifests.h"
#include "formats/schema/schema_text.h"
#include "formats/schema/tracelogging.h"

namespace etwpipe::schema {
namespace {

std::shared_ptr<const ListedSchemas> ListOf(const std::vector<std::shared_ptr<const EventSchema>>& schemas) {
  auto list = std::make_shared<ListedSchemas>();
  for (const auto& schema : schemas) list->Add(schema);
  return list;
}

class SchemaSurveyor final : public Surveyor {
 public:
  SchemaSurveyor(std::shared_ptr<const ListedSchemas> files, ClrIds clr_ids)
      : files_(std::move(files)), clr_ids_(clr_ids) {}

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!metadata_provider_) metadata_provider_ = trace.providers->Intern(GuidOf(kMetaDataGuid));
    for (const EventHeader& row : batch.rows) {
      if (row.id == kEventSourceManifestId) {
        manifests_.Add(row, trace.provider_guid(row));
      } else if (row.provider == metadata_provider_) {
        if (row.opcode == kEventInfoOpcode) event_info_.AddEvent(row.payload());
        if (row.opcode == kEventMapInfoOpcode) event_info_.AddMap(row.payload());
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    std::vector<std::string> problems;
    auto registry = std::make_shared<SchemaRegistry>();
    registry->Add(std::make_shared<TraceLoggingSupplier>());
    registry->Add(ListOf(manifests_.Finish(problems)));
    registry->Add(std::make_shared<ClrSupplier>(clr_ids_));
    registry->Add(ListOf(event_info_.Finish(problems)));
    registry->Add(Embedded(trace, problems));
    registry->Add(files_);
    registry->Add(std::make_shared<BuiltInSupplier>());
    for (const auto& problem : problems) {
      if (diagnostics != nullptr) diagnostics->Add(DiagnosticId::kSchemaBad, {}, problem);
    }
    trace.facts->Set(std::shared_ptr<const SchemaRegistry>(std::move(registry)));
    return {};
  }

 private:
  static std::shared_ptr<const ListedSchemas> Embedded(const TraceContext& trace, std::vector<std::string>& problems) {
    auto list = std::make_shared<ListedSchemas>();
    for (const auto& text : trace.info.embedded_schemas) {
      const auto parsed = ParseSchemaText(text, "embedded schemas", SchemaOrigin::kEmbedded);
      if (!parsed.ok()) {
        problems.emplace_back(parsed.status().message());
        continue;
      }
      for (const auto& schema : *parsed) list->Add(schema);
    }
    return list;
  }

  std::shared_ptr<const ListedSchemas> files_;
  ClrIds clr_ids_;
  std::optional<ProviderIndex> metadata_provider_;
  EventSourceManifests manifests_;
  EventInfoCollector event_info_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeSchemaSurveyor(std::shared_ptr<const ListedSchemas> files, ClrIds clr_ids) {
  return std::make_unique<SchemaSurveyor>(std::move(files), clr_ids);
}

}  // namespace etwpipe::schema

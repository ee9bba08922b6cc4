#include "tools/schema_recorder.h"

#include <vector>

#include "formats/schema/schema_text.h"

namespace etwpipe {
namespace {

bool IsWorthKeeping(schema::SchemaOrigin origin) {
  return origin == schema::SchemaOrigin::kEventSource || origin == schema::SchemaOrigin::kEventInfo ||
         origin == schema::SchemaOrigin::kManifestFile;
}

}  // namespace

SchemaRecorder::SchemaRecorder() {
  info_.name = "embed-schemas";
  info_.summary = "collects the schemas of the events that reach the output";
  info_.needs = StageNeeds::kPayload;
  info_.facts = kSchemas;
}

Status SchemaRecorder::Process(const ProcessArgs& args) const {
  const auto* registry = args.trace.facts->Get<schema::SchemaRegistry>();
  if (registry == nullptr) return {};
  auto lookup = lookups_.Take([&] { return std::make_unique<schema::SchemaLookup>(*registry, args.trace); });
  std::map<const schema::EventSchema*, std::shared_ptr<const schema::EventSchema>> used;
  const schema::EventSchema* last = nullptr;
  for (const uint16_t index : args.batch.selection) {
    const auto schema = lookup->FindShared(args.batch.rows[index]);
    if (schema.get() == last) continue;
    last = schema.get();
    if (schema != nullptr && IsWorthKeeping(schema->origin)) used.emplace(last, schema);
  }
  lookups_.Give(std::move(lookup));
  const std::lock_guard lock(mutex_);
  used_.merge(used);
  return {};
}

std::string SchemaRecorder::Text() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const schema::EventSchema>> schemas;
  for (const auto& [address, schema] : used_) schemas.push_back(schema);
  return schemas.empty() ? std::string() : schema::PrintSchemaText(schemas);
}

}  // namespace etwpipe

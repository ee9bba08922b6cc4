#include "formats/schema/listed_schemas.h"

namespace etwpipe::schema {

void ListedSchemas::Add(std::shared_ptr<const EventSchema> schema) {
  const EventKey& key = schema->key;
  schemas_[Key(schema->provider->guid, key.classic, key.number, key.first_version)] = std::move(schema);
}

std::vector<std::shared_ptr<const EventSchema>> ListedSchemas::All() const {
  std::vector<std::shared_ptr<const EventSchema>> all;
  for (const auto& [key, schema] : schemas_) all.push_back(schema);
  return all;
}

std::shared_ptr<const EventSchema> ListedSchemas::Find(const SchemaRequest& request) const {
  const bool classic = SchemaRegistry::IsClassic(request.row.kind);
  const uint16_t number = classic ? request.row.opcode : request.row.id;
  const uint16_t version = request.row.version;
  // The last one that begins at or below the version.
  auto place = schemas_.upper_bound(Key(request.provider, classic, number, version));
  if (place == schemas_.begin()) return nullptr;
  --place;
  const auto& [key, schema] = *place;
  const bool same = std::get<0>(key) == request.provider && std::get<1>(key) == classic && std::get<2>(key) == number;
  return same && version <= schema->key.last_version ? schema : nullptr;
}

}  // namespace etwpipe::schema

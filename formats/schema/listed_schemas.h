// Schemas found by (provider, id or opcode, version): those of manifests, merged traces and earlier runs.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "formats/schema/schema_registry.h"

namespace etwpipe::schema {

/// A supplier that answers from a list. Versions must match. Filled before the first Find().
class ListedSchemas final : public SchemaSupplier {
 public:
  /// Adds a schema; it takes the place of one with the same provider, number and first version.
  void Add(std::shared_ptr<const EventSchema> schema);
  bool empty() const { return schemas_.empty(); }
  size_t size() const { return schemas_.size(); }
  /// All schemas by provider, number and version.
  std::vector<std::shared_ptr<const EventSchema>> All() const;

  std::shared_ptr<const EventSchema> Find(const SchemaRequest& request) const override;

 private:
  using Key = std::tuple<Guid, bool, uint16_t, uint16_t>;  // provider, classic, number, first version
  std::map<Key, std::shared_ptr<const EventSchema>> schemas_;
};

}  // namespace etwpipe::schema

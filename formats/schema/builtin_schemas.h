// The schemas that come with the program: builtin/*.schema, compiled in.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "formats/schema/schema_registry.h"

namespace etwpipe::schema {

/// One file of builtin/.
struct BuiltInFile {
  std::string_view name;  ///< Process.schema
  std::string_view text;
};
/// All files, by name. The views live for ever.
const std::vector<BuiltInFile>& BuiltInFiles();

/// Schemas of one provider, in the order of their file; empty if no file has it. Parsed when first asked for.
const std::vector<std::shared_ptr<const EventSchema>>& BuiltInSchemas(const Guid& provider);

/// GUIDs of all providers that have built-in schemas, in the order of the files.
const std::vector<Guid>& BuiltInProviders();

/// Answers from the built-in schemas. A version newer than any known one gets the schema of the newest: new versions
/// append fields (etl-format.md section 8), and what the schema does not cover shows as left-over bytes.
class BuiltInSupplier final : public SchemaSupplier {
 public:
  std::shared_ptr<const EventSchema> Find(const SchemaRequest& request) const override;
};

/// The schema for an event of a list: version in range, else the newest one below. Null if the number is unknown.
std::shared_ptr<const EventSchema> PickVersion(const std::vector<std::shared_ptr<const EventSchema>>& schemas,
                                               bool classic, uint16_t number, uint16_t version);

}  // namespace etwpipe::schema

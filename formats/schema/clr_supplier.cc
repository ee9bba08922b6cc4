#include "formats/schema/clr_supplier.h"

#include <algorithm>
#include <array>

#include "formats/schema/builtin_schemas.h"

namespace etwpipe::schema {
namespace {

// semantics.md 6.1: runtime, rundown, private, stress.
bool IsClrProvider(const Guid& provider) {
  static const std::array<Guid, 4> kProviders = {
      GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"), GuidOf("a669021c-c450-4609-a035-5af59af4df18"),
      GuidOf("763fd754-7086-4dfe-95eb-c01a46faf4ca"), GuidOf("cc2bcbba-16b6-4cf3-8990-d74c2e8af500")};
  return std::find(kProviders.begin(), kProviders.end(), provider) != kProviders.end();
}

}  // namespace

std::shared_ptr<const EventSchema> ClrSupplier::Find(const SchemaRequest& request) const {
  if (!IsClrProvider(request.provider)) return nullptr;
  if (auto alias = FindClrAlias(request, ids_)) return alias;
  const bool classic = SchemaRegistry::IsClassic(request.row.kind);
  auto schema = PickVersion(BuiltInSchemas(request.provider), classic, classic ? request.row.opcode : request.row.id,
                            request.row.version);
  const bool exact = schema != nullptr && request.row.version <= schema->key.last_version;
  return exact ? schema : nullptr;
}

bool ClrSupplier::DependsOnPayload(const SchemaRequest& request) const {
  return ids_ != ClrIds::kStrict && MayBeClrAlias(request.provider, request.row.id);
}

}  // namespace etwpipe::schema

// Event ids of the common language runtime that its documentation gives differently from the manifest
// (semantics.md 6.3). Real runtimes write the manifest's ids; traces made after the documentation have the others.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "formats/schema/schema_registry.h"

namespace etwpipe::schema {

/// How far the documentation's ids are believed.
enum class ClrIds : uint8_t {
  kStrict,   ///< not at all
  kSafe,     ///< where the manifest has nothing, or the record cannot be what the manifest has; the default
  kLenient,  ///< also where only the shape of the payload tells the two apart
};

/// What becomes of a documented id.
enum class ClrAliasRule : uint8_t {
  kSame,     ///< it is the manifest's id
  kSafe,     ///< understood from ClrIds::kSafe on
  kLenient,  ///< understood with ClrIds::kLenient
  kNever,    ///< the manifest has another event of the same layout there: nothing could tell them apart
};

/// One documented id on one provider.
struct ClrAlias {
  std::string_view event;  ///< name in the documentation: MethodLoad_V1
  Guid provider;           ///< of the records
  uint16_t id = 0;         ///< in the documentation
  Guid manifest_provider;
  uint16_t manifest_id = 0;
  uint8_t opcode = 0;         ///< that the record must have
  bool opcode_known = false;  ///< whether a record with opcode 0 is refused too
  uint8_t last_version = 0;   ///< versions 1 .. last_version are understood
  ClrAliasRule rule = ClrAliasRule::kNever;
  std::string_view reason;  ///< for people: what the manifest has under the documented id
};

/// The whole table, in the order of semantics.md 6.3. Lives for ever.
const std::vector<ClrAlias>& ClrAliases();

/// Whether FindClrAlias() can have an answer for events of that provider and id. The answer depends on opcode, version
/// and payload, so whoever remembers schemas by kind must ask again for each such event. A few comparisons.
bool MayBeClrAlias(const Guid& provider, uint16_t id);

/// The manifest's schema for a record that bears a documented id: the opcode must fit and the layout of the record's
/// version must take the payload to its last byte. Null where the id is the manifest's own, or `ids` does not allow it.
/// To be asked before the built-in schemas, which would take a new version of another event for it.
std::shared_ptr<const EventSchema> FindClrAlias(const SchemaRequest& request, ClrIds ids);

}  // namespace etwpipe::schema

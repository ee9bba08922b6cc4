#include "formats/schema/clr_aliases.h"

#include <algorithm>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/decoder.h"

namespace etwpipe::schema {
namespace {

std::vector<ClrAlias> MakeTable() {
  const Guid runtime = GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
  const Guid rundown = GuidOf("a669021c-c450-4609-a035-5af59af4df18");
  using enum ClrAliasRule;
  // A V1 or V2 record is neither of the CLR 2.0 events that the runtime provider has at 136 to 138: those are V0.
  return {
      {"MethodLoad_V1", runtime, 136, runtime, 141, 33, false, 2, kSafe, "DCEndCompleteV2 of CLR 2.0, without payload"},
      {"MethodUnLoad_V1", runtime, 137, runtime, 142, 34, true, 2, kSafe,
       "MethodDCStartV2 of CLR 2.0; the documentation gives 137 to MethodDCStart_V1 as well"},
      {"MethodDCStart_V1", rundown, 137, rundown, 141, 35, false, 2, kSafe, "nothing"},
      {"MethodDCStart_V1", runtime, 137, rundown, 141, 35, true, 2, kSafe,
       "MethodDCStartV2 of CLR 2.0; the documentation gives 137 to MethodUnLoad_V1 as well"},
      {"MethodDCEnd_V1", rundown, 138, rundown, 142, 36, false, 2, kSafe, "nothing"},
      {"MethodDCEnd_V1", runtime, 138, rundown, 142, 36, false, 2, kSafe, "MethodDCEndV2 of CLR 2.0"},
      {"MethodLoadVerbose_V1", runtime, 143, runtime, 143, 37, false, 2, kSame, ""},
      {"MethodUnLoadVerbose_V1", runtime, 144, runtime, 144, 38, false, 2, kSame, ""},
      {"MethodDCStartVerbose_V1", rundown, 141, rundown, 143, 39, false, 1, kLenient, "MethodDCStart, 38 bytes"},
      {"MethodDCEndVerbose_V1", rundown, 142, rundown, 144, 40, false, 1, kLenient, "MethodDCEnd, 38 bytes"},
      {"DCStartInit_V1", rundown, 147, rundown, 147, 16, false, 1, kSame, ""},
      {"DCStartComplete_V1", rundown, 147, rundown, 145, 14, false, 1, kNever, "DCStartInit, of the same layout"},
      {"DCEndInit_V1", rundown, 145, rundown, 148, 17, false, 1, kNever, "DCStartComplete, of the same layout"},
      {"DCEndComplete_V1", rundown, 148, rundown, 146, 15, false, 1, kNever, "DCEndInit, of the same layout"},
      {"MethodJittingStarted", runtime, 145, runtime, 145, 42, false, 1, kSame, ""},
  };
}

bool IsAlias(const ClrAlias& alias) {
  return alias.rule == ClrAliasRule::kSafe || alias.rule == ClrAliasRule::kLenient;
}

bool Allows(ClrIds ids, ClrAliasRule rule) {
  return (rule == ClrAliasRule::kSafe && ids != ClrIds::kStrict) ||
         (rule == ClrAliasRule::kLenient && ids == ClrIds::kLenient);
}

}  // namespace

const std::vector<ClrAlias>& ClrAliases() {
  static const std::vector<ClrAlias> kTable = MakeTable();
  return kTable;
}

bool MayBeClrAlias(const Guid& provider, uint16_t id) {
  const auto& table = ClrAliases();
  return std::any_of(table.begin(), table.end(), [&](const ClrAlias& alias) {
    return alias.id == id && IsAlias(alias) && alias.provider == provider;
  });
}

std::shared_ptr<const EventSchema> FindClrAlias(const SchemaRequest& request, ClrIds ids) {
  const EventHeader& row = request.row;
  if (SchemaRegistry::IsClassic(row.kind) || row.version == 0) return nullptr;
  for (const ClrAlias& alias : ClrAliases()) {
    if (alias.id != row.id || !Allows(ids, alias.rule) || alias.provider != request.provider) continue;
    if (row.version > alias.last_version) continue;
    if (row.opcode != alias.opcode && (row.opcode != 0 || alias.opcode_known)) continue;
    auto schema = PickVersion(BuiltInSchemas(alias.manifest_provider), false, alias.manifest_id, row.version);
    DecodedFields fields;
    if (schema != nullptr && Decode(*schema, row.payload(), row.pointer_size(), fields) == DecodeOutcome::kComplete) {
      return schema;
    }
  }
  return nullptr;
}

}  // namespace etwpipe::schema

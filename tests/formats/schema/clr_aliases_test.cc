// The documentation's ids (semantics.md 6.3): each rule at its boundaries of opcode, version and payload.
#include "formats/schema/clr_aliases.h"

#include <gtest/gtest.h>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/provider_names.h"

namespace etwpipe::schema {
namespace {

const Guid kRuntime = GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
const Guid kRundown = GuidOf("a669021c-c450-4609-a035-5af59af4df18");

struct Record {
  Guid provider;
  uint16_t id = 0;
  uint16_t version = 0;
  uint8_t opcode = 0;
  std::string payload;
  HeaderKind kind = HeaderKind::kEvent64;
};

// The answer as NAME vVERSION, or "none".
std::string Ask(const Record& record, ClrIds ids = ClrIds::kSafe) {
  EventHeader row;
  row.kind = record.kind;
  row.flags = kPointer64 | kHasProvider;
  row.id = record.id;
  row.version = record.version;
  row.opcode = record.opcode;
  row.record = reinterpret_cast<const std::byte*>(record.payload.data());
  row.record_size = static_cast<uint16_t>(record.payload.size());
  const auto schema = FindClrAlias({row, record.provider, {}, {}}, ids);
  if (schema == nullptr) return "none";
  return schema->name + " v" + std::to_string(schema->key.first_version);
}

std::string Bytes(size_t size) { return std::string(size, '\x01'); }

// A verbose V1 payload: 36 bytes, three strings, ClrInstanceID.
std::string Verbose(size_t characters = 1) {
  std::string payload = Bytes(36);
  for (int i = 0; i < 3; ++i) {
    for (size_t c = 0; c < characters; ++c) payload += {'a', '\0'};
    payload += {'\0', '\0'};
  }
  return payload + Bytes(2);
}

TEST(ClrAliases, LoadIsAcceptedByOpcodeVersionAndSize) {
  EXPECT_EQ(Ask({kRuntime, 136, 1, 33, Bytes(38)}), "Method/Load v1");
  EXPECT_EQ(Ask({kRuntime, 136, 1, 0, Bytes(38)}), "Method/Load v1");
  EXPECT_EQ(Ask({kRuntime, 136, 2, 33, Bytes(46)}), "Method/Load v2");
  for (const uint8_t opcode : std::initializer_list<uint8_t>{1, 14, 15, 32, 34, 35, 36, 37}) {
    EXPECT_EQ(Ask({kRuntime, 136, 1, opcode, Bytes(38)}), "none") << int{opcode};
  }
  for (const size_t size : {0, 36, 37, 39, 46}) EXPECT_EQ(Ask({kRuntime, 136, 1, 33, Bytes(size)}), "none") << size;
  for (const size_t size : {38, 45, 47}) EXPECT_EQ(Ask({kRuntime, 136, 2, 33, Bytes(size)}), "none") << size;
  EXPECT_EQ(Ask({kRuntime, 136, 0, 33, Bytes(38)}), "none") << "V0 is DCEndCompleteV2";
  EXPECT_EQ(Ask({kRuntime, 136, 0, 15, ""}), "none");
  EXPECT_EQ(Ask({kRuntime, 136, 3, 33, Bytes(46)}), "none");
  EXPECT_EQ(Ask({kRundown, 136, 1, 33, Bytes(38)}), "none") << "rundown never raises load";
}

TEST(ClrAliases, UnloadAndStartOnTheRuntimeNeedTheOpcode) {
  EXPECT_EQ(Ask({kRuntime, 137, 1, 34, Bytes(38)}), "Method/Unload v1");
  EXPECT_EQ(Ask({kRuntime, 137, 2, 34, Bytes(46)}), "Method/Unload v2");
  EXPECT_EQ(Ask({kRuntime, 137, 1, 35, Bytes(38)}), "Method/DCStart v1");
  EXPECT_EQ(Ask({kRuntime, 137, 2, 35, Bytes(46)}), "Method/DCStart v2");
  EXPECT_EQ(Ask({kRuntime, 137, 1, 0, Bytes(38)}), "none");
  EXPECT_EQ(Ask({kRuntime, 137, 1, 33, Bytes(38)}), "none");
  EXPECT_EQ(Ask({kRuntime, 137, 0, 35, Bytes(36)}), "none") << "V0 is MethodDCStartV2";
  EXPECT_EQ(Ask({kRuntime, 137, 1, 34, Bytes(36)}), "none");
}

TEST(ClrAliases, RundownHasNothingElseThere) {
  EXPECT_EQ(Ask({kRundown, 137, 1, 35, Bytes(38)}), "Method/DCStart v1");
  EXPECT_EQ(Ask({kRundown, 137, 1, 0, Bytes(38)}), "Method/DCStart v1");
  EXPECT_EQ(Ask({kRundown, 137, 1, 34, Bytes(38)}), "none") << "unload is never raised by rundown";
  EXPECT_EQ(Ask({kRundown, 137, 1, 36, Bytes(38)}), "none");
  EXPECT_EQ(Ask({kRundown, 137, 1, 35, Bytes(37)}), "none");
  EXPECT_EQ(Ask({kRundown, 138, 1, 36, Bytes(38)}), "Method/DCStop v1");
  EXPECT_EQ(Ask({kRundown, 138, 1, 0, Bytes(38)}), "Method/DCStop v1");
  EXPECT_EQ(Ask({kRundown, 138, 2, 36, Bytes(46)}), "Method/DCStop v2");
  EXPECT_EQ(Ask({kRundown, 138, 1, 35, Bytes(38)}), "none");
}

TEST(ClrAliases, EndOnTheRuntimeMayLackTheOpcode) {
  EXPECT_EQ(Ask({kRuntime, 138, 1, 36, Bytes(38)}), "Method/DCStop v1");
  EXPECT_EQ(Ask({kRuntime, 138, 1, 0, Bytes(38)}), "Method/DCStop v1");
  EXPECT_EQ(Ask({kRuntime, 138, 1, 35, Bytes(38)}), "none");
  EXPECT_EQ(Ask({kRuntime, 138, 1, 36, Bytes(39)}), "none");
  EXPECT_EQ(Ask({kRuntime, 138, 0, 36, Bytes(36)}), "none") << "V0 is MethodDCEndV2";
}

TEST(ClrAliases, VerboseNeedsLenientAndTheShape) {
  for (const uint8_t opcode : std::initializer_list<uint8_t>{39, 0}) {
    EXPECT_EQ(Ask({kRundown, 141, 1, opcode, Verbose()}), "none");
    EXPECT_EQ(Ask({kRundown, 141, 1, opcode, Verbose()}, ClrIds::kStrict), "none");
    EXPECT_EQ(Ask({kRundown, 141, 1, opcode, Verbose()}, ClrIds::kLenient), "Method/DCStartVerbose v1");
  }
  EXPECT_EQ(Ask({kRundown, 142, 1, 40, Verbose()}, ClrIds::kLenient), "Method/DCStopVerbose v1");
  EXPECT_EQ(Ask({kRundown, 142, 1, 0, Verbose()}, ClrIds::kLenient), "Method/DCStopVerbose v1");
  EXPECT_EQ(Verbose(0).size(), 44u);
  EXPECT_EQ(Ask({kRundown, 141, 1, 39, Verbose(0)}, ClrIds::kLenient), "Method/DCStartVerbose v1");
  // The manifest's own events under these ids.
  EXPECT_EQ(Ask({kRundown, 141, 1, 35, Verbose()}, ClrIds::kLenient), "none");
  EXPECT_EQ(Ask({kRundown, 141, 1, 0, Bytes(38)}, ClrIds::kLenient), "none");
  EXPECT_EQ(Ask({kRundown, 142, 1, 36, Verbose()}, ClrIds::kLenient), "none");
  EXPECT_EQ(Ask({kRundown, 142, 1, 0, std::string(38, '\0')}, ClrIds::kLenient), "none");
  EXPECT_EQ(Ask({kRundown, 141, 2, 39, Verbose() + Bytes(8)}, ClrIds::kLenient), "none");
  EXPECT_EQ(Ask({kRundown, 141, 0, 39, Verbose()}, ClrIds::kLenient), "none");
  // Anything left over, or missing.
  const std::string payload = Verbose();
  EXPECT_EQ(Ask({kRundown, 141, 1, 39, payload + '\x01'}, ClrIds::kLenient), "none");
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_EQ(Ask({kRundown, 141, 1, 39, payload.substr(0, size)}, ClrIds::kLenient), "none") << size;
  }
  // The runtime provider has MethodLoad and MethodUnload there.
  EXPECT_EQ(Ask({kRuntime, 141, 1, 39, Verbose()}, ClrIds::kLenient), "none");
}

TEST(ClrAliases, MarkersAndEqualIdsNever) {
  for (const uint16_t id : std::initializer_list<uint16_t>{145, 146, 147, 148}) {
    for (const uint8_t opcode : std::initializer_list<uint8_t>{0, 14, 15, 16, 17}) {
      EXPECT_EQ(Ask({kRundown, id, 1, opcode, Bytes(2)}, ClrIds::kLenient), "none") << id;
    }
  }
  EXPECT_EQ(Ask({kRuntime, 143, 1, 37, Verbose()}, ClrIds::kLenient), "none");
  EXPECT_EQ(Ask({kRuntime, 144, 1, 38, Verbose()}, ClrIds::kLenient), "none");
}

TEST(ClrAliases, StrictHasNone) {
  EXPECT_EQ(Ask({kRuntime, 136, 1, 33, Bytes(38)}, ClrIds::kStrict), "none");
  EXPECT_EQ(Ask({kRundown, 137, 1, 35, Bytes(38)}, ClrIds::kStrict), "none");
  EXPECT_EQ(Ask({kRundown, 138, 1, 36, Bytes(38)}, ClrIds::kStrict), "none");
}

TEST(ClrAliases, LenientIncludesSafe) {
  EXPECT_EQ(Ask({kRuntime, 136, 1, 33, Bytes(38)}, ClrIds::kLenient), "Method/Load v1");
}

TEST(ClrAliases, OtherProvidersAndClassicRecordsNever) {
  EXPECT_EQ(Ask({GuidOf("763fd754-7086-4dfe-95eb-c01a46faf4ca"), 136, 1, 33, Bytes(38)}), "none");
  EXPECT_EQ(Ask({kRuntime, 136, 1, 33, Bytes(38), HeaderKind::kFull64}), "none");
}

TEST(ClrAliases, WhoseAnswerDependsOnThePayload) {
  for (const uint16_t id : std::initializer_list<uint16_t>{136, 137, 138})
    EXPECT_TRUE(MayBeClrAlias(kRuntime, id)) << id;
  for (const uint16_t id : std::initializer_list<uint16_t>{137, 138, 141, 142})
    EXPECT_TRUE(MayBeClrAlias(kRundown, id)) << id;
  for (const uint16_t id : std::initializer_list<uint16_t>{135, 139, 141, 142, 143, 144, 145})
    EXPECT_FALSE(MayBeClrAlias(kRuntime, id)) << id;
  for (const uint16_t id : std::initializer_list<uint16_t>{136, 143, 144, 145, 146, 147, 148})
    EXPECT_FALSE(MayBeClrAlias(kRundown, id)) << id;
  EXPECT_FALSE(MayBeClrAlias(Guid(), 136));
}

TEST(ClrAliases, TheTableAgreesWithTheBuiltInSchemas) {
  ASSERT_EQ(ClrAliases().size(), 15u);
  for (const ClrAlias& alias : ClrAliases()) {
    const auto schema = PickVersion(BuiltInSchemas(alias.manifest_provider), false, alias.manifest_id, 1);
    ASSERT_NE(schema, nullptr) << alias.event;
    EXPECT_EQ(schema->opcode, alias.opcode) << alias.event;
    const bool same = alias.rule == ClrAliasRule::kSame;
    EXPECT_EQ(alias.id == alias.manifest_id && alias.provider == alias.manifest_provider, same) << alias.event;
    EXPECT_EQ(alias.reason.empty(), same) << alias.event;
  }
}

}  // namespace
}  // namespace etwpipe::schema

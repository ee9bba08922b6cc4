// The events of the common language runtime: every row of clr-events.tsv has a built-in schema that decodes payloads
// built from the row's field list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/clr_aliases.h"
#include "formats/schema/provider_names.h"
#include "tests/formats/schema/payload_builder.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

using test::ExpectDecodes;
using test::ParseFieldList;
using test::PayloadBuilder;

struct Row {
  std::string provider;
  std::string event;
  uint16_t id = 0;
  uint16_t version = 0;
  uint8_t opcode = 0;
  std::string task;  // 9:CLRMethod
  std::string keyword;
  std::string level;
  std::string fields;
  std::string seed_id;

  std::string Label() const { return provider + " " + event + " id " + std::to_string(id); }
};

std::filesystem::path TablePath() { return test::TestDataDir() / "../docs/clr-events.tsv"; }

std::vector<Row> ReadRows() {
  std::ifstream file(TablePath());
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells(11);
    std::istringstream text(line);
    for (auto& cell : cells) std::getline(text, cell, '\t');
    rows.push_back({cells[0], cells[1], static_cast<uint16_t>(std::stoul(cells[2])),
                    static_cast<uint16_t>(std::stoul(cells[3])), static_cast<uint8_t>(std::stoul(cells[4])), cells[5],
                    cells[6], cells[7], cells[8], cells[9]});
  }
  return rows;
}

Guid ProviderOf(const Row& row) { return ProvidersNamed(row.provider).at(0); }

std::shared_ptr<const EventSchema> FindBuiltIn(const Guid& provider, uint16_t id, uint16_t version) {
  EventHeader header;
  header.kind = HeaderKind::kEvent64;
  header.id = id;
  header.version = version;
  return BuiltInSupplier().Find({header, provider, {}, {}});
}

PayloadBuilder Build(const Row& row, uint32_t pointer_size) {
  PayloadBuilder built(pointer_size);
  built.Add(ParseFieldList(row.fields));
  return built;
}

TEST(ClrEvents, EveryRowDecodesToItsLastByte) {
  if (const auto missing = test::MissingData(TablePath()); !missing.empty()) GTEST_SKIP() << missing;
  const auto rows = ReadRows();
  ASSERT_EQ(rows.size(), 164u);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.Label());
    const auto schema = FindBuiltIn(ProviderOf(row), row.id, row.version);
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->key, (EventKey{false, row.id, row.version, row.version}));
    EXPECT_EQ(schema->provider->name, row.provider);
    for (const uint32_t pointer_size : {4u, 8u}) ExpectDecodes(*schema, Build(row, pointer_size), pointer_size);
  }
}

TEST(ClrEvents, HeadersAreThoseOfTheRows) {
  if (const auto missing = test::MissingData(TablePath()); !missing.empty()) GTEST_SKIP() << missing;
  for (const Row& row : ReadRows()) {
    SCOPED_TRACE(row.Label());
    const auto schema = FindBuiltIn(ProviderOf(row), row.id, row.version);
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->opcode, row.opcode);
    EXPECT_EQ(std::to_string(schema->task) + ":" + schema->task_name, row.task);
    // The table leaves open what could not be confirmed.
    if (!row.keyword.empty()) {
      EXPECT_EQ(schema->keyword, std::stoull(row.keyword, nullptr, 16));
    }
    if (!row.level.empty()) {
      EXPECT_EQ(schema->level, std::stoul(row.level));
    }
    EXPECT_THAT(schema->name, testing::ContainsRegex("^[A-Za-z0-9]+/[A-Za-z0-9]+$"));
  }
}

TEST(ClrEvents, ClassicFormIsTheSameUnderTheTaskGuid) {
  const struct {
    std::string_view guid;
    std::string_view provider;
    std::string_view task;
  } classes[] = {
      {"0bcd91db-f943-454a-a662-6edbcfbb76d2", "Microsoft-Windows-DotNETRuntimeRundown", "1:CLRMethodRundown"},
      {"5a54f4df-d302-4fee-a211-6c2c0c1dcb1a", "Microsoft-Windows-DotNETRuntimeRundown", "2:CLRLoaderRundown"},
      {"d3363dc0-243a-4620-a4d0-8a07d772f533", "Microsoft-Windows-DotNETRuntime", "11:CLRStack"},
      {"cd7d3e32-65fe-40cd-9225-a2577d203fc3", "Microsoft-Windows-DotNETRuntime", "19:CLRRuntimeInformation"},
  };
  for (const auto& test : classes) {
    int found = 0;
    if (const auto missing = test::MissingData(TablePath()); !missing.empty()) GTEST_SKIP() << missing;
    for (const Row& row : ReadRows()) {
      if (row.provider != test.provider || row.task != test.task) continue;
      SCOPED_TRACE(row.Label());
      ++found;
      EventHeader header;
      header.kind = HeaderKind::kFull32;
      header.opcode = row.opcode;
      header.version = row.version;
      const auto schema = BuiltInSupplier().Find({header, GuidOf(test.guid), {}, {}});
      ASSERT_NE(schema, nullptr);
      EXPECT_EQ(schema->name, FindBuiltIn(ProviderOf(row), row.id, row.version)->name);
      EXPECT_EQ(schema->provider->name, row.provider);
      ExpectDecodes(*schema, Build(row, 4), 4);
    }
    EXPECT_GT(found, 0) << test.task;
  }
}

TEST(ClrEvents, AVersionNewerThanAllGetsTheNewest) {
  const Guid runtime = ProvidersNamed("Microsoft-Windows-DotNETRuntime").at(0);
  EXPECT_EQ(FindBuiltIn(runtime, 143, 99), FindBuiltIn(runtime, 143, 2));
  EXPECT_EQ(FindBuiltIn(runtime, 9999, 0), nullptr);
}

TEST(ClrEvents, MethodDetailsHasATailWithoutMeaning) {
  const Guid runtime = ProvidersNamed("Microsoft-Windows-DotNETRuntime").at(0);
  const auto schema = FindBuiltIn(runtime, 72, 0);
  PayloadBuilder built(8);
  built.Add(
      ParseFieldList("MethodID:UInt64,TypeID:UInt64,MethodToken:UInt32,TypeParameterCount:UInt32,"
                     "LoaderModuleID:UInt64,TypeParameters:UInt64[TypeParameterCount]"));
  ASSERT_EQ(built.bytes.size(), 32u + 8 * 3);
  built.bytes += "tail";
  DecodedFields fields;
  EXPECT_EQ(Decode(*schema, built.payload(), 8, fields), DecodeOutcome::kComplete);
  EXPECT_EQ(fields.tokens.size(), built.expected.size());
}

// Structs that the runtime copies as they lie in memory: in a 64-bit process something is aligned.
TEST(ClrEvents, GcStructsAreAsWideAsPointers) {
  const struct {
    uint16_t id;
    size_t count_offset;
    uint32_t pointer_size;
    size_t size;
  } cases[] = {{208, 2, 8, 4 + 32}, {208, 2, 4, 4 + 20}, {209, 12, 8, 14 + 16}, {209, 12, 4, 14 + 12}};
  const Guid runtime = ProvidersNamed("Microsoft-Windows-DotNETRuntime").at(0);
  for (const auto& test : cases) {
    std::string bytes(test.size, '\0');
    bytes[test.count_offset] = 1;
    DecodedFields fields;
    const auto schema = FindBuiltIn(runtime, test.id, 0);
    EXPECT_EQ(
        Decode(*schema, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, test.pointer_size, fields),
        DecodeOutcome::kComplete)
        << test.id << " with pointers of " << test.pointer_size;
  }
}

TEST(ClrEvents, HostileCountsEnd) {
  const Guid runtime = ProvidersNamed("Microsoft-Windows-DotNETRuntime").at(0);
  for (const uint16_t id : std::initializer_list<uint16_t>{15, 82, 190, 19}) {
    const auto schema = FindBuiltIn(runtime, id, 0);
    const std::string bytes(64, '\xff');
    DecodedFields fields;
    const auto outcome = Decode(*schema, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, 8, fields);
    EXPECT_TRUE(outcome == DecodeOutcome::kBad || outcome == DecodeOutcome::kShort) << id;
  }
}

// semantics.md 6.2.
TEST(ClrEvents, MethodFlagsNameTheTier) {
  const Guid runtime = ProvidersNamed("Microsoft-Windows-DotNETRuntime").at(0);
  const auto schema = FindBuiltIn(runtime, 143, 2);
  const Property& flags = schema->properties.at(static_cast<size_t>(schema->IndexOf("MethodFlags")));
  ASSERT_NE(flags.map, kNoMap);
  const ValueMap& map = *schema->maps.at(flags.map);
  const std::string_view tiers[] = {"",
                                    "MinOptJitted",
                                    "Optimized",
                                    "QuickJitted",
                                    "OptimizedTier1",
                                    "OptimizedTier1OSR",
                                    "QuickJittedInstrumented",
                                    "OptimizedTier1Instrumented"};
  for (uint64_t tier = 1; tier < 8; ++tier) EXPECT_EQ(map.NameOf(tier << 7), tiers[tier]);
  EXPECT_EQ(map.NameOf(0x8 | 3 << 7), "Jitted|QuickJitted");
  EXPECT_EQ(map.NameOf(0x10000008), "Jitted|ColdSection");
  EXPECT_EQ(map.NameOf(0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40),
            "Dynamic|Generic|HasSharedGenericCode|Jitted|JitHelper|ProfilerRejectedPrecompiledCode|"
            "ReadyToRunRejectedPrecompiledCode");
}

TEST(ClrEvents, KeywordsHaveTheManifestsNames) {
  const auto keywords = [](std::string_view provider) {
    const auto& schemas = BuiltInSchemas(ProvidersNamed(provider).at(0));
    return schemas.at(0)->provider->keywords;
  };
  using Keyword = ProviderSchema::Keyword;
  EXPECT_THAT(keywords("Microsoft-Windows-DotNETRuntime"),
              testing::IsSupersetOf({Keyword{"GC", 0x1}, Keyword{"Loader", 0x8}, Keyword{"Jit", 0x10},
                                     Keyword{"NGen", 0x20}, Keyword{"JitTracing", 0x1000}, Keyword{"Exception", 0x8000},
                                     Keyword{"Stack", 0x40000000}, Keyword{"Compilation", 0x1000000000}}));
  EXPECT_THAT(keywords("Microsoft-Windows-DotNETRuntimeRundown"),
              testing::IsSupersetOf({Keyword{"LoaderRundown", 0x8}, Keyword{"EndRundown", 0x100}}));
  EXPECT_THAT(keywords("Microsoft-Windows-DotNETRuntimePrivate"), testing::Contains(Keyword{"Startup", 0x80000000}));
}

}  // namespace
}  // namespace etwpipe::schema

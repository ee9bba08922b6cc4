// TRACE_EVENT_INFO and EVENT_MAP_INFO: blocks laid out by hand as etl-format.md 7.4 says, every cut, and those of real
// merged traces.
#include "formats/schema/event_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "formats/schema/schema_registry.h"
#include "formats/schema/schema_text.h"
#include "tests/formats/schema/read_sample.h"
#include "tests/formats/schema/schema_bytes.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

using testing::HasSubstr;

const Guid kProvider = GuidOf("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716");

struct PropertyInfo {
  std::u16string name = {};
  uint16_t in = 8;
  uint16_t out = 0;
  uint32_t flags = 0;
  uint16_t count = 1;
  uint16_t length = 0;
  std::u16string map = {};
};

// Builds a TRACE_EVENT_INFO.
class EventBlock {
 public:
  explicit EventBlock(const std::vector<PropertyInfo>& properties, std::optional<uint32_t> top_level = {}) {
    block_.Add(kProvider).Add(Guid());
    block_.U16(7).U8(2).U8(16).U8(4).U8(1).U16(3).U64(0x8000000000000010);  // EVENT_DESCRIPTOR
    block_.U32(0);
    for (size_t at = 52; at < 100; at += 4) block_.U32(0);
    const auto count = static_cast<uint32_t>(properties.size());
    block_.U32(count).U32(top_level.value_or(count)).U32(1);
    for (const auto& property : properties) {
      block_.U32(property.flags).U32(0).U16(property.in).U16(property.out).U32(0);
      block_.U16(property.count).U16(property.length).U32(0);
    }
    for (size_t i = 0; i < properties.size(); ++i) {
      Text(112 + 24 * i + 4, properties[i].name);
      if (!properties[i].map.empty()) Text(112 + 24 * i + 12, properties[i].map);
    }
  }

  // Puts a text at the end and its place into the header.
  EventBlock& Text(size_t offset, std::u16string_view text) {
    block_.Set(offset, static_cast<uint32_t>(block_.size()));
    block_.Wide(text);
    return *this;
  }
  template <typename T>
  EventBlock& Set(size_t offset, T value) {
    block_.Set(offset, value);
    return *this;
  }
  std::span<const std::byte> bytes() const { return block_; }

 private:
  Bytes block_;
};

Bytes MapBlock(std::u16string_view name, uint32_t flag,
               const std::vector<std::pair<uint32_t, std::u16string>>& entries) {
  Bytes block = Bytes().Add(kProvider).U32(0).U32(flag).U32(static_cast<uint32_t>(entries.size())).U32(0);
  for (const auto& entry : entries) block.U32(0).U32(entry.first);
  const auto text = [&](size_t at, std::u16string_view value) {
    block.Set(at, static_cast<uint32_t>(block.size() - 16));  // places count from behind the GUID
    block.Wide(value);
  };
  text(16, name);
  for (size_t i = 0; i < entries.size(); ++i) text(32 + 8 * i, entries[i].second);
  return block;
}

std::vector<std::shared_ptr<const EventSchema>> Collect(const std::vector<std::span<const std::byte>>& events,
                                                        const std::vector<std::span<const std::byte>>& maps = {},
                                                        std::vector<std::string>* problems = nullptr) {
  EventInfoCollector collector;
  for (const auto& event : events) collector.AddEvent(event);
  for (const auto& map : maps) collector.AddMap(map);
  std::vector<std::string> found;
  auto schemas = collector.Finish(found);
  if (problems == nullptr) {
    EXPECT_THAT(found, testing::IsEmpty());
  } else {
    *problems = std::move(found);
  }
  return schemas;
}

std::string ErrorOf(const EventBlock& block) {
  std::vector<std::string> problems;
  EXPECT_TRUE(Collect({block.bytes()}, {}, &problems).empty());
  return problems.size() == 1 ? problems[0] : std::to_string(problems.size()) + " problems";
}

// The fields as text, without what stands around them.
std::string FieldsText(const std::shared_ptr<const EventSchema>& schema) {
  std::string text = PrintSchemaText({schema});
  text.erase(0, text.find("\nevent "));
  text.erase(0, text.find('\n', 1) + 1);
  return text;
}

TEST(EventInfo, Header) {
  EventBlock block({});
  block.Text(52, u"Maker ").Text(60, u"Maker/Analytic").Text(68, u"A-Task ").Text(72, u"win:Start");
  block.Text(76, u"Message %1. \r\n").Text(92, u"SYMBOL");
  const auto schemas = Collect({block.bytes()});
  ASSERT_EQ(schemas.size(), 1u);
  const EventSchema& schema = *schemas[0];
  EXPECT_EQ(schema.provider->guid, kProvider);
  EXPECT_EQ(schema.provider->name, "Maker");
  EXPECT_EQ(schema.key, (EventKey{false, 7, 2, 2}));
  EXPECT_EQ(schema.origin, SchemaOrigin::kEventInfo);
  EXPECT_EQ(schema.name, "A_Task/Start");
  EXPECT_EQ(schema.task_name, "A-Task");
  EXPECT_EQ(schema.opcode_name, "Start");
  EXPECT_EQ(schema.symbol, "SYMBOL");
  EXPECT_EQ(schema.channel_name, "Maker/Analytic");
  EXPECT_EQ(schema.message, "Message %1.");
  EXPECT_EQ(schema.keyword, 0x8000000000000010);
  EXPECT_EQ(schema.level, 4);
  EXPECT_EQ(schema.opcode, 1);
  EXPECT_EQ(schema.task, 3);
}

TEST(EventInfo, NamesFollowPerfView) {
  const auto name = [](const EventBlock& block) { return Collect({block.bytes()}).at(0)->name; };
  EXPECT_EQ(name(EventBlock({})), "EventID(7)");
  EXPECT_EQ(name(EventBlock({}).Text(92, u"SYMBOL")), "SYMBOL");
  EXPECT_EQ(name(EventBlock({}).Text(68, u"Task").Text(92, u"SYMBOL")), "Task");
  EXPECT_EQ(name(EventBlock({}).Text(68, u"Task").Text(72, u"Go")), "Task/Go");
  EXPECT_EQ(name(EventBlock({}).Text(68, u"Task").Text(72, u"win:Info").Set(37, uint8_t{0})), "Task");
  EXPECT_EQ(name(EventBlock({}).Text(68, u"Task").Text(72, u"  ")), "Task");
  EXPECT_EQ(Collect({EventBlock({}).bytes()})[0]->provider->name, "Microsoft-Windows-Kernel-Process")
      << "without a name in the block the one that is known";
}

TEST(EventInfo, TypesAndOutTypes) {
  const auto schemas = Collect({EventBlock({{u"a", 8, 20, 0, 1, 4}, {u"b", 16, 19, 0, 1, 4}, {u"c", 8, 18, 0, 1, 4},
                                            {u"d", 1, 1},           {u"e", 17, 2, 0, 1, 8},  {u"f", 10, 2},
                                            {u"g", 7, 8},           {u"h", 20, 10},          {u"i", 13, 13},
                                            {u"j", 6, 22},          {u"k", 8, 23},           {u"l", 2, 34},
                                            {u"m", 8, 30},          {u"n", 8, 31},           {u"o", 7, 32},
                                            {u"p", 11, 11},         {u"q", 302, 300},        {u"r", 4, 1},
                                            {u"s", 8, 301},         {u"t", 16, 37},          {u"u", 8, 29},
                                            {u"v", 25, 36},         {u"w", 8, 9999},         {u"x", 19, 15},
                                            {u"y", 22, 28},         {u"z", 23, 35},          {u"A", 4, 3}})
                                    .bytes()});
  ASSERT_EQ(schemas.size(), 1u);
  EXPECT_EQ(FieldsText(schemas[0]),
            "  a u32:pid\n  b ptr\n  c u32:hex\n  d wstr\n  e filetime\n  f u64:time\n  g i32:unsigned\n"
            "  h hex32:unsigned\n  i bool\n  j u16:port\n  k u32:ip4\n  l astr:json\n  m u32:win32\n  n u32:ntstatus\n"
            "  o i32:hresult\n  p f32\n  q reversed_wstr\n  r u8:string\n  s u32:noprint\n  t ptr:code\n  u u32:win32\n"
            "  v counted_binary:pkcs7\n  w u32\n  x sid\n  y counted_wstr:xml\n  z counted_astr:utf8\n  A u8:signed\n");
}

TEST(EventInfo, CountsLengthsAndStructs) {
  const auto schemas = Collect({EventBlock({{u"N", 6, 0, 0, 1, 2},
                                            {u"A", 8, 0, 4, 0, 4},       // as many as N says
                                            {u"B", 14, 15, 2, 1, 0},     // as long as N says
                                            {u"C", 1, 1, 0x10, 1, 8},    // 8 characters
                                            {u"D", 4, 0, 0x20, 1, 1},    // an array of one
                                            {u"E", 4, 0, 0, 3, 1},       // an array although no flag says so
                                            {u"F", 14, 24, 0, 1, 0},     // an IPv6 address need not state its length
                                            {u"G", 14, 15, 0, 1, 6},     // 6 bytes
                                            {u"S", 10, 2, 1 | 4, 0, 0},  // two members, as many times as N says
                                            {u"T", 12, 1, 1, 1, 0},      // one member
                                            {u"x", 4, 0, 0, 1, 1},
                                            {u"y", 2, 1, 2, 1, 10},  // as long as x says
                                            {u"z", 8, 0, 0, 1, 4}},
                                           10)
                                    .bytes()});
  ASSERT_EQ(schemas.size(), 1u);
  EXPECT_EQ(FieldsText(schemas[0]),
            "  N u16\n  A[N] u32\n  B binary(N)\n  C wstr(8)\n  D[1] u8\n  E[3] u8\n  F binary(16):ip6\n"
            "  G binary(6)\n  S[N] {\n    x u8\n    y astr(x)\n  }\n  T {\n    z u32\n  }\n");
}

TEST(EventInfo, MapsMayComeLater) {
  const EventBlock event(
      {{u"Kind", 8, 0, 0, 1, 4, u"Kinds "}, {u"Bits", 8, 0, 0, 1, 4, u"Bits"}, {u"Again", 8, 0, 0, 1, 4, u"Kinds"}});
  const Bytes kinds = MapBlock(u"Kinds", 1, {{1, u"one "}, {0xFFFFFFFF, u"last"}});
  const Bytes bits = MapBlock(u"Bits ", 2, {{1, u"low"}, {0x80000000, u"high "}});
  const auto schemas = Collect({event.bytes()}, {kinds, bits});
  ASSERT_EQ(schemas.size(), 1u);
  const EventSchema& schema = *schemas[0];
  ASSERT_EQ(schema.maps.size(), 2u);
  EXPECT_EQ(schema.maps.at(schema.properties[0].map)->NameOf(1), "one");
  EXPECT_EQ(schema.maps.at(schema.properties[0].map)->NameOf(0xFFFFFFFF), "last");
  EXPECT_EQ(schema.maps.at(schema.properties[1].map)->NameOf(0x80000001), "low|high");
  EXPECT_EQ(schema.properties[2].map, schema.properties[0].map);

  std::vector<std::string> problems;
  const auto without = Collect({event.bytes()}, {kinds}, &problems);
  ASSERT_EQ(without.size(), 1u) << "an event without its map is still an event";
  EXPECT_EQ(without[0]->properties[1].map, kNoMap);
  EXPECT_THAT(problems, testing::ElementsAre(HasSubstr("there is no map 'Bits'")));

  Bytes of_another = bits;
  of_another.Set(0, Guid());
  (void)Collect({event.bytes()}, {kinds, of_another}, &problems);
  EXPECT_EQ(problems.size(), 1u) << "maps belong to their provider";
}

TEST(EventInfo, DuplicatesAreKeptOnce) {
  EventBlock first({{u"a"}});
  EventBlock second({{u"b"}});
  EventBlock newer({{u"c"}});
  newer.Set(34, uint8_t{3});
  const auto schemas = Collect({first.bytes(), second.bytes(), newer.bytes(), first.bytes()});
  ASSERT_EQ(schemas.size(), 2u);
  EXPECT_EQ(schemas[0]->properties[0].name, "a");
  EXPECT_EQ(schemas[1]->properties[0].name, "c");
  EXPECT_EQ(schemas[0]->provider, schemas[1]->provider) << "shared";
}

TEST(EventInfo, HostileBlocks) {
  EXPECT_THAT(ErrorOf(EventBlock({}).Set(48, 1u)), HasSubstr("not of a manifest event"));
  EXPECT_THAT(ErrorOf(EventBlock({}).Set(100, 0xFFFFFFFFu)), HasSubstr("properties do not fit"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a"}}).Set(104, 2u)), HasSubstr("properties do not fit"));
  EXPECT_THAT(ErrorOf(EventBlock({}).Set(68, 0xFFFFFFFFu)), HasSubstr("a text is not inside the block"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a"}}).Set(116, 100000u)), HasSubstr("a text is not inside the block"));
  for (const uint16_t in : std::initializer_list<uint16_t>{24, 26, 299, 311, 1000, 65535}) {
    EXPECT_THAT(ErrorOf(EventBlock({{u"a", in}})), HasSubstr("unknown in-type " + std::to_string(in)));
  }
  // Indices that lead nowhere, and structs inside themselves.
  EXPECT_THAT(ErrorOf(EventBlock({{u"a", 8, 0, 4, 9}})), HasSubstr("does not exist"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a", 14, 0, 2, 1, 9}})), HasSubstr("does not exist"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a", 1}, {u"b", 8, 0, 4, 0}})), HasSubstr("not a number"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a", 0, 1, 1}})), HasSubstr("members do not exist"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a", 1, 2, 1}, {u"b", 1, 1, 1}}, 1)), HasSubstr("members do not exist"));
  EXPECT_THAT(ErrorOf(EventBlock({{u"a", 2, 1, 1}, {u"b", 2, 1, 1}, {u"c"}}, 2)), HasSubstr("two structs"));
  std::vector<PropertyInfo> nested;
  for (uint16_t i = 1; i <= 1000; ++i) nested.push_back({u"s", i, 1, 1});
  nested.push_back({u"leaf"});
  EXPECT_THAT(ErrorOf(EventBlock(nested, 1)), HasSubstr("nested too deep"));
}

TEST(EventInfo, TextCannotGrowWithoutBound) {
  // Every property has the same long name.
  std::vector<PropertyInfo> properties(1000);
  EventBlock block(properties);
  const auto place = static_cast<uint32_t>(block.bytes().size());
  block.Text(76, std::u16string(15000, u'x'));
  for (size_t i = 0; i < properties.size(); ++i) block.Set(112 + 24 * i + 4, place);
  EXPECT_THAT(ErrorOf(block), HasSubstr("a text is not inside the block"));
}

TEST(EventInfo, EveryCutOfAnEvent) {
  EventBlock block({{u"a"}, {u"b", 1, 1}});
  block.Text(52, u"Maker").Text(68, u"Task");
  const auto bytes = block.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadEventInfo(bytes.first(size)).ok()) << size;
  }
  EXPECT_TRUE(ReadEventInfo(bytes).ok());
}

TEST(EventInfo, MapsCutAndHostile) {
  const Bytes block = MapBlock(u"Map", 1, {{1, u"one"}, {2, u"two"}});
  for (size_t size = 0; size < block.size(); ++size) EXPECT_FALSE(ReadEventMapInfo(block.first(size)).ok()) << size;
  ASSERT_TRUE(ReadEventMapInfo(block).ok());
  for (const uint32_t flag : {0u, 3u, 4u, 8u, 16u}) {
    EXPECT_FALSE(ReadEventMapInfo(MapBlock(u"Map", flag, {})).ok()) << "no map of numbers";
  }
  Bytes many = block;
  many.Set(24, 0xFFFFFFFFu);
  EXPECT_FALSE(ReadEventMapInfo(many).ok());
  EXPECT_FALSE(ReadEventMapInfo(MapBlock(u"", 1, {})).ok()) << "nothing can refer to it";
}

TEST(EventInfo, ProblemsAreBounded) {
  EventInfoCollector collector;
  for (uint32_t i = 0; i < 1000; ++i) collector.AddEvent(EventBlock({}).Set(100, 10000 + i).bytes());
  std::vector<std::string> problems;
  EXPECT_TRUE(collector.Finish(problems).empty());
  ASSERT_EQ(problems.size(), EventInfoCollector::kMaxProblems + 1);
  EXPECT_EQ(problems.back(), "968 more problems");
}

TEST(EventInfo, MemoryIsBounded) {
  Bytes large = MapBlock(u"Map", 1, {});
  for (int i = 0; i < 15000; ++i) large.U32(0);
  const EventBlock event({{u"a"}});
  EventInfoCollector collector;
  for (size_t i = 0; i < EventInfoCollector::kMaxBytes / large.size(); ++i) {
    large.Set(0, i);  // another provider each time
    collector.AddMap(large);
    collector.AddMap(large);  // what is known already takes no room
  }
  collector.AddEvent(event.bytes());
  large.Set(0, SIZE_MAX);
  collector.AddMap(large);
  std::vector<std::string> problems;
  EXPECT_EQ(collector.Finish(problems).size(), 1u) << "there was room for this one";
  EXPECT_THAT(problems, testing::ElementsAre(HasSubstr("more than 33554432 bytes")));
}

// Merged traces of Windows.
class EventInfoSamples : public testing::TestWithParam<std::pair<const char*, size_t>> {};

struct Merged {
  Recording recording;
  std::vector<std::shared_ptr<const EventSchema>> schemas;
  std::vector<std::string> problems;

  const EventSchema* Find(const test::CollectedEvent& event) const {
    const EventHeader& row = event.header;
    if (SchemaRegistry::IsClassic(row.kind)) return nullptr;
    for (const auto& schema : schemas) {
      if (schema->provider->guid == event.provider && schema->key.number == row.id &&
          schema->key.first_version == row.version) {
        return schema.get();
      }
    }
    return nullptr;
  }
};

Merged ReadMerged(const std::string& name) {
  Merged merged;
  merged.recording = ReadSample(test::SamplePath(name + ".etl"));
  EventInfoCollector collector;
  for (const auto& event : merged.recording.events) {
    if (ToString(event.provider) != kMetaDataGuid) continue;
    const EventHeader row = RowOf(event);
    if (row.opcode == kEventInfoOpcode) collector.AddEvent(row.payload());
    if (row.opcode == kEventMapInfoOpcode) collector.AddMap(row.payload());
  }
  merged.schemas = collector.Finish(merged.problems);
  return merged;
}

TEST_P(EventInfoSamples, EverySchemaIsUsable) {
  const auto& [name, count] = GetParam();
  const auto path = test::SamplePath(std::string(name) + ".etl");
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const Merged merged = ReadMerged(name);
  ASSERT_EQ(merged.recording.problem, "");
  EXPECT_THAT(merged.problems, testing::IsEmpty());
  EXPECT_EQ(merged.schemas.size(), count);

  const std::string text = PrintSchemaText(merged.schemas);
  const auto again = ParseSchemaText(text, name, SchemaOrigin::kEmbedded);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(PrintSchemaText(*again), text);

  // Two kinds do not fit what their makers say of them: the stack walk of .NET has more than the two frames that its
  // manifest states, and PerfView's event 13 is known to be longer (expected/README.md).
  DecodedFields fields;
  for (const auto& event : merged.recording.events) {
    const EventSchema* schema = merged.Find(event);
    if (schema == nullptr) continue;
    const bool longer = schema->name == "CLRStack/CLRStackWalk" || schema->name == "ClrEnableParameters";
    const EventHeader row = RowOf(event);
    EXPECT_EQ(Decode(*schema, row.payload(), row.pointer_size(), fields),
              longer ? DecodeOutcome::kExtra : DecodeOutcome::kComplete)
        << schema->provider->name << '/' << schema->name;
  }
}
INSTANTIATE_TEST_SUITE_P(All, EventInfoSamples,
                         testing::Values(std::pair("net.4.5.2.x64", size_t{61}), std::pair("DynamicEvents", size_t{31}),
                                         std::pair("diaghub", size_t{17})));

TEST(EventInfoSample, NamesAreThoseOfPerfView) {
  const auto path = test::TestDataDir() / "expected/perfview-kinds.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto expected = test::ReadJson(path);
  const Merged merged = ReadMerged("net.4.5.2.x64");
  ASSERT_EQ(merged.recording.problem, "");
  // Providers that PerfView itself knows only by these blocks.
  const std::set<std::string> providers = {
      "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", "b675ec37-bdb6-4648-bc92-f3fdc74d3ca2",
      "1c95126e-7eea-49a9-a3fe-a378b03ddb4d", "315a8872-923e-4ea2-9889-33cd4754bf64",
      "edd08927-9cc4-4e65-b970-c2560fb5c289"};
  size_t compared = 0;
  for (const auto& kind : expected["net.4.5.2.x64"]["kinds"].GetArray()) {
    for (const auto& from : kind["from"].GetArray()) {
      if (providers.count(from["provider"].GetString()) == 0) continue;
      const auto schema = std::find_if(merged.schemas.begin(), merged.schemas.end(), [&](const auto& each) {
        return ToString(each->provider->guid) == from["provider"].GetString() &&
               each->key.number == from["id"].GetUint() && each->key.first_version == from["version"].GetUint();
      });
      ASSERT_NE(schema, merged.schemas.end()) << kind["perfview_name"].GetString();
      EXPECT_EQ((*schema)->provider->name + '/' + (*schema)->name, kind["perfview_name"].GetString());
      EXPECT_EQ((*schema)->opcode, from["opcode"].GetUint());
      ++compared;
    }
  }
  EXPECT_EQ(compared, 11u);
}

TEST(EventInfoSample, MapsNameValues) {
  const auto path = test::SamplePath("net.4.5.2.x64.etl");
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const Merged merged = ReadMerged("net.4.5.2.x64");
  const auto runtime = std::find_if(merged.schemas.begin(), merged.schemas.end(),
                                    [](const auto& schema) { return schema->name == "CLRRuntimeInformation/Start"; });
  ASSERT_NE(runtime, merged.schemas.end());
  const int sku = (*runtime)->IndexOf("Sku");
  ASSERT_GE(sku, 0);
  const Property& property = (*runtime)->properties[static_cast<size_t>(sku)];
  ASSERT_NE(property.map, kNoMap);
  // RuntimeSkuMap of the CLR's public manifest.
  EXPECT_EQ((*runtime)->maps[property.map]->NameOf(1), "DesktopClr");
  EXPECT_EQ((*runtime)->maps[property.map]->NameOf(2), "CoreClr");
}

}  // namespace
}  // namespace etwpipe::schema

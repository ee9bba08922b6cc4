// The text form of schemas: every built-in file reads, prints and reads again as the same; errors name line and word.
#include "formats/schema/schema_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/schema/builtin_schemas.h"

namespace etwpipe::schema {
namespace {

using Schemas = std::vector<std::shared_ptr<const EventSchema>>;

Schemas Parse(std::string_view text) {
  auto parsed = ParseSchemaText(text, "test", SchemaOrigin::kBuiltIn);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *parsed : Schemas();
}

void ExpectEqual(const EventSchema& a, const EventSchema& b) {
  EXPECT_EQ(*a.provider, *b.provider) << a.name;
  EXPECT_EQ(a.key, b.key) << a.name;
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.properties, b.properties) << a.name;
  EXPECT_EQ(a.top_level, b.top_level) << a.name;
  EXPECT_EQ(a.note, b.note) << a.name;
  EXPECT_EQ(a.message, b.message) << a.name;
  EXPECT_EQ(a.keyword, b.keyword) << a.name;
  EXPECT_EQ(std::tie(a.task, a.task_name, a.opcode, a.opcode_name, a.level, a.symbol, a.channel_name),
            std::tie(b.task, b.task_name, b.opcode, b.opcode_name, b.level, b.symbol, b.channel_name))
      << a.name;
  ASSERT_EQ(a.maps.size(), b.maps.size()) << a.name;
  for (size_t i = 0; i < a.maps.size(); ++i) {
    EXPECT_EQ(a.maps[i]->bits, b.maps[i]->bits);
    EXPECT_EQ(a.maps[i]->entries, b.maps[i]->entries);
  }
}

TEST(SchemaText, EveryBuiltInFileReadsAndPrintsAsItself) {
  ASSERT_FALSE(BuiltInFiles().empty());
  for (const auto& file : BuiltInFiles()) {
    auto parsed = ParseSchemaText(file.text, file.name, SchemaOrigin::kBuiltIn);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    ASSERT_FALSE(parsed->empty()) << file.name;
    auto& schemas = *parsed;
    const std::string text = PrintSchemaText(schemas);
    Schemas again = Parse(text);
    ASSERT_EQ(schemas.size(), again.size()) << file.name;
    // Printing sorts; printing what was printed changes nothing.
    EXPECT_EQ(PrintSchemaText(again), text) << file.name;
    const auto order = [](const auto& a, const auto& b) {
      const auto key = [](const EventSchema& s) {
        return std::tuple(s.provider->guid, s.key.classic, s.key.number, s.key.first_version);
      };
      return key(*a) < key(*b);
    };
    std::stable_sort(schemas.begin(), schemas.end(), order);
    std::stable_sort(again.begin(), again.end(), order);
    for (size_t i = 0; i < schemas.size(); ++i) ExpectEqual(*schemas[i], *again[i]);
  }
}

constexpr std::string_view kProvider = "provider P 00000000-0000-0000-0000-000000000001\n";

TEST(SchemaText, FieldsCountsLengthsAndMaps) {
  const Schemas schemas = Parse(std::string(kProvider) + R"(
map Colours
  1 red
  2 "light blue"
event "a b/c" id 7 v2..3 level 4 task 5:T opcode 1:Start keyword 0x10 channel C symbol S
  note first   # not a comment
  note second
  message "line\nend"
  Count u16
  "odd name"[Count] u32:hex Colours
  Data binary(Count)
  Values[2] {
    N u8
    Inner[N] {
      Text wstr(4) optional
    }
  }
  - pad(3)
  Rest[*] ptr
)");
  ASSERT_EQ(schemas.size(), 1u);
  const EventSchema& schema = *schemas[0];
  EXPECT_EQ(schema.name, "a b/c");
  EXPECT_EQ(schema.key, (EventKey{false, 7, 2, 3}));
  EXPECT_EQ(schema.note, "first   # not a comment\nsecond");
  EXPECT_EQ(schema.message, "line\nend");
  EXPECT_EQ(schema.top_level, 6);
  ASSERT_EQ(schema.properties.size(), 9u);
  EXPECT_EQ(schema.properties[1].name, "odd name");
  EXPECT_EQ(schema.properties[1].count, Extent::kField);
  EXPECT_EQ(schema.properties[1].count_value, 0);
  EXPECT_EQ(schema.maps.at(schema.properties[1].map)->NameOf(2), "light blue");
  EXPECT_EQ(schema.properties[3].first_member, 6);
  EXPECT_EQ(schema.properties[3].member_count, 2);
  EXPECT_EQ(schema.properties[7].count_value, 6) << "N of its own struct";
  EXPECT_TRUE(schema.properties[8].optional);
  EXPECT_EQ(schema.FixedOffset(0, 8), 0u);
  EXPECT_EQ(schema.FixedOffset(1, 8), 2u);
  EXPECT_EQ(schema.FixedOffset(2, 8), EventSchema::kMoves);
}

TEST(SchemaText, AFieldOfBitsHasNamesForItsValues) {
  const std::string text = std::string(kProvider) + R"(
flags Flags
  0x1 One
  0x80/0x380 Low
  0x180/0x380 Both
  0x300/0x300 High
event E id 1
  F u32 Flags
)";
  const Schemas schemas = Parse(text);
  ASSERT_EQ(schemas.size(), 1u);
  const ValueMap& map = *schemas[0]->maps.at(0);
  EXPECT_EQ(map.NameOf(0x81), "One|Low");
  EXPECT_EQ(map.NameOf(0x180), "Both") << "and not Low, whose bit it contains";
  EXPECT_EQ(map.NameOf(0x300), "High");
  EXPECT_EQ(map.NameOf(0x100), "") << "no entry has this value";
  EXPECT_EQ(map.NameOf(0x101), "One|0x100");
  EXPECT_EQ(map.NameOf(0x1001 | 0x180), "One|Both|0x1000");
  const Schemas again = Parse(PrintSchemaText(schemas));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0]->maps.at(0)->entries, map.entries);
  for (const std::string_view line : {"0x400/0x380 Outside", "0x1/ Nothing", "/0x1 Nothing", "0x1/0x1/0x1 Twice"}) {
    EXPECT_FALSE(ParseSchemaText("flags F\n  " + std::string(line) + "\n", "file", SchemaOrigin::kBuiltIn).ok())
        << line;
  }
  EXPECT_FALSE(ParseSchemaText("map F\n  1/1 NoBits\n", "file", SchemaOrigin::kBuiltIn).ok());
}

TEST(SchemaText, ErrorsNameLineAndWord) {
  const struct {
    std::string_view text;
    std::string_view error;
  } cases[] = {
      {"event X id 1\n", "an event needs a provider before it"},
      {"provider P nonsense\n", "expected provider NAME GUID"},
      {"nonsense\n", "unknown statement 'nonsense'"},
      {"  A u32\n", "an indented line needs"},
  };
  for (const auto& test : cases) {
    const auto parsed = ParseSchemaText(test.text, "file", SchemaOrigin::kBuiltIn);
    ASSERT_FALSE(parsed.ok()) << test.text;
    EXPECT_THAT(std::string(parsed.status().message()), testing::HasSubstr(test.error));
    EXPECT_THAT(std::string(parsed.status().message()), testing::HasSubstr("file:1"));
  }
  for (const auto& [field, error] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"A u33", "unknown type 'u33'"},
           {"A u32:nonsense", "unknown way to show 'nonsense'"},
           {"A[B] u32", "there is no field 'B' before 'A'"},
           {"A u32 Nomap", "unknown map 'Nomap'"},
           {"A {", "a struct is not ended"},
           {"}", "there is no struct to end"},
           {"use Nolayout", "unknown layout 'Nolayout'"},
           {"A", "expected NAME TYPE"},
           {"A[99999] u8", "at most 65535"}}) {
    const std::string text = std::string(kProvider) + "event E id 1\n  " + std::string(field) + "\n";
    const auto parsed = ParseSchemaText(text, "file", SchemaOrigin::kBuiltIn);
    ASSERT_FALSE(parsed.ok()) << field;
    EXPECT_THAT(std::string(parsed.status().message()), testing::HasSubstr(error));
  }
  const auto twice =
      ParseSchemaText(std::string(kProvider) + "event E id 1 v1+\nevent F id 1 v2\n", "file", SchemaOrigin::kBuiltIn);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(std::string(twice.status().message()), testing::HasSubstr("described twice"));
}

}  // namespace
}  // namespace etwpipe::schema

// Expressions over decoded events: payload fields of every type, names, processes, keywords, nulls.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "formats/facts/process_table.h"
#include "formats/schema/listed_schemas.h"
#include "formats/schema/schema_text.h"
#include "stages/filter_where/expression.h"

namespace etwpipe {
namespace {

constexpr std::string_view kSchema = R"(
map Colours
  1 red
  2 green
flags Bits
  1 one
  4 four
provider "Test Provider" 11111111-2222-3333-4444-555555555555
event Task/Start id 7 v0
  Number u32
  Negative i16
  Colour u8 Colours
  Bits u8 Bits
  Real f64
  Flag bool
  Text wstr
  "odd name" astr
  Id guid
  Values[u16] u16
  Letters[3] char
  Inner {
    Depth u8
    Name astr
  }
  Missing u32
)";

class ExpressionDecoded : public testing::Test {
 protected:
  ExpressionDecoded() {
    const auto parsed = schema::ParseSchemaText(kSchema, "test", SchemaOriginForTest());
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    auto listed = std::make_shared<schema::ListedSchemas>();
    for (const auto& schema : *parsed) listed->Add(schema);
    auto registry = std::make_shared<schema::SchemaRegistry>();
    registry->Add(listed);
    trace_.facts->Set(std::shared_ptr<const schema::SchemaRegistry>(registry));
    facts::ProcessRecord process;
    process.kind = facts::ProcessRecord::Kind::kRundownStart;
    process.pid = 1234;
    process.image = "devenv.exe";
    trace_.facts->Set(std::make_shared<const facts::ProcessTable>(facts::ProcessTable::Build({process}, 0)));

    Put(uint32_t{4'000'000'000});
    Put(int16_t{-5});
    Put(uint8_t{2});
    Put(uint8_t{5});
    Put(2.5);
    Put(uint32_t{7});
    for (const char16_t c : std::u16string_view(u"Hello")) Put(c);
    Put(char16_t{0});
    for (const char c : std::string_view("two words")) Put(c);
    Put('\0');
    for (int i = 0; i < 16; ++i) Put(static_cast<uint8_t>(i));
    Put(uint16_t{3});
    for (const int value : {10, 20, 30}) Put(static_cast<uint16_t>(value));
    for (const char c : std::string_view("abc")) Put(c);
    Put(uint8_t{9});
    for (const char c : std::string_view("inside")) Put(c);
    Put('\0');
    row_.kind = HeaderKind::kEvent64;
    row_.flags = kHasPid | kHasTimestamp | kHasProvider | kPointer64;
    row_.provider = *trace_.providers->Intern(GuidOf("11111111-2222-3333-4444-555555555555"));
    row_.id = 7;
    row_.pid = 1234;
    row_.record = payload_.data();
    row_.record_size = static_cast<uint16_t>(payload_.size());
  }

  static schema::SchemaOrigin SchemaOriginForTest() { return schema::SchemaOrigin::kManifestFile; }

  template <typename T>
  void Put(T value) {
    const size_t at = payload_.size();
    payload_.resize(at + sizeof value);
    std::memcpy(payload_.data() + at, &value, sizeof value);
  }

  bool Is(const std::string& text) { return Is(text, row_); }
  bool Is(const std::string& text, const EventHeader& row) {
    auto expression = Expression::Parse(text);
    EXPECT_TRUE(expression.ok()) << text << "\n" << expression.status().message();
    if (!expression.ok()) return false;
    expression->Bind(trace_);
    where::EventValues values(trace_);
    return expression->Matches(row, &values);
  }

  TraceContext trace_;
  std::vector<std::byte> payload_;
  EventHeader row_;
};

TEST_F(ExpressionDecoded, NumbersCompareByWorth) {
  for (const char* text : {"payload.Number == 4000000000",
                           "payload.Number > 3999999999",
                           "not payload.Number > 4000000000",
                           "payload.Number != 1",
                           "payload.Negative == -5",
                           "payload.Negative < 0",
                           "payload.Real > 2",
                           "payload.Real < 3",
                           "not payload.Real == 2",
                           "payload.Flag == true",
                           "payload.Flag != false",
                           "payload.Flag == 1",
                           "payload.Bits & 4",
                           "payload.Bits & 4 != 0",
                           "not payload.Bits & 2",
                           "4000000000 == payload.Number",
                           "payload.Number > payload.Negative",
                           "payload.Number > pid",
                           "pid < payload.Number",
                           "payload.Number in (1, 4000000000)",
                           "not payload.Number in (1, 2)"}) {
    EXPECT_TRUE(Is(text)) << text;
  }
}

TEST_F(ExpressionDecoded, TextsNamesOfValuesAndForms) {
  for (const char* text :
       {"payload.Text == 'Hello'", "not payload.Text == 'hello'", "payload.Text != 'hello'",
        "payload.Text =~ '(?i)^hELLO$'", "payload.Text =~ 'll'", "payload.Colour == 'green'", "payload.Colour == 2",
        "payload.Bits == 'one|four'", "payload.Bits =~ 'four'", "payload['odd name'] == 'two words'",
        "payload.Text < 'I'", "payload.Text in ('a', 'Hello')", "payload.Id == 03020100-0504-0706-0809-0a0b0c0d0e0f",
        "payload.Id == '03020100-0504-0706-0809-0a0b0c0d0e0f'", "payload.Id =~ '^0302'"}) {
    EXPECT_TRUE(Is(text)) << text;
  }
  // A number has no text unless its value has a name, and a text is no number.
  EXPECT_FALSE(Is("payload.Number == '4000000000'"));
  EXPECT_FALSE(Is("payload.Number =~ '4'"));
  EXPECT_FALSE(Is("payload.Text == 5"));
  EXPECT_FALSE(Is("payload.Text != 5"));
}

TEST_F(ExpressionDecoded, ArraysHoldWhereOneElementDoesAndMembersGoByPath) {
  EXPECT_TRUE(Is("payload.Values == 20"));
  EXPECT_TRUE(Is("payload.Values > 29"));
  EXPECT_FALSE(Is("payload.Values > 30"));
  EXPECT_TRUE(Is("30 == payload.Values"));
  EXPECT_TRUE(Is("payload.Values in (1, 30)"));
  EXPECT_FALSE(Is("payload.Values & 1 == 0")) << "an array is no number";
  EXPECT_TRUE(Is("payload.Letters == 'abc'")) << "characters are a text, as dump shows them";
  EXPECT_TRUE(Is("payload.Inner.Depth == 9"));
  EXPECT_TRUE(Is("payload.Inner.Name == 'inside'"));
  EXPECT_TRUE(Is("has(payload.Inner)"));
  EXPECT_FALSE(Is("has(payload.Inner.Nothing)"));
}

TEST_F(ExpressionDecoded, NamesOfTheEventAndItsProcess) {
  EXPECT_TRUE(Is("name == 'Task/Start'"));
  EXPECT_TRUE(Is("provider_name == 'Test Provider'"));
  EXPECT_TRUE(Is("kind == 'Test Provider/Task/Start'"));
  EXPECT_TRUE(Is("kind =~ 'Provider/.*/Start$'"));
  EXPECT_TRUE(Is("process == 'devenv.exe'"));
  EXPECT_TRUE(Is("process =~ '(?i)DEVENV' and payload.Number > 3 and name in ('x', 'Task/Start')"));
  EventHeader other = row_;
  other.pid = 99;
  EXPECT_FALSE(Is("process == 'devenv.exe'", other));
  EXPECT_FALSE(Is("has(process)", other));
}

TEST_F(ExpressionDecoded, WhatAnEventLacksIsNull) {
  EXPECT_FALSE(Is("payload.Missing == 0"));
  EXPECT_FALSE(Is("payload.Missing != 0"));
  EXPECT_FALSE(Is("has(payload.Missing)"));
  EXPECT_FALSE(Is("has(payload.Nothing)"));
  EXPECT_TRUE(Is("has(payload.Number) and has(name)"));
  EventHeader unknown = row_;
  unknown.id = 8;
  for (const char* text : {"has(name)", "has(kind)", "has(payload.Number)", "name != 'x'", "payload.Number != 1"}) {
    EXPECT_FALSE(Is(text, unknown)) << text;
  }
  EXPECT_TRUE(Is("not has(name)", unknown));
}

TEST_F(ExpressionDecoded, CaseOfFieldNamesMattersOnlyWhereBothExist) {
  EXPECT_TRUE(Is("payload.NUMBER == 4000000000"));
  EXPECT_TRUE(Is("payload.inner.DEPTH == 9"));
}

TEST_F(ExpressionDecoded, HeaderTestsNeedNoFacts) {
  EXPECT_EQ(Expression::Parse("level <= 4")->facts(), kNoFacts);
  EXPECT_EQ(Expression::Parse("payload.X == 4")->facts(), kSchemas);
  EXPECT_EQ(Expression::Parse("process == 'x' or not name == 'y'")->facts(), kSchemas | kProcesses);
}

}  // namespace
}  // namespace etwpipe

// Manifests written for the test, one for each rule and each defect; then the five public ones, of which ClrEtwAll.man
// is compared with a table of the CLR's events that was made without it.
#include "formats/schema/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "formats/schema/decoder.h"
#include "formats/schema/schema_text.h"
#include "formats/schema/utf16.h"
#include "tests/formats/schema/field_text.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kGuid = "11111111-2222-3333-4444-555555555555";

std::string Document(const std::string& provider, const std::string& strings = "") {
  return fmt::format(
      R"(<?xml version="1.0"?><instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation><events><provider name="Acme-Shop" guid="{{{}}}" symbol="SHOP">{}</provider></events></instrumentation>
<localization>{}</localization></instrumentationManifest>)",
      kGuid, provider, strings);
}

std::string StringTable(const std::string& culture, const std::string& strings) {
  return fmt::format(R"(<resources culture="{}"><stringTable>{}</stringTable></resources>)", culture, strings);
}

ManifestSchemas Parse(const std::string& text) {
  auto parsed = ParseManifest(text, "shop.man", SchemaOrigin::kManifestFile);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? std::move(*parsed) : ManifestSchemas();
}

// The one event of a provider that has no problems.
std::shared_ptr<const EventSchema> ParseOne(const std::string& provider, const std::string& strings = "") {
  const ManifestSchemas parsed = Parse(Document(provider, strings));
  EXPECT_THAT(parsed.problems, IsEmpty());
  if (parsed.schemas.size() == 1) return parsed.schemas[0];
  ADD_FAILURE() << parsed.schemas.size() << " schemas";
  return std::make_shared<const EventSchema>();
}

// The event whose template has these fields.
std::string WithFields(const std::string& fields, const std::string& more = "") {
  return more + R"(<templates><template tid="T">)" + fields +
         R"(</template></templates><events><event value="1" template="T"/></events>)";
}

TEST(Manifest, ProviderAndEventAttributes) {
  const auto event = ParseOne(R"xml(
      <keywords><keyword name="BuyKeyword" mask="0x10"/><keyword name="Keyword" mask="0x20"/></keywords>
      <levels><level name="Loud" value="17"/></levels>
      <channels><channel chid="c1" name="Acme-Shop/Admin" type="Admin"/></channels>
      <opcodes><opcode name="Pay" value="12"/></opcodes>
      <tasks><task name="Order" value="300" eventGUID="{00000000-0000-0000-0000-000000000000}"/></tasks>
      <templates><template tid="T"><data name="Id" inType="win:UInt32"/></template></templates>
      <events><event value="65535" version="3" level="Loud" opcode="Pay" task="Order" channel="c1" symbol="OrderPay"
         keywords=" BuyKeyword  Keyword win:AuditSuccess" template="T" message="$(string.pay)"/></events>)xml",
                              StringTable("en-US", R"(<string id="pay" value="Paid %1%nand %%1&lt;"/>)"));
  EXPECT_EQ(ToString(event->provider->guid), kGuid);
  EXPECT_EQ(event->provider->name, "Acme-Shop");
  EXPECT_THAT(event->provider->keywords,
              ElementsAre(ProviderSchema::Keyword{"Buy", 0x10}, ProviderSchema::Keyword{"Keyword", 0x20}));
  EXPECT_EQ(event->key, (EventKey{false, 65535, 3, 3}));
  EXPECT_EQ(event->origin, SchemaOrigin::kManifestFile);
  EXPECT_EQ(event->name, "Order/Pay");
  EXPECT_EQ(event->symbol, "OrderPay");
  EXPECT_EQ(event->task, 300);
  EXPECT_EQ(event->task_name, "Order");
  EXPECT_EQ(event->opcode, 12);
  EXPECT_EQ(event->opcode_name, "Pay");
  EXPECT_EQ(event->level, 17);
  EXPECT_EQ(event->keyword, 0x20000000000030u);
  EXPECT_EQ(event->channel_name, "Acme-Shop/Admin");
  EXPECT_EQ(event->message, "Paid %1\nand %%1<");
  EXPECT_EQ(FieldsText(*event), "Id:UInt32");
  EXPECT_EQ(event->FixedOffset(0, 8), 0u);
}

TEST(Manifest, Names) {
  const ManifestSchemas parsed = Parse(Document(R"(
      <opcodes><opcode name="Pay" value="12"/><opcode name="Own" value="13"/></opcodes>
      <tasks><task name="Order" value="1"><opcodes><opcode name="Own" value="14"/></opcodes></task></tasks>
      <events>
        <event value="1" task="Order"/>
        <event value="2" task="Order" opcode="win:Info"/>
        <event value="3" task="Order" opcode="win:Start"/>
        <event value="4" task="Order" opcode="2"/>
        <event value="5" task="Order" opcode="Own"/>
        <event value="6" opcode="Own" symbol="Lonely"/>
        <event value="7" opcode="win:Start"/>
        <event value="8" task="Order" opcode="77"/>
        <event value="9" task="Order" opcode="12"/>
        <event value="10" task="Order" opcode="win:Receive"/>
      </events>)"));
  EXPECT_THAT(parsed.problems, IsEmpty());
  std::vector<std::string> names;
  for (const auto& schema : parsed.schemas) names.push_back(fmt::format("{} {}", schema->opcode, schema->name));
  EXPECT_THAT(names, ElementsAre("0 Order", "0 Order", "1 Order/Start", "2 Order/Stop", "14 Order/Own", "13 Lonely",
                                 "1 EventID(7)", "77 Order/Opcode(77)", "12 Order/Pay", "240 Order/Receive"));
}

TEST(Manifest, ClassicFormOfATaskWithAGuid) {
  const ManifestSchemas parsed = Parse(Document(R"(
      <keywords><keyword name="K" mask="1"/></keywords>
      <tasks><task name="Old" value="1" eventGUID="{99999999-0000-0000-0000-000000000001}"/>
        <opcodes><opcode name="Behind" value="33"/></opcodes></tasks>
      <events><event value="5" version="2" task="Old" opcode="33" keywords="K"/>
        <event value="100000" version="3" task="Old" opcode="Behind"/>
        <event value="6" version="2" task="Old" opcode="33" symbol="SameClassicForm"/></events>)"));
  EXPECT_THAT(parsed.problems, IsEmpty());
  ASSERT_EQ(parsed.schemas.size(), 4u);
  const EventSchema& classic = *parsed.schemas[0];
  EXPECT_EQ(ToString(classic.provider->guid), "99999999-0000-0000-0000-000000000001");
  EXPECT_EQ(classic.provider->name, "Acme-Shop");
  EXPECT_EQ(classic.key, (EventKey{true, 33, 2, 2}));
  EXPECT_EQ(classic.name, "Old/Behind");
  EXPECT_EQ(classic.keyword, 0u);
  EXPECT_EQ(parsed.schemas[1]->key, (EventKey{false, 5, 2, 2}));
  EXPECT_EQ(ToString(parsed.schemas[1]->provider->guid), kGuid);
  EXPECT_EQ(parsed.schemas[2]->key, (EventKey{true, 33, 3, 3}));
  EXPECT_EQ(parsed.schemas[3]->key, (EventKey{false, 6, 2, 2}));
}

TEST(Manifest, EveryInType) {
  const std::pair<const char*, InType> types[] = {
      {"win:UnicodeString", InType::kUnicodeString},
      {"win:AnsiString", InType::kAnsiString},
      {"win:Int8", InType::kInt8},
      {"win:UInt8", InType::kUInt8},
      {"win:Int16", InType::kInt16},
      {"win:UInt16", InType::kUInt16},
      {"win:Int32", InType::kInt32},
      {"win:UInt32", InType::kUInt32},
      {"win:Int64", InType::kInt64},
      {"win:UInt64", InType::kUInt64},
      {"win:Float", InType::kFloat},
      {"win:Double", InType::kDouble},
      {"win:Boolean", InType::kBoolean},
      {"win:GUID", InType::kGuid},
      {"win:Pointer", InType::kPointer},
      {"win:FILETIME", InType::kFileTime},
      {"win:SYSTEMTIME", InType::kSystemTime},
      {"win:SID", InType::kSid},
      {"win:HexInt32", InType::kHexInt32},
      {"win:HexInt64", InType::kHexInt64},
      {"win:CountedUnicodeString", InType::kCountedUtf16},
      {"win:CountedAnsiString", InType::kCountedAnsi},
      {"win:CountedBinary", InType::kCountedBinary},
      {"trace:UnicodeChar", InType::kUnicodeChar},
      {"trace:SizeT", InType::kSizeT},
      {"trace:WBEMSid", InType::kWbemSid},
      {"WIN:uint32", InType::kUInt32},
  };
  std::string fields;
  for (const auto& type : types) fields += fmt::format(R"(<data name="f" inType="{}"/>)", type.first);
  const auto event = ParseOne(WithFields(fields));
  ASSERT_EQ(event->properties.size(), std::size(types));
  for (size_t i = 0; i < std::size(types); ++i) {
    EXPECT_EQ(event->properties[i].in, types[i].second) << types[i].first;
    EXPECT_EQ(event->properties[i].out, OutType::kDefault) << types[i].first;
  }
}

TEST(Manifest, OutTypes) {
  struct {
    const char* in;
    const char* out;
    OutType expected;
  } const cases[] = {
      {"win:UnicodeString", "xs:string", OutType::kDefault},
      {"win:UInt16", "xs:string", OutType::kString},
      {"win:UInt8", "xs:boolean", OutType::kBoolean},
      {"win:Boolean", "xs:boolean", OutType::kDefault},
      {"win:UInt32", "xs:unsignedInt", OutType::kDefault},
      {"win:UInt16", "win:hexInt16", OutType::kHex},
      {"win:HexInt32", "win:HexInt32", OutType::kDefault},
      {"win:Pointer", "win:HexInt64", OutType::kDefault},
      {"win:UInt32", "win:PID", OutType::kPid},
      {"win:UInt32", "win:TID", OutType::kTid},
      {"win:UInt16", "win:Port", OutType::kPort},
      {"win:UInt32", "win:IPv4", OutType::kIpv4},
      {"win:UInt32", "win:NTSTATUS", OutType::kNtStatus},
      {"win:UInt32", "win:Win32Error", OutType::kWin32Error},
      {"win:Int32", "win:HResult", OutType::kHResult},
      {"win:AnsiString", "win:Utf8", OutType::kUtf8},
      {"win:UnicodeString", "win:Xml", OutType::kXml},
      {"win:UnicodeString", "win:Json", OutType::kJson},
      {"win:FILETIME", "xs:dateTime", OutType::kDefault},
      {"win:UInt64", "xs:dateTime", OutType::kDateTime},
      {"trace:Port", "", OutType::kPort},
      {"trace:IPAddrV4", "", OutType::kIpv4},
      {"trace:IPAddrV6", "", OutType::kIpv6},
  };
  for (const auto& one : cases) {
    const auto event =
        ParseOne(WithFields(fmt::format(R"(<data name="f" inType="{}" outType="{}"/>)", one.in, one.out)));
    ASSERT_EQ(event->properties.size(), 1u) << one.in;
    EXPECT_EQ(event->properties[0].out, one.expected) << one.in << ' ' << one.out;
  }
}

TEST(Manifest, CountsAndLengths) {
  const auto event = ParseOne(WithFields(R"(
      <data name="Size" inType="win:UInt16"/><data name="Blob" inType="win:Binary" length="Size"/>
      <data name="Four" inType="win:Binary" length="4"/><data name="Address" inType="win:Binary" outType="win:IPv6"/>
      <data name="Text" inType="win:UnicodeString" length="0x10"/><data name="List" inType="win:UInt8" count="Size"/>
      <data name="Pair" inType="win:Int32" count="2"/><data name="Plain" inType="win:Int32" length="4"/>
      <data name="Most" inType="win:Int8" count="65535"/>)"));
  EXPECT_EQ(FieldsText(*event),
            "Size:UInt16,Blob:Binary(Size),Four:Binary(4),Address:Binary(16),Text:UnicodeString(16),List:UInt8[Size],"
            "Pair:Int32[2],Plain:Int32,Most:Int8[65535]");
}

TEST(Manifest, StructsAndTheirNames) {
  const auto event = ParseOne(WithFields(R"(
      <data name="Count" inType="win:UInt8"/>
      <struct name="Items" count="Count"><data name="Count" inType="win:UInt16"/>
        <data name="Parts" inType="win:UInt8" count="Count"/></struct>
      <data name="Middle" inType="win:UInt16"/>
      <struct name="One"><data name="Parts" inType="win:UInt8" count="Count"/></struct>
      <data name="End" inType="win:UInt8"/>)"));
  EXPECT_EQ(event->top_level, 5);
  EXPECT_EQ(
      FieldsText(*event),
      "Count:UInt8,Items:struct{Count:UInt16;Parts:UInt8[Count]}[Count],Middle:UInt16,One:struct{Parts:UInt8[Count]},"
      "End:UInt8");
  // Inside Items the nearer Count counts, inside One that of the event.
  EXPECT_EQ(event->properties[6].count_value, 5);
  EXPECT_EQ(event->properties[7].count_value, 0);
  const std::byte payload[] = {std::byte{1}, std::byte{2}, std::byte{0}, std::byte{7}, std::byte{8},
                               std::byte{5}, std::byte{0}, std::byte{9}, std::byte{6}};
  DecodedFields fields;
  EXPECT_EQ(Decode(*event, payload, 8, fields), DecodeOutcome::kComplete);
}

TEST(Manifest, Maps) {
  const std::string maps = R"xml(<maps><valueMap name="V"><map value="1" message="$(string.one)"/>
      <map value="0x2" symbol="Two"/></valueMap><bitMap name="B"><map value="0x8" message="Eight"/></bitMap></maps>)xml";
  const auto event = ParseOne(WithFields(R"(<data name="f" inType="win:UInt32" map="V"/>
      <data name="g" inType="win:UInt32" map="B"/><data name="h" inType="win:UInt32" map="V"/>)",
                                         maps),
                              StringTable("en-US", R"(<string id="one" value="One "/>)"));
  ASSERT_EQ(event->maps.size(), 2u);
  EXPECT_EQ(event->properties[0].map, 0);
  EXPECT_EQ(event->properties[1].map, 1);
  EXPECT_EQ(event->properties[2].map, 0);
  EXPECT_EQ(*event->maps[0], (ValueMap{"V", false, {{1, "One"}, {2, "Two"}}}));
  EXPECT_EQ(*event->maps[1], (ValueMap{"B", true, {{8, "Eight"}}}));
}

TEST(Manifest, CultureEnUsElseTheFirst) {
  const std::string provider = R"xml(<events><event value="1" message="$(string.m)"/></events>)xml";
  const std::string german = StringTable("de-DE", R"(<string id="m" value="Hallo"/>)");
  const std::string french = StringTable("fr-FR", R"(<string id="m" value="Bonjour"/>)");
  const std::string english = StringTable("en-US", R"(<string id="m" value="Hello"/>)");
  EXPECT_EQ(ParseOne(provider, german + french)->message, "Hallo");
  EXPECT_EQ(ParseOne(provider, german + english + french)->message, "Hello");
}

TEST(Manifest, SeveralProviders) {
  const std::string second = R"(</provider><provider name="B" guid="{22222222-2222-3333-4444-555555555555}">
      <events><event value="1"/></events>)";
  const ManifestSchemas parsed = Parse(Document(R"(<events><event value="1"/></events>)" + second));
  ASSERT_EQ(parsed.schemas.size(), 2u);
  EXPECT_EQ(parsed.schemas[0]->provider->name, "Acme-Shop");
  EXPECT_EQ(parsed.schemas[1]->provider->name, "B");
  EXPECT_THAT(parsed.problems, IsEmpty());
}

TEST(Manifest, Encodings) {
  const std::string text = Document(R"(<events><event value="1" symbol="Größe𝄞"/></events>)");
  std::u16string units = Utf8ToUtf16(text);
  for (const bool bom : {false, true}) {
    for (const bool big : {false, true}) {
      std::string bytes;
      for (const char16_t unit : (bom ? u"\uFEFF" : u"") + units) {
        const char low = static_cast<char>(unit & 0xFF);
        const char high = static_cast<char>(unit >> 8);
        bytes += big ? high : low;
        bytes += big ? low : high;
      }
      const ManifestSchemas parsed = Parse(bytes);
      ASSERT_EQ(parsed.schemas.size(), 1u) << bom << big;
      EXPECT_EQ(parsed.schemas[0]->symbol, "Größe𝄞");
    }
  }
  EXPECT_EQ(Parse("\xEF\xBB\xBF" + text).schemas.size(), 1u);
  // What claims to be UTF-16 may have been saved as UTF-8.
  std::string liar = text;
  liar.insert(liar.find("?>"), R"( encoding="UTF-16")");
  EXPECT_EQ(Parse(liar).schemas.size(), 1u);
  // Bytes and references that are no characters are repaired.
  const auto broken = ParseOne("<events><event value=\"1\" symbol=\"a\xFF&#xD800;b\"/></events>");
  EXPECT_EQ(broken->symbol.find("a\xEF\xBF\xBD"), 0u);
  EXPECT_TRUE(utf8::is_valid(broken->symbol.begin(), broken->symbol.end()));
}

TEST(Manifest, ADefectCostsItsEventOnly) {
  struct {
    const char* defective;
    const char* says;
  } const cases[] = {
      {R"(<event value="7" version="2" template="None"/>)", "event 7 v2: there is no template 'None'"},
      {R"(<event value="7" template="UnknownType"/>)", "inType 'win:Bogus' is unknown"},
      {R"(<event value="7" template="NoType"/>)", "inType '' is unknown"},
      {R"(<event value="7" template="Later"/>)", "field 'a': count 'b' is no earlier field"},
      {R"(<event value="7" template="Self"/>)", "field 'a': length 'a' is no earlier field"},
      {R"(<event value="7" template="TextCount"/>)", "its count or length is not a number"},
      {R"(<event value="7" template="Giant"/>)", "field 'a': count 65536 is more than an event can hold"},
      {R"(<event value="7" template="GiantLength"/>)", "length 99999999999 is more than an event can hold"},
      {R"(<event value="7" template="Unsized"/>)", "field 'a': it is binary and has no length"},
      {R"(<event value="7" template="Nested"/>)", "field 'b': a struct cannot be in a struct"},
      {R"(<event value="7" template="AfterStruct"/>)", "field 'c': count 'n' is no earlier field"},
      {R"(<event value="x"/>)", "event x v0: its value or version is no number"},
      {R"(<event/>)", "event  v0: its value or version is no number"},
      {R"(<event value="7" version="65536"/>)", "its value or version is no number"},
      {R"(<event value="65536"/>)", "event 65536 v0: its value is too large for an event id"},
      {R"(<event value="1"/>)", "event 1 v0: it is there twice; the first counts"},
  };
  const std::string templates = R"(<templates>
      <template tid="UnknownType"><data name="a" inType="win:Bogus"/></template>
      <template tid="NoType"><data name="a"/></template>
      <template tid="Later"><data name="a" inType="win:UInt8" count="b"/><data name="b" inType="win:UInt8"/></template>
      <template tid="Self"><data name="a" inType="win:Binary" length="a"/></template>
      <template tid="TextCount"><data name="b" inType="win:AnsiString"/><data name="a" inType="win:UInt8" count="b"/>
        </template>
      <template tid="Giant"><data name="a" inType="win:UInt8" count="65536"/></template>
      <template tid="GiantLength"><data name="a" inType="win:Binary" length="99999999999"/></template>
      <template tid="Unsized"><data name="a" inType="win:Binary"/></template>
      <template tid="Nested"><struct name="a"><struct name="b"/></struct></template>
      <template tid="AfterStruct"><struct name="s"><data name="c" inType="win:UInt8" count="n"/></struct>
        <data name="n" inType="win:UInt8"/></template></templates>)";
  for (const auto& one : cases) {
    const ManifestSchemas parsed = Parse(Document(templates + R"(<events><event value="1" symbol="Good"/>)" +
                                                  one.defective + R"(<event value="2" symbol="AlsoGood"/></events>)"));
    EXPECT_THAT(parsed.problems,
                ElementsAre(AllOf(StartsWith("shop.man: provider 'Acme-Shop': event "), HasSubstr(one.says))))
        << one.says;
    ASSERT_EQ(parsed.schemas.size(), 2u) << one.says;
    EXPECT_EQ(parsed.schemas[0]->symbol, "Good");
    EXPECT_EQ(parsed.schemas[1]->symbol, "AlsoGood");
  }
}

TEST(Manifest, AMissingNameCostsTheNameOnly) {
  struct {
    const char* provider;
    const char* says;
  } const cases[] = {
      {R"(<events><event value="1" task="Nope"/></events>)", "event 1 v0: there is no task 'Nope'"},
      {R"(<events><event value="1" opcode="win:Nope"/></events>)", "there is no opcode 'win:Nope'"},
      {R"(<events><event value="1" opcode="256"/></events>)", "there is no opcode '256'"},
      {R"(<events><event value="1" level="Nope"/></events>)", "there is no level 'Nope'"},
      {R"(<events><event value="1" keywords="Nope"/></events>)", "there is no keyword 'Nope'"},
      {R"xml(<events><event value="1" message="$(string.nope)"/></events>)xml", "there is no message '$(string.nope)'"},
      {R"(<keywords><keyword name="k" mask="x"/></keywords><events><event value="1"/></events>)",
       "keyword 'k' has no valid mask"},
      {R"(<opcodes><opcode name="o" value="256"/></opcodes><events><event value="1"/></events>)",
       "opcode 'o' has no valid value"},
      {R"(<tasks><task name="t" value="65536"/></tasks><events><event value="1"/></events>)",
       "task 't' has no valid value"},
      {R"(<templates><template tid="T"><data name="a" inType="win:UInt8" map="M"/></template></templates>
          <events><event value="1" template="T"/></events>)",
       "template 'T': field 'a': there is no map 'M'"},
      {R"(<templates><template tid="T"><data name="a" inType="win:UInt8" outType="win:Odd"/></template></templates>
          <events><event value="1" template="T"/></events>)",
       "template 'T': field 'a': outType 'win:Odd' is unknown"},
      {R"(<templates><template tid="T"/><template tid="T"/></templates><events><event value="1"/></events>)",
       "template 'T' is there twice; the first counts"},
      {R"(<maps><valueMap name="M"><map value="z"/></valueMap></maps><events><event value="1"/></events>)",
       "map 'M': an entry has no valid value"},
      {R"(<maps><valueMap name="M"><map value="5"/></valueMap></maps><events><event value="1"/></events>)",
       "map 'M': value 5 has no name"},
  };
  for (const auto& one : cases) {
    const ManifestSchemas parsed = Parse(Document(one.provider));
    EXPECT_THAT(parsed.problems, ElementsAre(HasSubstr(one.says)));
    EXPECT_EQ(parsed.schemas.size(), 1u) << one.says;
  }
}

TEST(Manifest, AProviderWithoutAGuidIsLeftOut) {
  std::string text = Document(R"(<events><event value="1"/></events>)");
  text.replace(text.find(kGuid), 4, "oops");
  const ManifestSchemas parsed = Parse(text);
  EXPECT_THAT(parsed.problems, ElementsAre("shop.man: provider 'Acme-Shop': its guid is none"));
  EXPECT_THAT(parsed.schemas, IsEmpty());
}

TEST(Manifest, WhatIsNoManifest) {
  const std::string good = Document(R"(<events><event value="1"/></events>)");
  struct {
    std::string text;
    const char* says;
  } const cases[] = {
      {"", "shop.man: no XML: "},
      {"hello", "shop.man: no XML: "},
      {"<a/>", "shop.man: no instrumentation manifest"},
      {good.substr(0, good.size() - 5), "shop.man: no XML: "},
      {std::string(kMaxManifestBytes + 1, ' '), "shop.man: larger than the 64 MiB"},
      {std::string(3 << 20, '<'), "shop.man: too many elements"},
      {std::string(5 << 20, '='), "shop.man: too many elements"},
  };
  for (const auto& one : cases) {
    const auto parsed = ParseManifest(one.text, "shop.man", SchemaOrigin::kManifestFile);
    ASSERT_FALSE(parsed.ok()) << one.says;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()), StartsWith(one.says));
  }
  // Every other cut ends in an error too, or in no events.
  for (size_t length = 0; length < good.size(); ++length) {
    const auto parsed = ParseManifest(std::string_view(good).substr(0, length), "x", SchemaOrigin::kManifestFile);
    EXPECT_FALSE(parsed.ok()) << length;
  }
}

TEST(Manifest, FieldsUpToTheLimit) {
  std::string fields;
  for (size_t i = 0; i < kMaxProperties; ++i) fields += R"(<data name="f" inType="win:UInt8"/>)";
  EXPECT_EQ(ParseOne(WithFields(fields))->properties.size(), kMaxProperties);
  const ManifestSchemas parsed = Parse(Document(WithFields(fields + R"(<data name="f" inType="win:UInt8"/>)")));
  EXPECT_THAT(parsed.problems, ElementsAre(HasSubstr("it has more than 4096 fields")));
  EXPECT_THAT(parsed.schemas, IsEmpty());
}

TEST(Manifest, SmallTextCannotTakeMuchMemory) {
  // 5,000 events share a template of 4,096 fields.
  std::string fields;
  for (size_t i = 0; i < kMaxProperties; ++i) fields += R"(<data name="f" inType="win:UInt8"/>)";
  std::string events;
  for (int i = 0; i < 5000; ++i) events += fmt::format(R"(<event value="{}" template="T"/>)", i);
  const ManifestSchemas parsed = Parse(
      Document("<templates><template tid=\"T\">" + fields + "</template></templates><events>" + events + "</events>"));
  EXPECT_THAT(parsed.problems, ElementsAre(HasSubstr("its events take more than 256 MiB")));
  EXPECT_GT(parsed.schemas.size(), 100u);
  EXPECT_LT(parsed.schemas.size(), 2000u);
}

TEST(Manifest, ProblemsAreCountedBeyondTheFirstThousand) {
  std::string events;
  for (int i = 0; i < 1500; ++i) events += fmt::format(R"(<event value="{}" template="None"/>)", i);
  const ManifestSchemas parsed = Parse(Document("<events>" + events + "</events>"));
  ASSERT_EQ(parsed.problems.size(), 1001u);
  EXPECT_EQ(parsed.problems.back(), "shop.man: 500 more problems");
}

ManifestSchemas ParsePublic(const std::string& file) {
  std::ifstream in(test::TestDataDir() / "manifests" / file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = ParseManifest(text.str(), file, SchemaOrigin::kManifestFile);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? std::move(*parsed) : ManifestSchemas();
}

struct PublicFile {
  const char* name;
  size_t events;   // with an id
  size_t classic;  // with a task GUID and an opcode
};

class PublicManifest : public ::testing::TestWithParam<PublicFile> {};

TEST_P(PublicManifest, HasAllItsEventsAndPrintsAsText) {
  const auto& [file, events, classic] = GetParam();
  const auto missing = test::MissingData(test::TestDataDir() / "manifests" / file);
  if (!missing.empty()) GTEST_SKIP() << missing;
  const ManifestSchemas parsed = ParsePublic(file);
  EXPECT_THAT(parsed.problems, IsEmpty());
  size_t classic_found = 0;
  for (const auto& schema : parsed.schemas) classic_found += schema->key.classic ? 1 : 0;
  EXPECT_EQ(classic_found, classic);
  EXPECT_EQ(parsed.schemas.size() - classic_found, events);
  const std::string text = PrintSchemaText(parsed.schemas);
  const auto again = ParseSchemaText(text, file, SchemaOrigin::kManifestFile);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->size(), parsed.schemas.size());
  EXPECT_EQ(PrintSchemaText(*again), text);
}

// Ids above 65535 in the kernel's manifest say that its events exist in their classic form only.
INSTANTIATE_TEST_SUITE_P(Files, PublicManifest,
                         ::testing::Values(PublicFile{"ClrEtwAll.man", 384, 377},
                                           PublicFile{"CppBuildInsightsEtw.xml", 18, 0},
                                           PublicFile{"ETWClrProfiler.man", 19, 0},
                                           PublicFile{"kerneltraceevent.man.xml", 0, 251},
                                           PublicFile{"w3core.man.xml", 207, 207}),
                         [](const auto& tested) {
                           const std::string_view name = tested.param.name;
                           return std::string(name.substr(0, name.find('.')));
                         });

TEST(Manifest, ClrEventsEqualTheTable) {
  const auto table_path = test::TestDataDir() / "../docs/clr-events.tsv";
  for (const auto& path : {table_path, test::TestDataDir() / "manifests/ClrEtwAll.man"}) {
    if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  }
  std::map<std::string, const EventSchema*> schemas;
  const ManifestSchemas parsed = ParsePublic("ClrEtwAll.man");
  for (const auto& schema : parsed.schemas) {
    if (schema->key.classic) continue;
    schemas[fmt::format("{} {} {}", schema->provider->name, schema->key.number, schema->key.first_version)] =
        schema.get();
  }
  std::ifstream table(table_path);
  size_t compared = 0;
  for (std::string line; std::getline(table, line);) {
    std::vector<std::string> cells;
    std::stringstream rest(line);
    for (std::string cell; std::getline(rest, cell, '\t');) cells.push_back(cell);
    if (cells.size() < 11 || !cells[10].starts_with("perfview-man")) continue;
    const auto found = schemas.find(cells[0] + ' ' + cells[2] + ' ' + cells[3]);
    ASSERT_NE(found, schemas.end()) << line;
    const EventSchema& schema = *found->second;
    ++compared;
    // The runtime writes as many frames as it counts; its manifest gives the array the size of the C structure.
    std::string fields = cells[8];
    if (const size_t at = fields.find("Stack:Pointer[FrameCount]"); at != std::string::npos) {
      fields.replace(at, std::string::npos, "Stack:Pointer[2]");
    }
    EXPECT_EQ(FieldsText(schema), fields) << line;
    EXPECT_EQ(schema.symbol, cells[1]) << line;
    EXPECT_EQ(std::to_string(schema.opcode), cells[4]) << line;
    EXPECT_EQ(fmt::format("{}:{}", schema.task, schema.task_name), cells[5]) << line;
    EXPECT_EQ(fmt::format("0x{:x}", schema.keyword), cells[6]) << line;
    EXPECT_EQ(std::to_string(schema.level), cells[7]) << line;
  }
  EXPECT_GT(compared, 130u);
}

}  // namespace
}  // namespace etwpipe::schema

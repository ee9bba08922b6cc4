// The decoder on payloads laid out by hand: every in-type, counts and lengths of every origin, every cut.
#include "formats/schema/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "formats/schema/schema_text.h"
#include "formats/schema/schema_words.h"
#include "tests/formats/schema/schema_bytes.h"

namespace etwpipe::schema {
namespace {

// A schema of these field lines.
std::shared_ptr<const EventSchema> Fields(std::string_view lines) {
  std::string text = "provider P 00000000-0000-0000-0000-000000000001\nevent E id 1\n";
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    text += "  " + std::string(lines.substr(0, end)) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  auto parsed = ParseSchemaText(text, "test", SchemaOrigin::kBuiltIn);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? parsed->at(0) : nullptr;
}

std::string Decoded(std::string_view lines, std::span<const std::byte> payload, uint32_t pointer_size = 8) {
  return DecodeText(*Fields(lines), payload, pointer_size);
}

struct TypeCase {
  InType in;
  std::string_view type;  // as a schema text says it
  Bytes payload;
  std::string_view value;
};

std::vector<TypeCase> TypeCases() {
  const auto sid = [] { return Bytes().Hex("010200000000000520000000").U32(544); };
  return {
      {InType::kNull, "null", Bytes(), ""},
      {InType::kUnicodeString, "wstr", Bytes().Wide(u"h\u00e9\u4f60"), "'h\u00e9\u4f60'"},
      {InType::kUnicodeString, "wstr(3)", Bytes().RawWide({u"ab\0", 3}), "'ab'"},
      {InType::kUnicodeString, "wstr(3)", Bytes().RawWide(u"abc"), "'abc'"},
      {InType::kUnicodeString, "wstr(u16)", Bytes().U16(2).RawWide(u"ab"), "'ab'"},
      {InType::kUnicodeString, "wstr(*)", Bytes().RawWide(u"ab"), "'ab'"},
      {InType::kAnsiString, "astr", Bytes().Text("abc"), "'abc'"},
      {InType::kAnsiString, "astr(4)", Bytes().Raw({"a\0bc", 4}), "'a'"},
      {InType::kAnsiString, "astr(u16)", Bytes().U16(2).Raw("ab"), "'ab'"},
      {InType::kAnsiString, "astr(*)", Bytes().Raw("ab"), "'ab'"},
      {InType::kInt8, "i8", Bytes().U8(0x80), "-128"},
      {InType::kUInt8, "u8", Bytes().U8(0x80), "128"},
      {InType::kInt16, "i16", Bytes().U16(0x8000), "-32768"},
      {InType::kUInt16, "u16", Bytes().U16(0x8001), "32769"},
      {InType::kInt32, "i32", Bytes().U32(0xFFFFFFFE), "-2"},
      {InType::kUInt32, "u32", Bytes().U32(0xFFFFFFFE), "4294967294"},
      {InType::kInt64, "i64", Bytes().U64(1ull << 63), "-9223372036854775808"},
      {InType::kUInt64, "u64", Bytes().U64(1ull << 63), "9223372036854775808"},
      {InType::kFloat, "f32", Bytes().Add(0.1f), "0.1"},
      {InType::kDouble, "f64", Bytes().Add(0.1), "0.1"},
      {InType::kBoolean, "bool", Bytes().U32(0x100), "true"},
      {InType::kBoolean, "bool", Bytes().U32(0), "false"},
      {InType::kBinary, "binary(3)", Bytes().Hex("00ff7f"), "00ff7f"},
      {InType::kBinary, "binary(u16)", Bytes().U16(1).U8(0xAB), "ab"},
      {InType::kBinary, "binary(*)", Bytes().Hex("abcd"), "abcd"},
      {InType::kGuid, "guid", Bytes().Hex("00d9fd683e4ad11184f40000f80464e3"), "68fdd900-4a3e-11d1-84f4-0000f80464e3"},
      {InType::kPointer, "ptr", Bytes().U64(0xFFFF000012345678), "0xffff000012345678"},
      {InType::kFileTime, "filetime", Bytes().U64(132404980236236167), "2020-07-29T12:07:03.6236167Z"},
      {InType::kSystemTime, "systemtime", Bytes().Hex("e5070900040009000e003b0023001f03"), "2021-09-09T14:59:35.799Z"},
      {InType::kSid, "sid", sid(), "S-1-5-32-544"},
      {InType::kHexInt32, "hex32", Bytes().U32(0xC0000034), "0xc0000034"},
      {InType::kHexInt64, "hex64", Bytes().U64(16), "0x10"},
      {InType::kCountedUtf16, "counted_wstr", Bytes().U16(4).RawWide(u"ab"), "'ab'"},
      {InType::kCountedAnsi, "counted_astr", Bytes().U16(2).Raw("ab"), "'ab'"},
      {InType::kCountedBinary, "counted_binary", Bytes().U16(2).Hex("0102"), "0102"},
      {InType::kCountedString, "counted_string", Bytes().U16(2).RawWide(u"a"), "'a'"},
      {InType::kCountedAnsiString, "counted_ansi_string", Bytes().U16(1).Raw("a"), "'a'"},
      {InType::kReversedCountedString, "reversed_wstr", Bytes().Hex("0002").RawWide(u"a"), "'a'"},
      {InType::kReversedCountedAnsiString, "reversed_astr", Bytes().Hex("0001").Raw("a"), "'a'"},
      {InType::kRestUtf16, "rest_wstr", Bytes().RawWide(u"ab"), "'ab'"},
      {InType::kRestAnsi, "rest_astr", Bytes().Raw("ab"), "'ab'"},
      {InType::kUnicodeChar, "wchar", Bytes().U16('a'), "97"},
      {InType::kUnicodeChar, "wchar(2)", Bytes().RawWide(u"ab"), "'ab'"},
      {InType::kAnsiChar, "char", Bytes().U8('a'), "97"},
      {InType::kAnsiChar, "char(3)", Bytes().Raw("abc"), "'abc'"},
      {InType::kSizeT, "size", Bytes().U64(1ull << 40), "1099511627776"},
      {InType::kHexDump, "hexdump", Bytes().U32(2).Hex("beef"), "beef"},
      {InType::kWbemSid, "wbemsid", Bytes().U32(0), ""},
      {InType::kWbemSid, "wbemsid", Bytes().U64(0x1234).U64(0).Hex("010200000000000520000000").U32(544),
       "S-1-5-32-544"},
  };
}

TEST(Decoder, EveryInType) {
  std::vector<InType> seen = {InType::kStruct, InType::kPad};  // they have tests of their own
  for (const TypeCase& test : TypeCases()) {
    seen.push_back(test.in);
    const auto schema = Fields("A " + std::string(test.type));
    ASSERT_EQ(schema->properties[0].in, test.in) << test.type;
    EXPECT_EQ(DecodeText(*schema, test.payload), "A=" + std::string(test.value)) << test.type;
  }
  for (uint16_t i = 0; i <= 1000; ++i) {
    if (WordOf(InType{i}).empty()) continue;
    EXPECT_NE(std::find(seen.begin(), seen.end(), InType{i}), seen.end()) << WordOf(InType{i}) << " has no case";
  }
}

// A byte less is short, whatever the type; a string that lost its terminator is still shown.
TEST(Decoder, EveryInTypeCutByEveryCount) {
  for (const TypeCase& test : TypeCases()) {
    if (test.type.find('*') != std::string_view::npos || test.type.starts_with("rest")) continue;
    const auto schema = Fields("A " + std::string(test.type));
    const bool terminated = test.type == "wstr" || test.type == "astr";
    for (size_t size = 0; size < test.payload.size(); ++size) {
      DecodedFields fields;
      EXPECT_EQ(Decode(*schema, test.payload.first(size), 8, fields), DecodeOutcome::kShort)
          << test.type << ' ' << size;
      EXPECT_EQ(fields.tokens.size(), terminated && size > 0 ? 1u : 0u) << test.type << ' ' << size;
    }
    Bytes longer = test.payload;
    longer.U8(0);
    DecodedFields fields;
    EXPECT_EQ(Decode(*schema, longer, 8, fields), DecodeOutcome::kExtra) << test.type;
    EXPECT_EQ(fields.consumed, test.payload.size()) << test.type;
  }
}

TEST(Decoder, PointersAreAsWideAsTheEvents) {
  constexpr std::string_view kLines = "A ptr\nB size\nC u8";
  const Bytes narrow = Bytes().U32(0x80000000).U32(7).U8(1);
  EXPECT_EQ(Decoded(kLines, narrow, 4), "A=0x80000000 B=7 C=1");
  EXPECT_EQ(Decoded(kLines, narrow, 8), "short: A=0x780000000");
  const Bytes wbem = Bytes().U32(1).U32(0).Hex("010100000000000512000000");
  EXPECT_EQ(Decoded("A wbemsid", wbem, 4), "A=S-1-5-18");
}

TEST(Decoder, CountsAndLengthsOfEveryOrigin) {
  EXPECT_EQ(Decoded("A[3] u8", Bytes().Hex("010203")), "A=[1 2 3]");
  EXPECT_EQ(Decoded("A[0] u8\nB u8", Bytes().U8(1)), "A=[] B=1");
  EXPECT_EQ(Decoded("N u16\nX u8\nA[N] u16", Bytes().U16(2).U8(9).U16(5).U16(6)), "N=2 X=9 A=[5 6]");
  EXPECT_EQ(Decoded("A[u16] u8\nB u8", Bytes().U16(2).Hex("010203")), "A=[1 2] B=3");
  EXPECT_EQ(Decoded("A[*] u16", Bytes().U16(1).U16(2)), "A=[1 2]");
  EXPECT_EQ(Decoded("A[*] u16", Bytes().U16(1).U8(2)), "extra: A=[1]");
  EXPECT_EQ(Decoded("A[*] u16", Bytes()), "A=[]");
  EXPECT_EQ(Decoded("A[2] wstr", Bytes().Wide(u"a").Wide(u"")), "A=['a' '']");
  EXPECT_EQ(Decoded("A[u16] binary(u16)", Bytes().U16(2).U16(1).U8(7).U16(0)), "A=[07 ]");
  for (const auto& [type, size] : std::initializer_list<std::pair<std::string_view, int>>{{"i8", 1},
                                                                                          {"u8", 1},
                                                                                          {"i16", 2},
                                                                                          {"u16", 2},
                                                                                          {"i32", 4},
                                                                                          {"u32", 4},
                                                                                          {"hex32", 4},
                                                                                          {"bool", 4},
                                                                                          {"i64", 8},
                                                                                          {"u64", 8},
                                                                                          {"hex64", 8},
                                                                                          {"ptr", 8},
                                                                                          {"size", 8}}) {
    Bytes payload = Bytes().U8(2);
    for (int i = 1; i < size; ++i) payload.U8(0);
    payload.Raw("abcd");
    const std::string lines = "N " + std::string(type) + "\nA astr(N)\nB binary(N)";
    EXPECT_TRUE(Decoded(lines, payload).ends_with("A='ab' B=6364")) << type;
  }
  EXPECT_EQ(Decoded("N u8\nA wstr(N)\nB u8", Bytes().U8(2).RawWide(u"ab").U8(1)), "N=2 A='ab' B=1");
  EXPECT_EQ(Decoded("- pad(3)\nA u8", Bytes().Hex("ffffff07")), "A=7");
}

TEST(Decoder, Structs) {
  constexpr std::string_view kLines = R"(N u8
S[N] {
  M u8
  Inner[M] {
    T astr
  }
}
One {
  X u16
}
E u8)";
  const Bytes payload = Bytes().U8(2).U8(2).Text("a").Text("b").U8(0).U16(7).U8(9);
  EXPECT_EQ(Decoded(kLines, payload), "N=2 S=[{M=2 Inner=[{T='a'} {T='b'}]} {M=0 Inner=[]}] One={X=7} E=9");
  // A struct that is cut keeps nothing.
  EXPECT_EQ(Decoded(kLines, payload.first(5)), "short: N=2");
  EXPECT_EQ(Decoded(kLines, payload.first(8)), "short: N=2 S=[{M=2 Inner=[{T='a'} {T='b'}]} {M=0 Inner=[]}]");
  // Nor does the last element of an array that goes on to the end.
  EXPECT_EQ(Decoded("S[*] {\nA u8\nB u16\n}", Bytes().Hex("010200030400")), "S=[{A=1 B=2} {A=3 B=4}]");
  EXPECT_EQ(Decoded("S[*] {\nA u8\nB u16\n}", Bytes().Hex("0102000304")), "extra: S=[{A=1 B=2}]");
}

TEST(Decoder, ManySmallStructsAreNotHostile) {
  Bytes payload = Bytes().U16(1000);
  for (int i = 0; i < 1000; ++i) payload.U8(1);
  DecodedFields fields;
  EXPECT_EQ(Decode(*Fields("S[u16] {\nA u8\n}"), payload, 8, fields), DecodeOutcome::kComplete);
  EXPECT_EQ(fields.tokens.size(), 3002u);
}

TEST(Decoder, OptionalFieldsMayBeMissing) {
  constexpr std::string_view kLines = "A u8\nB u32 optional\nC wstr optional";
  EXPECT_EQ(Decoded(kLines, Bytes().U8(1)), "A=1");
  EXPECT_EQ(Decoded(kLines, Bytes().U8(1).U32(2)), "A=1 B=2");
  EXPECT_EQ(Decoded(kLines, Bytes().U8(1).U32(2).Wide(u"x")), "A=1 B=2 C='x'");
  EXPECT_EQ(Decoded(kLines, Bytes().U8(1).U16(2)), "short: A=1") << "half of one is not missing";
  EXPECT_EQ(Decoded(kLines, Bytes()), "short: ");
}

TEST(Decoder, StringsWithoutTerminatorEndWithThePayload) {
  EXPECT_EQ(Decoded("A wstr\nB u8", Bytes().RawWide(u"ab")), "short: A='ab'");
  EXPECT_EQ(Decoded("A wstr", Bytes().RawWide(u"ab").U8('c')), "short: A='ab'");
  EXPECT_EQ(Decoded("A astr", Bytes().Raw("ab")), "short: A='ab'");
  EXPECT_EQ(Decoded("A astr\nB u8 optional", Bytes().Raw("ab")), "short: A='ab'");
}

TEST(Decoder, SenselessCountsAndLengths) {
  EXPECT_EQ(Decoded("N u32\nA[N] u8", Bytes().U32(0x10000).U8(1)), "bad: N=65536");
  EXPECT_EQ(Decoded("N i8\nA[N] u8", Bytes().U8(0xFF).U8(1)), "bad: N=-1");
  EXPECT_EQ(Decoded("N u32\nA binary(N)", Bytes().U32(0xFFFFFFFF).U8(1)), "bad: N=4294967295");
  EXPECT_EQ(Decoded("N u32\nA[N] u8", Bytes().U32(0xFFFF).U8(1)), "short: N=65535");
  EXPECT_EQ(Decoded("A hexdump", Bytes().U32(0xFFFFFFFF).U8(1)), "short: ");
  EXPECT_EQ(Decoded("A counted_astr", Bytes().U16(0xFFFF).U8(1)), "short: ");
  Bytes sid = Bytes().U8(1).Hex("0110000000000005");
  for (int i = 0; i < 16; ++i) sid.U32(0);
  EXPECT_EQ(Decoded("X u8\nA sid", sid), "bad: X=1") << "a SID has at most 15 sub-authorities";
}

// What takes no bytes may not be had without end.
TEST(Decoder, WorkIsBounded) {
  DecodedFields fields;
  const Bytes payload = Bytes().U8(0);
  for (const std::string_view lines :
       {"A[65535] null", "A[65535] pad(0)", "A[65535] {\nB[65535] pad(0)\n}", "A[65535] {\n}",
        "A[65535] {\nB[65535] {\nC[0] u8\n}\n}", "A[65535] binary(0)"}) {
    EXPECT_EQ(Decode(*Fields(lines), payload, 8, fields), DecodeOutcome::kBad) << lines;
    EXPECT_EQ(fields.tokens.size(), 0u);
  }
  EXPECT_EQ(Decode(*Fields("A[*] null\nB u8"), payload, 8, fields), DecodeOutcome::kComplete);
}

TEST(Decoder, FixedOffsetsAreThoseOfTheDecoder) {
  const auto schema = Fields("A wchar(3)\nB char(5)\nC[2] u16\nD ptr\nE binary(2)\nF astr\nG u8");
  EXPECT_EQ(schema->FixedOffset(1, 8), 6u);
  EXPECT_EQ(schema->FixedOffset(2, 8), 11u);
  EXPECT_EQ(schema->FixedOffset(3, 8), 15u);
  EXPECT_EQ(schema->FixedOffset(4, 8), 23u);
  EXPECT_EQ(schema->FixedOffset(4, 4), 19u);
  EXPECT_EQ(schema->FixedOffset(5, 4), 21u);
  EXPECT_EQ(schema->FixedOffset(6, 4), EventSchema::kMoves);
  // 46341 times 92682 bytes: a little more than 32 bits hold.
  EXPECT_EQ(Fields("A[46341] wstr(46341)\nB u8")->FixedOffset(1, 8), EventSchema::kMoves);
}

// Every prefix of a payload gives the properties that end in it.
TEST(Decoder, EveryPrefixGivesWhatIsWhole) {
  const auto schema = Fields(R"(A u32
W wstr
N u16
B binary(N)
S[2] {
  X u8
  T astr
}
P ptr
C[u16] u16
G sid
Z astr)");
  const Bytes payload = Bytes()
                            .U32(1)
                            .Wide(u"wide")
                            .U16(3)
                            .Hex("010203")
                            .U8(1)
                            .Text("one")
                            .U8(2)
                            .Text("two")
                            .U64(5)
                            .U16(2)
                            .U16(8)
                            .U16(9)
                            .Hex("010100000000000512000000")
                            .Text("end");
  const std::vector<size_t> ends = {4, 14, 16, 19, 29, 37, 43, 55, 59};
  const std::vector<std::string> texts = {
      "A=1",   "W='wide'", "N=3",        "B=010203", "S=[{X=1 T='one'} {X=2 T='two'}]",
      "P=0x5", "C=[8 9]",  "G=S-1-5-18", "Z='end'"};
  ASSERT_EQ(payload.size(), ends.back());
  for (size_t size = 0; size <= payload.size(); ++size) {
    std::string wanted;
    size_t whole = 0;
    for (; whole < ends.size() && ends[whole] <= size; ++whole) wanted += (whole == 0 ? "" : " ") + texts[whole];
    if (size > 4 && size < 14) wanted += " W='" + std::string("wide").substr(0, (size - 4) / 2) + "'";
    // A string that is cut may also be the last thing of the last struct.
    if (size > 25 && size < 29)
      wanted += " S=[{X=1 T='one'} {X=2 T='" + std::string("two").substr(0, size - 25) + "'}]";
    if (size > 55 && size < 59) wanted += " Z='" + std::string("end").substr(0, size - 55) + "'";
    EXPECT_EQ(DecodeText(*schema, payload.first(size)), (size == payload.size() ? "" : "short: ") + wanted) << size;
  }
}

// Schemas with every in-type, count and length, nested at random.
class RandomSchema {
 public:
  explicit RandomSchema(std::mt19937& random) : random_(random) {}

  std::shared_ptr<const EventSchema> Make() {
    auto schema = std::make_shared<EventSchema>();
    auto provider = std::make_shared<ProviderSchema>();
    schema->provider = provider;
    schema->top_level = static_cast<uint16_t>(1 + Below(8));
    for (size_t i = 0; i < schema->top_level; ++i) schema->properties.push_back(Field(*schema));
    for (size_t i = 0; i < schema->properties.size(); ++i) {
      if (schema->properties[i].in != InType::kStruct || schema->properties.size() > 60) continue;
      schema->properties[i].first_member = static_cast<uint16_t>(schema->properties.size());
      const uint32_t members = Below(4);
      schema->properties[i].member_count = static_cast<uint16_t>(members);
      for (uint32_t member = 0; member < members; ++member) schema->properties.push_back(Field(*schema));
    }
    EXPECT_TRUE(schema->Finish().ok());
    return schema;
  }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  Property Field(const EventSchema& schema) {
    static const std::vector<InType> kTypes = [] {
      std::vector<InType> types;
      for (uint16_t i = 0; i <= 1000; ++i) {
        if (!WordOf(InType{i}).empty()) types.push_back(InType{i});
      }
      return types;
    }();
    Property property;
    // Numbers often, for counts to refer to.
    property.in = Below(3) == 0 ? InType::kUInt8 : kTypes[Below(static_cast<uint32_t>(kTypes.size()))];
    if (Below(4) == 0) std::tie(property.count, property.count_value) = Amount(schema);
    if (Below(3) == 0 && property.in != InType::kStruct) {
      std::tie(property.length, property.length_value) = Amount(schema);
    }
    property.optional = Below(6) == 0;
    return property;
  }

  std::pair<Extent, uint16_t> Amount(const EventSchema& schema) {
    switch (Below(4)) {
      case 0: return {Extent::kPrefix16, uint16_t{0}};
      case 1: return {Extent::kRest, uint16_t{0}};
      case 2:
        for (size_t i = schema.properties.size(); i-- > 0;) {
          const Property& other = schema.properties[i];
          if (other.in == InType::kUInt8 && other.count == Extent::kNone) {
            return {Extent::kField, static_cast<uint16_t>(i)};
          }
        }
        [[fallthrough]];
      default: return {Extent::kFixed, static_cast<uint16_t>(Below(5))};
    }
  }

  std::mt19937& random_;
};

TEST(Decoder, FindValueEqualsDecodeOnRandomEvents) {
  std::mt19937 random(20240607);
  DecodedFields fields;
  DecodedFields scratch;
  size_t found = 0;
  size_t complete = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto schema = RandomSchema(random).Make();
    std::vector<std::byte> payload(random() % 80);
    // Small numbers make counts that fit.
    for (auto& byte : payload) byte = static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : random() % 4);
    const uint32_t pointer_size = random() % 2 == 0 ? 4 : 8;
    const DecodeOutcome outcome = Decode(*schema, payload, pointer_size, fields);
    complete += outcome == DecodeOutcome::kComplete || outcome == DecodeOutcome::kExtra;
    ASSERT_LE(fields.tokens.size(), 4 * (payload.size() + schema->properties.size()) + 64);
    ASSERT_LE(fields.consumed, payload.size());
    int depth = 0;
    for (const Token& token : fields.tokens) {
      const bool ends = token.kind == TokenKind::kArrayEnd || token.kind == TokenKind::kStructEnd;
      depth += token.kind == TokenKind::kValue ? 0 : ends ? -1 : 1;
      ASSERT_GE(depth, 0);
      const int size = token.kind == TokenKind::kValue ? token.size : 0;
      ASSERT_LE(token.offset + size, fields.consumed);
    }
    ASSERT_EQ(depth, 0) << "what is opened is closed, however the payload ends";
    for (size_t i = 0; i < schema->top_level; ++i) {
      const Property& property = schema->properties[i];
      if (property.count != Extent::kNone || property.in == InType::kStruct || property.in == InType::kPad) continue;
      const auto token = std::find_if(fields.tokens.begin(), fields.tokens.end(),
                                      [&](const Token& each) { return each.property == i; });
      const auto value = FindValue(*schema, i, payload, pointer_size, scratch);
      ASSERT_EQ(value.has_value(), token != fields.tokens.end()) << "round " << round << " property " << i;
      if (!value) continue;
      ++found;
      ASSERT_EQ(value->data() - payload.data(), token->offset) << "round " << round << " property " << i;
      ASSERT_EQ(value->size(), token->size) << "round " << round << " property " << i;
    }
  }
  // The schemas are not all hopeless.
  EXPECT_GT(found, 20000u);
  EXPECT_GT(complete, 5000u);
}

}  // namespace
}  // namespace etwpipe::schema

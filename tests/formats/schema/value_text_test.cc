// Values as people read them: every out-type, bytes that are no text, sizes that do not fit.
#include "formats/schema/value_text.h"

#include <gtest/gtest.h>
#include <utf8.h>

#include <limits>
#include <random>
#include <set>

#include "formats/schema/schema_words.h"
#include "tests/formats/schema/schema_bytes.h"

namespace etwpipe::schema {
namespace {

Value ValueOf(InType in, OutType out, std::span<const std::byte> bytes) {
  Property property;
  property.in = in;
  property.out = out;
  Value value;
  ReadValue(property, bytes, value);
  return value;
}

std::string TextOf(InType in, OutType out, std::span<const std::byte> bytes) {
  std::string text;
  AppendText(ValueOf(in, out, bytes), text);
  return text;
}

TEST(ValueText, EveryOutType) {
  const struct {
    OutType out;
    InType in;
    Bytes bytes;
    ValueKind kind;
    std::string_view text;
  } cases[] = {
      {OutType::kDefault, InType::kUInt32, Bytes().U32(5), ValueKind::kUnsigned, "5"},
      {OutType::kNoPrint, InType::kUInt32, Bytes().U32(5), ValueKind::kUnsigned, "5"},
      {OutType::kString, InType::kUInt8, Bytes().U8('a'), ValueKind::kUnsigned, "97"},
      {OutType::kString, InType::kUInt16, Bytes().U16('a'), ValueKind::kUnsigned, "97"},
      {OutType::kString, InType::kAnsiString, Bytes().Raw("a"), ValueKind::kText, "a"},
      {OutType::kBoolean, InType::kUInt8, Bytes().U8(2), ValueKind::kBool, "true"},
      {OutType::kBoolean, InType::kBoolean, Bytes().U32(0), ValueKind::kBool, "false"},
      {OutType::kHex, InType::kUInt8, Bytes().U8(255), ValueKind::kHex, "0xff"},
      {OutType::kHex, InType::kInt32, Bytes().U32(0xFFFFFFFF), ValueKind::kHex, "0xffffffff"},
      {OutType::kHex, InType::kBinary, Bytes().Hex("01"), ValueKind::kForm, "01"},
      {OutType::kPid, InType::kUInt32, Bytes().U32(0xFFFFFFFF), ValueKind::kUnsigned, "4294967295"},
      {OutType::kTid, InType::kUInt32, Bytes().U32(7), ValueKind::kUnsigned, "7"},
      {OutType::kPort, InType::kUInt16, Bytes().Hex("01bb"), ValueKind::kUnsigned, "443"},
      {OutType::kIpv4, InType::kUInt32, Bytes().Hex("7f000001"), ValueKind::kForm, "127.0.0.1"},
      {OutType::kIpv6, InType::kBinary, Bytes().Hex("20010db8000000000000000000000001"), ValueKind::kForm,
       "2001:db8::1"},
      {OutType::kIpv6, InType::kBinary, Bytes().Hex("2001"), ValueKind::kForm, "2001"},
      {OutType::kSocketAddress, InType::kBinary, Bytes().Hex("020001bb7f0000010000000000000000"), ValueKind::kForm,
       "127.0.0.1:443"},
      {OutType::kSocketAddress, InType::kCountedBinary,
       Bytes().Hex("170001bb00000000000000000000000000000000000000010000000000"), ValueKind::kForm, "[::1]:443"},
      {OutType::kSocketAddress, InType::kBinary, Bytes().Hex("020001"), ValueKind::kForm, "020001"},
      {OutType::kSocketAddress, InType::kBinary, Bytes(), ValueKind::kForm, ""},
      {OutType::kXml, InType::kAnsiString, Bytes().Raw("<\u00e9/>"), ValueKind::kText, "<\u00e9/>"},
      {OutType::kJson, InType::kCountedAnsi, Bytes().Raw("{}"), ValueKind::kText, "{}"},
      {OutType::kUtf8, InType::kAnsiString, Bytes().Raw("\u4f60"), ValueKind::kText, "\u4f60"},
      {OutType::kWin32Error, InType::kUInt32, Bytes().U32(5), ValueKind::kUnsigned, "5"},
      {OutType::kNtStatus, InType::kUInt32, Bytes().U32(0xC0000005), ValueKind::kHex, "0xc0000005"},
      {OutType::kHResult, InType::kInt32, Bytes().U32(0x80004005), ValueKind::kHex, "0x80004005"},
      {OutType::kDateTime, InType::kUInt64, Bytes().U64(0), ValueKind::kForm, "1601-01-01T00:00:00.0000000Z"},
      {OutType::kDateTime, InType::kFileTime, Bytes().U64(10'000'000), ValueKind::kForm,
       "1601-01-01T00:00:01.0000000Z"},
      {OutType::kDateTime, InType::kUInt32, Bytes().U32(9), ValueKind::kUnsigned, "9"},
      {OutType::kSigned, InType::kUInt16, Bytes().U16(0xFFFF), ValueKind::kSigned, "-1"},
      {OutType::kSigned, InType::kHexInt64, Bytes().U64(UINT64_MAX), ValueKind::kSigned, "-1"},
      {OutType::kUnsigned, InType::kInt8, Bytes().U8(0xFF), ValueKind::kUnsigned, "255"},
      {OutType::kUnsigned, InType::kHexInt32, Bytes().U32(16), ValueKind::kUnsigned, "16"},
      {OutType::kCodePointer, InType::kPointer, Bytes().U64(255), ValueKind::kHex, "0xff"},
      {OutType::kPkcs7, InType::kBinary, Bytes().Hex("3080"), ValueKind::kForm, "3080"},
  };
  std::set<OutType> seen;
  for (const auto& test : cases) {
    seen.insert(test.out);
    EXPECT_EQ(TextOf(test.in, test.out, test.bytes), test.text) << WordOf(test.in) << ':' << WordOf(test.out);
    EXPECT_EQ(ValueOf(test.in, test.out, test.bytes).kind, test.kind) << WordOf(test.in) << ':' << WordOf(test.out);
  }
  for (uint8_t i = 0; i < 100; ++i) {
    const bool covered = WordOf(OutType{i}).empty() || seen.count(OutType{i}) == 1;
    EXPECT_TRUE(covered) << WordOf(OutType{i}) << " has no case";
  }
}

TEST(ValueText, NumbersKeepTheirBits) {
  const Value low = ValueOf(InType::kInt8, OutType::kDefault, Bytes().U8(0x80));
  EXPECT_EQ(low.kind, ValueKind::kSigned);
  EXPECT_EQ(low.integer(), -128);
  EXPECT_EQ(ValueOf(InType::kUInt64, OutType::kDefault, Bytes().U64(UINT64_MAX)).bits, UINT64_MAX);
  EXPECT_EQ(ValueOf(InType::kFileTime, OutType::kDefault, Bytes().U64(77)).bits, 77u);
}

TEST(ValueText, RealsAreShortest) {
  EXPECT_EQ(TextOf(InType::kFloat, OutType::kDefault, Bytes().Add(16777216.0f)), "16777216");
  EXPECT_EQ(TextOf(InType::kFloat, OutType::kDefault, Bytes().Add(1e-10f)), "1e-10");
  EXPECT_EQ(TextOf(InType::kDouble, OutType::kDefault, Bytes().Add(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(TextOf(InType::kDouble, OutType::kDefault, Bytes().Add(-0.0)), "-0");
  EXPECT_EQ(TextOf(InType::kDouble, OutType::kDefault, Bytes().Add(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(TextOf(InType::kFloat, OutType::kDefault, Bytes().Add(std::numeric_limits<float>::quiet_NaN())), "nan");
}

TEST(ValueText, SidsAndTimesAtTheirLimits) {
  EXPECT_EQ(TextOf(InType::kSid, OutType::kDefault, Bytes().Hex("0100000000000005")), "S-1-5");
  EXPECT_EQ(TextOf(InType::kSid, OutType::kDefault, Bytes().Hex("01010000FFFFFFFF").U32(UINT32_MAX)),
            "S-1-4294967295-4294967295");
  EXPECT_EQ(TextOf(InType::kSid, OutType::kDefault, Bytes().Hex("0100000100000000")), "S-1-0x100000000");
  EXPECT_EQ(TextOf(InType::kWbemSid, OutType::kDefault, Bytes()), "");
  EXPECT_EQ(TextOf(InType::kFileTime, OutType::kDefault, Bytes().U64(UINT64_MAX)), "1601-01-01T00:00:00.0000000Z");
  EXPECT_EQ(TextOf(InType::kSystemTime, OutType::kDefault, Bytes().Hex("ffffffffffffffffffffffffffffffff")),
            "65535-65535-65535T65535:65535:65535.65535Z");
}

TEST(ValueText, Utf16WithLoneSurrogates) {
  constexpr std::string_view kReplaced = "\xEF\xBF\xBD";
  const auto text = [](const Bytes& bytes) { return TextOf(InType::kUnicodeString, OutType::kDefault, bytes); };
  EXPECT_EQ(text(Bytes().U16(0xD83D).U16(0xDE00)), "\xF0\x9F\x98\x80");
  EXPECT_EQ(text(Bytes().U16(0xDBFF).U16(0xDFFF)), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(text(Bytes().U16(0xD83D)), kReplaced);
  EXPECT_EQ(text(Bytes().U16(0xDE00)), kReplaced);
  EXPECT_EQ(text(Bytes().U16(0xD83D).U16('a')), std::string(kReplaced) + "a");
  EXPECT_EQ(text(Bytes().U16(0xD83D).U16(0xD83D).U16(0xDE00)), std::string(kReplaced) + "\xF0\x9F\x98\x80");
  EXPECT_EQ(text(Bytes().U16(0xDE00).U16(0xD83D)), std::string(kReplaced) + std::string(kReplaced));
  EXPECT_EQ(text(Bytes().U16('a').U8(0xD8)), "a") << "half a unit is no text";
  EXPECT_EQ(text(Bytes().U16(0x7F).U16(0x80).U16(0x7FF).U16(0x800).U16(0xFFFF)),
            "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
  EXPECT_EQ(TextOf(InType::kCountedUtf16, OutType::kDefault, Bytes().RawWide(std::u16string_view(u"a\0b", 3))),
            std::string("a\0b", 3));
}

TEST(ValueText, NarrowTextThatIsNoUtf8IsLatin1) {
  EXPECT_EQ(TextOf(InType::kAnsiString, OutType::kDefault, Bytes().Hex("63616665cc81")), "cafe\u0301");
  EXPECT_EQ(TextOf(InType::kAnsiString, OutType::kDefault, Bytes().Hex("636166e9")), "caf\u00e9");
  EXPECT_EQ(TextOf(InType::kAnsiString, OutType::kXml, Bytes().Hex("eda080")), "\u00ed\u00a0\u0080")
      << "a surrogate is no UTF-8";
}

// Any bytes with any types: valid UTF-8, nothing read outside (a sanitizer sees it), and no state of the value before.
TEST(ValueText, AnyBytesWithAnyTypes) {
  std::mt19937 random(7);
  Value used;
  for (uint16_t in = 0; in <= 1001; ++in) {
    if (WordOf(InType{in}).empty() && in != 1001) continue;
    for (uint8_t out = 0; out <= 22; ++out) {
      for (size_t size = 0; size <= 40; ++size) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        Property property;
        property.in = InType{in};
        property.out = OutType{out};
        property.length = random() % 2 == 0 ? Extent::kNone : Extent::kFixed;
        ReadValue(property, bytes, used);
        Value fresh;
        ReadValue(property, bytes, fresh);
        std::string text;
        std::string fresh_text;
        AppendText(used, text);
        AppendText(fresh, fresh_text);
        ASSERT_EQ(text, fresh_text) << in << ' ' << int{out} << ' ' << size;
        ASSERT_TRUE(utf8::is_valid(text.begin(), text.end())) << in << ' ' << int{out} << ' ' << size;
      }
    }
  }
}

}  // namespace
}  // namespace etwpipe::schema

// Fields as JSON and as text: arrays of characters, structs in arrays, names of values, what is left over or missing.
#include "tests/cli/decoded_fixture.h"
#include "tools/fields_json.h"
#include "tools/fields_text.h"

namespace etwpipe {
namespace {

class Fields : public DecodedFixture {
 protected:
  std::string Json(const std::string& fields, const PayloadBytes& payload) {
    SetSchema(std::string(kTestEvent) + fields);
    JsonWriter json;
    WriteFields(json, Load(payload), value_);
    return std::string(json.text());
  }
  std::string Text(const std::string& fields, const PayloadBytes& payload) {
    SetSchema(std::string(kTestEvent) + fields);
    std::string text;
    AppendFields(Load(payload), value_, text);
    return text;
  }
};

TEST_F(Fields, ArraysOfCharactersAreOneText) {
  const PayloadBytes payload = PayloadBytes().Chars("abc").Wide(u"d\u00e9").Chars("u8").Wide(u"16").Add(uint16_t{0});
  const std::string fields =
      "  Narrow[3] char\n  Wide[2] wchar\n  Bytes[2] u8:string\n  Words[2] u16:string\n  None[u16] char\n";
  EXPECT_EQ(Json(fields, payload), R"({"Narrow":"abc","Wide":"d)"
                                   "\u00e9"
                                   R"(","Bytes":"u8","Words":"16","None":""})");
  EXPECT_EQ(Text(fields, payload), " Narrow=abc Wide=d\u00e9 Bytes=u8 Words=16 None=\"\"");
}

TEST_F(Fields, ArraysOfNumbersStayNumbers) {
  const PayloadBytes payload = PayloadBytes().Add(uint8_t{72}).Add(uint8_t{105}).Add(uint16_t{1}).Add(int32_t{-4});
  const std::string fields = "  Bytes[2] u8\n  Some[u16] i32\n";
  EXPECT_EQ(Json(fields, payload), R"({"Bytes":[72,105],"Some":[-4]})");
  EXPECT_EQ(Text(fields, payload), " Bytes=[72, 105] Some=[-4]");
}

TEST_F(Fields, StructsNestInArraysAndStructs) {
  const std::string fields =
      "  Count u8\n  Outer[Count] {\n    Id u8\n    Inner {\n      Name[2] char\n      Values[u16] u8\n    }\n  }\n  "
      "Last u8\n";
  PayloadBytes payload;
  payload.Add(uint8_t{2});
  payload.Add(uint8_t{1}).Chars("ab").Add(uint16_t{2}).Add(uint8_t{8}).Add(uint8_t{9});
  payload.Add(uint8_t{2}).Chars("cd").Add(uint16_t{0});
  payload.Add(uint8_t{3});
  EXPECT_EQ(Json(fields, payload), R"({"Count":2,"Outer":[{"Id":1,"Inner":{"Name":"ab","Values":[8,9]}},)"
                                   R"({"Id":2,"Inner":{"Name":"cd","Values":[]}}],"Last":3})");
  EXPECT_EQ(Text(fields, payload),
            " Count=2 Outer=[{Id=1 Inner={Name=ab Values=[8, 9]}}, {Id=2 Inner={Name=cd Values=[]}}] Last=3");
}

TEST_F(Fields, NamesOfValuesStandBesideThem) {
  const std::string fields = "  Reason u32 Reasons\n  Bits u8:hex Bits\n  Unknown u8 Reasons\n  Rest u8:hex Bits\n";
  SetSchema("map Reasons\n  1 \"Low memory\"\nflags Bits\n  0x1 One\n  0x4 Four\n" + std::string(kTestEvent) + fields);
  const PayloadBytes payload = PayloadBytes().Add(uint32_t{1}).Add(uint8_t{5}).Add(uint8_t{2}).Add(uint8_t{0x84});
  JsonWriter json;
  WriteFields(json, Load(payload), value_);
  EXPECT_EQ(json.text(), R"({"Reason":{"value":1,"name":"Low memory"},"Bits":{"value":"0x5","name":"One|Four"},)"
                         R"("Unknown":{"value":2,"name":null},"Rest":{"value":"0x84","name":"Four|0x80"}})");
  std::string text;
  AppendFields(Load(payload), value_, text);
  EXPECT_EQ(text, " Reason=Low memory(1) Bits=One|Four(0x5) Unknown=2 Rest=Four|0x80(0x84)");
}

TEST_F(Fields, BytesBehindTheLastFieldAreExtra) {
  const PayloadBytes payload = PayloadBytes().Add(uint8_t{7}).Add(uint8_t{0xAB}).Add(uint8_t{0x0C});
  EXPECT_EQ(Json("  A u8\n", payload), R"({"A":7,"_extra":"ab0c"})");
  EXPECT_EQ(Text("  A u8\n", payload), " A=7 _extra=ab0c");
  EXPECT_EQ(Json("", payload), R"({"_extra":"07ab0c"})");
  EXPECT_EQ(Json("", {}), "{}");
}

TEST_F(Fields, AShortPayloadShowsWhatIsWholeAndTheRestAsExtra) {
  const PayloadBytes payload = PayloadBytes().Add(uint8_t{7}).Add(uint8_t{1}).Add(uint8_t{2});
  EXPECT_EQ(Json("  A u8\n  B u32\n  C u8\n", payload), R"({"A":7,"_extra":"0102"})");
  // Half an array would look whole.
  EXPECT_EQ(Json("  A u8\n  B[3] u8\n", payload), R"({"A":7,"_extra":"0102"})");
}

TEST_F(Fields, NumbersKeepTheirValueInJson) {
  const PayloadBytes payload = PayloadBytes()
                                   .Add(UINT64_MAX)
                                   .Add(INT64_MIN)
                                   .Add(uint64_t{0xFFFFF80012345678})
                                   .Add(0.1f)
                                   .Add(1e300)
                                   .Add(uint32_t{2});
  EXPECT_EQ(
      Json("  U u64\n  I i64\n  P ptr\n  F f32\n  D f64\n  B bool\n", payload),
      R"({"U":"18446744073709551615","I":"-9223372036854775808","P":"0xfffff80012345678","F":0.1,"D":1e300,"B":true})");
  EXPECT_EQ(Text("  U u64\n  I i64\n  P ptr\n  F f32\n  D f64\n  B bool\n", payload),
            " U=18446744073709551615 I=-9223372036854775808 P=0xfffff80012345678 F=0.1 D=1e+300 B=true");
}

TEST_F(Fields, TextStaysOnItsLineAndInItsQuotes) {
  const auto text = [&](std::string_view value) { return Text("  A astr\n", PayloadBytes().Chars(value).Add('\0')); };
  EXPECT_EQ(text("plain"), " A=plain");
  EXPECT_EQ(text(""), " A=\"\"");
  EXPECT_EQ(text("two words"), " A=\"two words\"");
  EXPECT_EQ(text("a\r\nb\tc"), " A=\"a\\r\\nb\\tc\"");
  EXPECT_EQ(text("say \"x\""), " A=\"say \\\"x\\\"\"");
  EXPECT_EQ(text("a=b"), " A=\"a=b\"");
  // Characters that command a terminal: escape, delete, and the one-character form of escape [.
  EXPECT_EQ(text("a\x1B[31m"), " A=\"a [31m\"");
  EXPECT_EQ(text("a\x7F"), " A=a ");
  EXPECT_EQ(text("a\u009b31m"), " A=a 31m");
  EXPECT_EQ(text("a \u0085 b"), " A=\"a   b\"");
  EXPECT_EQ(text("\u00a0\u00e9"), " A=\u00a0\u00e9");
}

TEST_F(Fields, JsonIsValidWhateverTheBytesAre) {
  EXPECT_EQ(Json("  A astr\n  B[1] wchar\n", PayloadBytes().Chars("\x80\n").Add('\0').Add(uint16_t{0xD800})),
            "{\"A\":\"\u0080\\n\",\"B\":\"\uFFFD\"}");
}

}  // namespace
}  // namespace etwpipe

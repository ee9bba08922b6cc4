// Messages: where their fields go, and texts that no compiler of messages would write.
#include <chrono>

#include "tests/cli/decoded_fixture.h"
#include "tools/fields_text.h"

namespace etwpipe {
namespace {

class Messages : public DecodedFixture {
 protected:
  // The message of an event with these fields, put after something that is there already.
  std::string Message(const std::string& message, const std::string& fields, const PayloadBytes& payload) {
    SetSchema(std::string(kTestEvent) + "  message \"" + message + "\"\n" + fields);
    std::string text = "> ";
    AppendMessage(Load(payload), value_, text);
    return text;
  }
  std::string Message(const std::string& message) {
    return Message(message, "  A u8\n  B astr\n", PayloadBytes().Add(uint8_t{5}).Chars("two words").Add('\0'));
  }
};

TEST_F(Messages, HaveTheirFieldsFilledIn) {
  EXPECT_EQ(Message("no field"), "> no field");
  EXPECT_EQ(Message("%1 and %2."), "> 5 and two words.");
  EXPECT_EQ(Message("%2%1%1"), "> two words55");
  EXPECT_EQ(Message(""), "> ");
}

TEST_F(Messages, DropFormats) {
  EXPECT_EQ(Message("%1!d! of %2!s!!"), "> 5 of two words!");
  EXPECT_EQ(Message("%1!08X!"), "> 5");
  EXPECT_EQ(Message("%1! no format"), "> 5! no format");
}

TEST_F(Messages, HaveEscapes) {
  EXPECT_EQ(Message("100%% of%nline%rline%ttab%bend"), "> 100% of line line tab end");
  EXPECT_EQ(Message("a%.b%!c"), "> a.b!c");
  EXPECT_EQ(Message("100% sure"), "> 100 sure");
  EXPECT_EQ(Message("%"), "> %");
  EXPECT_EQ(Message("%%%%1"), "> %%1");
  EXPECT_EQ(Message("%%1"), "> %1");
}

TEST_F(Messages, LeaveOutFieldsThatAreNotThere) {
  EXPECT_EQ(Message("[%3] [%99] [%0]"), "> [] [] []");
  // A payload that ends early lacks its last fields.
  EXPECT_EQ(Message("[%1] [%2]", "  A u8\n  B u32\n", PayloadBytes().Add(uint8_t{5})), "> [5] []");
}

TEST_F(Messages, ReachNinetyNineFields) {
  std::string fields;
  PayloadBytes payload;
  for (int i = 1; i <= 120; ++i) {
    fields += "  F" + std::to_string(i) + " u8\n";
    payload.Add(static_cast<uint8_t>(i + 100));
  }
  EXPECT_EQ(Message("%1 %9 %10 %99 %100 %01", fields, payload), "> 101 109 110 199 1100 101");
}

TEST_F(Messages, ShowArraysStructsNamesAndCharacters) {
  SetSchema("map Reasons\n  1 \"Low memory\"\n" + std::string(kTestEvent) +
            "  message \"%1 %2 %3 %4\"\n  Reason u8 Reasons\n  List[2] u8\n  Pair {\n    X u8\n    Y[2] char\n  }\n"
            "  Word[3] char\n");
  std::string text;
  AppendMessage(Load(PayloadBytes().Add(uint8_t{1}).Add(uint8_t{2}).Add(uint8_t{3}).Add(uint8_t{4}).Chars("hithe")),
                value_, text);
  EXPECT_EQ(text, "Low memory [2, 3] {X=4 Y=hi} the");
}

TEST_F(Messages, AreOneLineThatCommandsNoTerminal) {
  EXPECT_EQ(Message("a\\nb"), "> a b");
  EXPECT_EQ(Message("%1", "  A astr\n", PayloadBytes().Chars("x\n\x1B[2J\u009b2J").Add('\0')), "> x  [2J 2J");
}

// Without a bound these would take minutes and gigabytes.
TEST_F(Messages, OfHostileTracesAreBounded) {
  std::string again;
  for (int i = 0; i < 100'000; ++i) again += "%1";
  const PayloadBytes big = PayloadBytes().Chars(std::string(60'000, 'x')).Add('\0');
  const std::string text = Message(again, "  A astr\n", big);
  EXPECT_LT(text.size(), size_t{2} << 20);
  EXPECT_TRUE(text.ends_with("x...")) << text.substr(text.size() - 10);

  std::string missing;
  for (int i = 0; i < 300'000; ++i) missing += "%9";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Message(missing, "  A[*] u8\n", PayloadBytes().Chars(std::string(60'000, 'x'))), "> ");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));

  EXPECT_LE(Message(std::string(3 << 20, 'm'), "", {}).size(), size_t{2} << 20);
}

}  // namespace
}  // namespace etwpipe

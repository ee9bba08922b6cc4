#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "stages/filter_where/expression.h"

namespace etwpipe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string ErrorOf(const std::string& text) {
  const auto expression = Expression::Parse(text);
  if (expression.ok()) return "no error";
  EXPECT_EQ(expression.status().code(), StatusCode::kInvalidArgument);
  return std::string(expression.status().message());
}

TEST(ExpressionErrors, PointAtTheColumnAndSayWhatIsWrong) {
  const struct {
    const char* text;
    int column;
    const char* says;
  } cases[] = {
      {"", 1, "the expression ends"},
      {"level <=", 9, "the expression ends; a name, a value or '(' should stand here"},
      {"levl <= 4", 1, "unknown name 'levl' (did you mean level?)"},
      {"pid == 1 and levl <= 4", 14, "unknown name 'levl'"},
      {"name == 4", 9, "'name' cannot be compared with a number; it needs a text in quotes"},
      {"payload.Size == 4s", 17, "'payload.Size' cannot be compared with a duration"},
      {"payload.Size", 1, "'payload.Size' is not a condition"},
      {"payload.Id < e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 12, "a GUID has no order"},
      {"payload[4] == 4", 9, "payload[ needs a field's name in quotes"},
      {"payload['a' == 4", 13, "a ']' is missing"},
      {"keyword & Nonsense", 11, "unknown name 'Nonsense'"},
      {"level", 1, "'level' is not a condition"},
      {"not level", 5, "'level' is not a condition"},
      {"5", 1, "a number is not a condition"},
      {"'x' and true", 1, "a string is not a condition"},
      {"level = 4", 7, "write '==' for '='"},
      {"a && b", 3, "write 'and' for '&&'"},
      {"a || b", 3, "write 'or' for '||'"},
      {"!level", 1, "write 'not' for '!'"},
      {"level == 'x'", 10, "'level' cannot be compared with a string; it needs a number"},
      {"level == 10s", 10, "'level' cannot be compared with a duration"},
      {"time > 5", 8, "'time' cannot be compared with a number; it needs a duration"},
      {"time > 'yesterday'", 8, "'yesterday' is not a time"},
      {"time & 5", 1, "'&' works on numbers, not on 'time'"},
      {"-'x' == 4", 2, "'-' works on numbers, not on a string"},
      {"~10s == 4", 2, "'~' works on numbers"},
      {"provider < e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 10, "'provider' has no order"},
      {"provider == 4", 13, "it needs a GUID or the name of a provider"},
      {"provider == 'Microsoft-Windows-DotNETRuntme'", 13, "(did you mean Microsoft-Windows-DotNETRuntime"},
      {"provider == e13c0d23-ccbc-4e12-931b-d9cc2eee27e", 13, "a GUID has 8-4-4-4-12 hexadecimal digits"},
      {"provider == provider", 13, "cannot be compared with 'provider'"},
      {"header == 'EVENT_HEADER46'", 11, "(did you mean EVENT_HEADER"},
      {"header == 'event_header64'", 11, "unknown header kind"},
      {"header =~ '('", 11, "bad regular expression"},
      {"header =~ 5", 11, "'=~' needs a regular expression in quotes"},
      {"pid =~ '4'", 1, "'=~' needs a text on its left"},
      {"pid in 4", 8, "'in' needs a list"},
      {"pid in (4", 10, "the list needs ',' or ')'"},
      {"pid in ()", 9, "a name, a value or '('"},
      {"pid in (tid)", 9, "a list holds constants, not 'tid'"},
      {"pid in (4, 'x')", 12, "cannot be compared with a string"},
      {"4 in (4)", 1, "'in' needs a field on its left"},
      {"pid not in (4)", 5, "write 'not x in (..)'"},
      {"1 < level < 4", 11, "comparisons do not chain"},
      {"(level == 4", 12, "a ')' is missing"},
      {"level == 4)", 11, "unexpected ')'"},
      {"level == 4 5", 12, "unexpected '5'; the expression should end here"},
      {"has(4)", 5, "has needs a name"},
      {"has pid", 5, "has needs a name in parentheses"},
      {"has(foo)", 5, "unknown name 'foo'"},
      {"len(pid) == 4", 1, "there is no function 'len'"},
      {"level == 18446744073709551616", 10, "does not fit in 64 bits"},
      {"level == 0x10000000000000000", 10, "does not fit in 64 bits"},
      {"level == 0x", 12, "hexadecimal number needs digits"},
      {"level == 0x1g", 13, "hexadecimal number needs digits"},
      {"level == 1.5", 10, "'1.5' needs a unit"},
      {"time > 10m", 8, "'m' is not a unit of time"},
      {"time > 9223372036854775808ns", 8, "too long a time"},
      {"level == 'x", 10, "the string is not closed"},
      {"level == 4 @", 12, "unexpected '@'"},
      {"level == \x01", 10, "unexpected byte 0x01"},
      {"'a' == 'b'", 5, "cannot compare a string with a string"},
      {"5 == 'b'", 3, "cannot compare a number with a string"},
      {"(level == 4) == 5", 8, "a condition cannot be used as a value"},
      {"-(level == 4) == 5", 9, "a condition cannot be used as a value"},
      {"and", 1, "unexpected 'and'"},
      {"level == and", 10, "unexpected 'and'"},
  };
  for (const auto& bad : cases) {
    const std::string message = ErrorOf(bad.text);
    EXPECT_THAT(message, StartsWith("column " + std::to_string(bad.column) + ": ")) << bad.text;
    EXPECT_THAT(message, HasSubstr(bad.says)) << bad.text;
  }
}

TEST(ExpressionErrors, ShowTheLineWithACaret) {
  EXPECT_EQ(ErrorOf("pid == 1 and levl <= 4"),
            "column 14: unknown name 'levl' (did you mean level?)\n"
            "  pid == 1 and levl <= 4\n"
            "               ^");
}

TEST(ExpressionErrors, CountCharactersNotBytes) {
  EXPECT_EQ(ErrorOf("header =~ '\xC3\xA4\xC3\xB6' and levl"),
            "column 20: unknown name 'levl' (did you mean level?)\n"
            "  header =~ '\xC3\xA4\xC3\xB6' and levl\n"
            "                     ^");
}

TEST(ExpressionErrors, GiveTheLineWhereThereAreSeveral) {
  EXPECT_EQ(ErrorOf("pid == 1\nand levl == 4\nor true"),
            "line 2, column 5: unknown name 'levl' (did you mean level?)\n"
            "  and levl == 4\n"
            "      ^");
}

TEST(ExpressionErrors, CutLongLines) {
  std::string text = "pid == 1";
  for (int i = 0; i < 100; ++i) text += " or pid == 1";
  const size_t column = text.size() + 5;
  text += " or levl == 4";
  for (int i = 0; i < 100; ++i) text += " or pid == 1";
  const std::string message = ErrorOf(text);
  EXPECT_THAT(message, StartsWith("column " + std::to_string(column) + ": "));
  EXPECT_LT(message.size(), 300u);
  EXPECT_THAT(message, HasSubstr("  ..."));
}

TEST(ExpressionErrors, NestingAndLengthAreBounded) {
  const auto nested = [](const std::string& open, size_t times, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < times; ++i) text += open;
    text += "level == 4";
    for (size_t i = 0; i < times; ++i) text += close;
    return text;
  };
  EXPECT_EQ(ErrorOf(nested("(", 150, ")")), "no error");
  EXPECT_THAT(ErrorOf(nested("(", 5000, ")")), HasSubstr("nested more than 200 levels deep"));
  EXPECT_THAT(ErrorOf(nested("not ", 5000, "")), HasSubstr("nested more than 200 levels deep"));
  EXPECT_THAT(ErrorOf(nested("-", 5000, "")), HasSubstr("nested more than 200 levels deep"));
  std::string masks = "level";
  for (int i = 0; i < 5000; ++i) masks += " & 1";
  EXPECT_THAT(ErrorOf(masks), HasSubstr("more than 200 '&'"));
  std::string chain = "level == 4";
  while (chain.size() < 60 * 1024) chain += " or level == 4";
  EXPECT_EQ(ErrorOf(chain), "no error");
  EXPECT_THAT(ErrorOf(std::string(70 * 1024, ' ')), HasSubstr("at most 65536 are allowed"));
}

// Every cut and every replaced character of a valid expression ends in an error or an expression, never worse.
TEST(ExpressionErrors, DamagedTextIsNeverFatal) {
  const std::string text =
      "provider == e13c0d23-ccbc-4e12-931b-d9cc2eee27e4 and level <= 4 or header =~ '^E' and not pid in (1, 0x2) and "
      "time >= 1.5s and keyword & ~0x10 != -1 and has(tid)";
  TraceContext trace;
  const EventHeader row;
  for (size_t i = 0; i <= text.size(); ++i) {
    (void)Expression::Parse(text.substr(0, i));
    (void)Expression::Parse(text.substr(i));
    for (const char c : {'(', ')', '\'', '\0', '\xFF', '-', '&', '=', ' ', '9', 'n'}) {
      std::string damaged = text;
      if (i < text.size()) damaged[i] = c;
      auto expression = Expression::Parse(damaged);
      if (!expression.ok()) continue;
      expression->Bind(trace);
      (void)expression->Matches(row);
    }
  }
}

}  // namespace
}  // namespace etwpipe

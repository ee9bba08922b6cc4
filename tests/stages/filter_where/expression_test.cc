#include "stages/filter_where/expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "pipeline/header_name.h"

namespace etwpipe {
namespace {

constexpr const char* kClr = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";

class ExpressionTest : public testing::Test {
 protected:
  ExpressionTest() {
    trace_.info.clock = {ClockType::kQpc, 3'579'545, 1'000'003, 132'404'548'206'236'167};
    row_.kind = HeaderKind::kEvent64;
    row_.header_type = 19;
    row_.flags = kHasPid | kHasTimestamp | kHasProvider;
    row_.provider = *trace_.providers->Intern(GuidOf(kClr));
    row_.id = 143;
    row_.instance_id = MakeInstanceId(1, 2, 72);
    row_.version = 1;
    row_.opcode = 37;
    row_.task = 9;
    row_.level = 4;
    row_.keyword = 0x8000000000000010;
    row_.channel = 11;
    row_.pid = 1234;
    row_.tid = 5678;
    row_.cpu = 300;
    row_.record_size = 200;
    row_.payload_begin = 80;
    row_.timestamp = 1'000'003 + 3'579'545;  // one second after the start
  }

  bool Is(const std::string& text) {
    auto expression = Expression::Parse(text);
    EXPECT_TRUE(expression.ok()) << text << "\n" << expression.status().message();
    if (!expression.ok()) return false;
    expression->Bind(trace_);
    return expression->Matches(row_);
  }

  TraceContext trace_;
  EventHeader row_;
};

TEST_F(ExpressionTest, EveryFieldReadsItsValue) {
  for (const char* text :
       {"event_id == 143", "id == 143", "instance_id == 0x0100000000400009", "version == 1", "opcode == 37",
        "task == 9", "level == 4", "keyword == 0x8000000000000010", "channel == 11", "pid == 1234", "tid == 5678",
        "cpu == 300", "size == 200", "payload_size == 120", "ts == 4579548", "header == 'EVENT_HEADER64'",
        "provider == e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", "time == 1s"}) {
    EXPECT_TRUE(Is(text)) << text;
    std::string negated = text;
    negated.replace(negated.find("=="), 2, "!=");
    EXPECT_FALSE(Is(negated)) << negated;
  }
}

TEST_F(ExpressionTest, ComparisonsHoldAtTheirBoundaries) {
  const struct {
    const char* op;
    bool below, equal, above;  // of the field, seen from the constant
  } cases[] = {{"==", false, true, false}, {"!=", true, false, true}, {"<", true, false, false},
               {"<=", true, true, false},  {">", false, false, true}, {">=", false, true, true}};
  for (const auto& test : cases) {
    const std::string op = test.op;
    for (const std::string field : {"level", "cpu", "pid", "keyword", "ts", "payload_size"}) {
      row_.level = 100;
      row_.cpu = 100;
      row_.pid = 100;
      row_.keyword = 100;
      row_.timestamp = 100;
      row_.record_size = 180;
      EXPECT_EQ(Is(field + " " + op + " 101"), test.below) << field << op;
      EXPECT_EQ(Is(field + " " + op + " 100"), test.equal) << field << op;
      EXPECT_EQ(Is(field + " " + op + " 99"), test.above) << field << op;
      EXPECT_EQ(Is("99 " + op + " " + field), test.below) << field << op;
      EXPECT_EQ(Is("101 " + op + " " + field), test.above) << field << op;
    }
  }
}

TEST_F(ExpressionTest, PrecedenceIsOrAndNotComparisonBitAndUnary) {
  EXPECT_TRUE(Is("true or true and false"));
  EXPECT_FALSE(Is("(true or true) and false"));
  EXPECT_TRUE(Is("not false and true"));
  EXPECT_FALSE(Is("not (true or false)"));
  EXPECT_TRUE(Is("not false or true"));
  EXPECT_FALSE(Is("not level == 4"));
  EXPECT_TRUE(Is("not not level == 4"));
  EXPECT_TRUE(Is("keyword & 0x10 == 16"));
  EXPECT_TRUE(Is("16 == keyword & 0x10"));
  EXPECT_TRUE(Is("keyword & -1 & 0x10 != 0"));
  EXPECT_TRUE(Is("-level == -4"));
  EXPECT_TRUE(Is("-level & 3 == 0"));
  EXPECT_TRUE(Is("not keyword & 0x20"));
  EXPECT_TRUE(Is("level == 4 and pid in (1, 1234) or false"));
}

TEST_F(ExpressionTest, BitAndAloneAsksForAnyBit) {
  EXPECT_TRUE(Is("keyword & 0x30"));
  EXPECT_FALSE(Is("keyword & 0x20"));
  EXPECT_TRUE(Is("keyword & ~0x20 == keyword"));
  EXPECT_TRUE(Is("keyword & 0x8000000000000000"));
  EXPECT_TRUE(Is("6 & 2"));
}

TEST_F(ExpressionTest, SixtyFourBitComparisonsAreExact) {
  row_.keyword = std::numeric_limits<uint64_t>::max();
  row_.timestamp = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(Is("keyword == 18446744073709551615"));
  EXPECT_TRUE(Is("keyword > 18446744073709551614"));
  EXPECT_FALSE(Is("keyword > 18446744073709551615"));
  EXPECT_TRUE(Is("keyword > -1"));
  EXPECT_FALSE(Is("keyword == -1"));
  EXPECT_TRUE(Is("keyword != -1"));
  EXPECT_TRUE(Is("ts == -9223372036854775808"));
  EXPECT_TRUE(Is("ts < 0"));
  EXPECT_TRUE(Is("ts < 18446744073709551615"));
  EXPECT_FALSE(Is("ts > -18446744073709551615 and ts > -9223372036854775808"));
  EXPECT_TRUE(Is("ts < keyword"));
  EXPECT_TRUE(Is("-ts == 0x8000000000000000"));
  row_.timestamp = -1;
  EXPECT_FALSE(Is("ts == keyword"));
  EXPECT_TRUE(Is("ts & 0xffffffffffffffff == keyword"));
  EXPECT_TRUE(Is("ts & -2 == -2"));
  EXPECT_TRUE(Is("ts & ~0xffffffffffffffff < -9223372036854775808"));
  EXPECT_FALSE(Is("level > 256"));
  EXPECT_TRUE(Is("level < 256"));
}

TEST_F(ExpressionTest, NullMakesEveryComparisonFalse) {
  row_.flags = kHasTimestamp;
  for (const char* text : {"pid == 1234",
                           "pid != 1234",
                           "pid != 4",
                           "pid < 5000",
                           "pid <= 5000",
                           "pid > 0",
                           "pid >= 0",
                           "pid > -1",
                           "pid != -1",
                           "pid in (1234)",
                           "pid in (1234, 5, 6)",
                           "pid & 0xffff != 5",
                           "pid & 1",
                           "-pid != 0",
                           "~pid != 0",
                           "pid == pid",
                           "tid != pid",
                           "level < tid",
                           "-pid in (-1234, 3)",
                           "provider == e13c0d23-ccbc-4e12-931b-d9cc2eee27e4",
                           "provider != e13c0d23-ccbc-4e12-931b-d9cc2eee27e4",
                           "provider != 'Windows Kernel'",
                           "provider in ('Process', e13c0d23-ccbc-4e12-931b-d9cc2eee27e4)",
                           "has(pid)",
                           "has(tid)",
                           "has(provider)"}) {
    EXPECT_FALSE(Is(text)) << text;
    EXPECT_TRUE(Is("not (" + std::string(text) + ")")) << text;
  }
  EXPECT_TRUE(Is("has(level) and has(ts) and has(time) and has(header)"));
}

TEST_F(ExpressionTest, ProvidersGoByGuidOrName) {
  for (const char* text :
       {"provider == {E13C0D23-CCBC-4E12-931B-D9CC2EEE27E4}", "provider == 'e13c0d23-ccbc-4e12-931b-d9cc2eee27e4'",
        "provider == \"{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}\"", "provider == 'microsoft-windows-dotnetruntime'",
        "'Microsoft-Windows-DotNETRuntime' == provider", "provider != 'Windows Kernel'",
        "provider in ('Windows Kernel', 'Microsoft-Windows-DotNETRuntime')",
        "provider != 00000000-0000-0000-0000-000000000000"}) {
    EXPECT_TRUE(Is(text)) << text;
  }
  row_.provider = *trace_.providers->Intern(GuidOf("3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c"));
  EXPECT_TRUE(Is("provider == 'Windows Kernel'"));
  EXPECT_TRUE(Is("provider == 'DiskIo'"));
  EXPECT_FALSE(Is("provider != 'windows kernel'"));
  EXPECT_FALSE(Is("provider == 'Process'"));
}

TEST_F(ExpressionTest, AProviderThatTurnsUpAfterBindIsFound) {
  auto expression = Expression::Parse("provider == 11111111-2222-3333-4444-555555555555");
  ASSERT_TRUE(expression.ok());
  expression->Bind(trace_);
  EXPECT_FALSE(expression->Matches(row_));
  row_.provider = *trace_.providers->Intern(GuidOf("11111111-2222-3333-4444-555555555555"));
  EXPECT_TRUE(expression->Matches(row_));
}

TEST_F(ExpressionTest, HeadersGoByTheirNames) {
  const struct {
    HeaderKind kind;
    uint8_t type;
    const char* name;
  } cases[] = {{HeaderKind::kSystem32, 1, "SYSTEM32"},
               {HeaderKind::kSystem64, 2, "SYSTEM64"},
               {HeaderKind::kCompact32, 3, "COMPACT32"},
               {HeaderKind::kCompact64, 4, "COMPACT64"},
               {HeaderKind::kFull32, 10, "FULL_HEADER32"},
               {HeaderKind::kFull64, 20, "FULL_HEADER64"},
               {HeaderKind::kInstance32, 11, "INSTANCE32"},
               {HeaderKind::kInstance64, 21, "INSTANCE64"},
               {HeaderKind::kPerfInfo32, 16, "PERFINFO32"},
               {HeaderKind::kPerfInfo64, 17, "PERFINFO64"},
               {HeaderKind::kEvent32, 18, "EVENT_HEADER32"},
               {HeaderKind::kEvent64, 19, "EVENT_HEADER64"},
               {HeaderKind::kMessage, 0, "MESSAGE"},
               {HeaderKind::kTimed, 12, "TIMED"},
               {HeaderKind::kError, 13, "ERROR"},
               {HeaderKind::kUnknown, 0, "UNKNOWN0"},
               {HeaderKind::kUnknown, 14, "UNKNOWN14"},
               {HeaderKind::kUnknown, 255, "UNKNOWN255"}};
  for (const auto& actual : cases) {
    row_.kind = actual.kind;
    row_.header_type = actual.type;
    EXPECT_EQ(HeaderName(actual.kind, actual.type), actual.name);
    for (const auto& asked : cases) {
      const bool same = &actual == &asked;
      const std::string name = "'" + std::string(asked.name) + "'";
      EXPECT_EQ(Is("header == " + name), same) << actual.name << name;
      EXPECT_EQ(Is("header != " + name), !same) << actual.name << name;
      EXPECT_EQ(Is("header in ('TIMED', " + name + ")"), same || actual.kind == HeaderKind::kTimed);
    }
  }
}

TEST_F(ExpressionTest, RegularExpressionsMatchAnywhereAndByCase) {
  EXPECT_TRUE(Is("header =~ 'HEADER'"));
  EXPECT_TRUE(Is("header =~ '^EVENT_HEADER(32|64)$'"));
  EXPECT_FALSE(Is("header =~ '^HEADER'"));
  EXPECT_FALSE(Is("header =~ 'event'"));
  EXPECT_TRUE(Is("header =~ '(?i)event'"));
  EXPECT_TRUE(Is("header =~ '\\d\\d$'"));
  row_.kind = HeaderKind::kUnknown;
  row_.header_type = 14;
  EXPECT_TRUE(Is("header =~ 'N14$'"));
}

TEST_F(ExpressionTest, TimeIsComparedToTheTickWithDurations) {
  EXPECT_TRUE(Is("time >= 1s"));
  EXPECT_FALSE(Is("time > 1s"));
  EXPECT_FALSE(Is("time < 1000ms"));
  EXPECT_TRUE(Is("time <= 1000000us"));
  EXPECT_TRUE(Is("time in (2s, 1s)"));
  EXPECT_TRUE(Is("1s == time"));
  --row_.timestamp;
  EXPECT_TRUE(Is("time < 1s"));
  EXPECT_TRUE(Is("time == 999999720ns"));  // 3579544 / 3579545 s, rounded down
  row_.timestamp = 1'000'002;
  EXPECT_TRUE(Is("time < 0s"));
  EXPECT_TRUE(Is("time >= -280ns"));
  EXPECT_TRUE(Is("time < -279ns"));
  EXPECT_TRUE(Is("time == time"));
  EXPECT_FALSE(Is("time < time"));
}

TEST_F(ExpressionTest, TimeIsComparedWithMoments) {
  const std::string shown = "'" + FormatFileTime(trace_.info.clock.ToFileTime(row_.timestamp)) + "'";
  EXPECT_TRUE(Is("time == " + shown));
  EXPECT_TRUE(Is("time <= " + shown));
  EXPECT_FALSE(Is("time < " + shown));
  EXPECT_TRUE(Is("time > '2020-07-29'"));
  EXPECT_TRUE(Is("time >= '2020-07-29T00:07:00.6236167Z' and time < '2020-07-29 00:07:02'"));
  EXPECT_TRUE(Is("time == '2020-07-29T02:07:01.6236167+02:00'"));
}

TEST_F(ExpressionTest, ListsHoldManyValues) {
  EXPECT_TRUE(Is("pid in (1,2,3,4,5,6,7,8,9,1234,10)"));
  EXPECT_FALSE(Is("pid in (1,2,3,4,5,6,7,8,9,1235,10)"));
  EXPECT_TRUE(Is("pid in (0x4d2)"));
  EXPECT_TRUE(Is("pid & 0xff in (1, 0xd2)"));
  EXPECT_TRUE(Is("-level in (-3, -4)"));
  EXPECT_FALSE(Is("level in (-4, 260)"));
  EXPECT_FALSE(Is("not (level in (4, 4))"));
}

TEST_F(ExpressionTest, ConstantsFold) {
  EXPECT_TRUE(Is("1 < 2"));
  EXPECT_FALSE(Is("1 > 2 or 5ms == 5us"));
  EXPECT_TRUE(Is("-5ms == -5000us"));
  EXPECT_TRUE(Is("0xff & 0x0f == 15"));
  EXPECT_TRUE(Is("true") && !Is("false"));
}

TEST_F(ExpressionTest, WhiteSpaceAndLineEndsOnlySeparate) {
  EXPECT_TRUE(Is("  level==4\n\tand(pid==1234)\r\n"));
  EXPECT_TRUE(Is("pid in(1234)and not(level<4)"));
}

TEST_F(ExpressionTest, AnUnboundExpressionMatchesNothing) {
  auto expression = Expression::Parse("true");
  ASSERT_TRUE(expression.ok());
  EXPECT_FALSE(expression->Matches(row_));
  EXPECT_EQ(expression->text(), "true");
}

TEST_F(ExpressionTest, BindingAgainServesAnotherTrace) {
  auto expression = Expression::Parse("provider == 'Microsoft-Windows-DotNETRuntime' and time >= 2s");
  ASSERT_TRUE(expression.ok());
  expression->Bind(trace_);
  EXPECT_FALSE(expression->Matches(row_));
  TraceContext other;
  other.info.clock = {ClockType::kQpc, 1, 0, 0};
  (void)other.providers->Intern(GuidOf("11111111-2222-3333-4444-555555555555"));
  EventHeader row = row_;
  row.provider = *other.providers->Intern(GuidOf(kClr));
  row.timestamp = 2;
  expression->Bind(other);
  EXPECT_TRUE(expression->Matches(row));
}

}  // namespace
}  // namespace etwpipe

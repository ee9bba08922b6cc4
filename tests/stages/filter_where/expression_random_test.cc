// Random expressions: printed, parsed and asked, against a direct evaluation of the tree they were printed from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "pipeline/header_name.h"
#include "stages/filter_where/expression.h"

namespace etwpipe {
namespace {

__extension__ using Int128 = __int128;

// An expression as its text and as a function of a row; `level` is its precedence, 0 for or.
struct Condition {
  std::string text;
  int level;
  std::function<bool(const EventHeader&)> eval;
};
struct Number {
  std::string text;
  int level;
  std::function<std::optional<Int128>(const EventHeader&)> eval;
};

constexpr int kOr = 0, kAnd = 1, kNot = 2, kComparison = 3, kBitAnd = 4, kUnary = 5, kPrimary = 6;

class Generator {
 public:
  Generator(uint32_t seed, TraceContext& trace) : random_(seed), trace_(trace) {}

  unsigned Pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  EventHeader Row() {
    EventHeader row;
    row.flags = static_cast<uint8_t>((Pick(3) ? kHasPid : 0) | (Pick(4) ? kHasProvider : 0) | kHasTimestamp);
    row.provider = *trace_.providers->Intern(GuidOf(kGuids[Pick(3)]));
    row.id = static_cast<uint16_t>(Small());
    row.instance_id = static_cast<uint64_t>(Any());
    row.version = static_cast<uint16_t>(Small());
    row.opcode = static_cast<uint8_t>(Small());
    row.task = static_cast<uint16_t>(Small());
    row.level = static_cast<uint8_t>(Pick(6));
    row.keyword = static_cast<uint64_t>(Any());
    row.channel = static_cast<uint8_t>(Small());
    row.pid = static_cast<uint32_t>(Any());
    row.tid = static_cast<uint32_t>(Small());
    row.cpu = static_cast<uint16_t>(Pick(4));
    row.payload_begin = static_cast<uint16_t>(Pick(100));
    row.record_size = static_cast<uint16_t>(row.payload_begin + Pick(100));
    row.timestamp = Pick(2) ? static_cast<int64_t>(Any()) : static_cast<int64_t>(Pick(20'000'000));
    row.kind = static_cast<HeaderKind>(Pick(16));
    row.header_type = static_cast<uint8_t>(Pick(16));
    return row;
  }

  Condition MakeCondition(int depth) {
    switch (depth <= 0 ? 3 + Pick(6) : Pick(9)) {
      case 0: return Chain(depth, " or ", kOr, true);
      case 1: return Chain(depth, " and ", kAnd, false);
      case 2: {
        const Condition inner = MakeCondition(depth - 1);
        return {"not " + Wrap(inner.text, inner.level < kNot), kNot,
                [=](const EventHeader& row) { return !inner.eval(row); }};
      }
      case 3: return In();
      case 4: return Time();
      case 5: return ProviderOrHeader();
      case 6: return Has();
      default: return Comparison(depth);
    }
  }

 private:
  static constexpr const char* kGuids[] = {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4",
                                           "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
                                           "11111111-2222-3333-4444-555555555555"};

  static std::string Wrap(const std::string& text, bool needed) { return needed ? "(" + text + ")" : text; }

  unsigned Small() { return Pick(2) ? Pick(4) : Pick(300); }

  // Values near the edges of every width, of both signs as bits.
  Int128 Any() {
    static constexpr Int128 kEdges[] = {
        0, 1, 255, 65535, 0xFFFFFFFF, (Int128{1} << 63) - 1, Int128{1} << 63, (Int128{1} << 64) - 1};
    switch (Pick(3)) {
      case 0: return Pick(5);
      case 1: return kEdges[Pick(8)];
      default: return static_cast<uint64_t>(random_());
    }
  }

  std::string Text(Int128 value) {
    const auto magnitude = static_cast<uint64_t>(value);
    if (Pick(3) != 0) return std::to_string(magnitude);
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(magnitude));
    return buffer;
  }

  Condition Chain(int depth, const std::string& word, int level, bool is_or) {
    std::vector<Condition> operands;
    std::string text;
    for (unsigned i = 0, n = 2 + Pick(3); i < n; ++i) {
      operands.push_back(MakeCondition(depth - 1));
      text += (i > 0 ? word : "") + Wrap(operands.back().text, operands.back().level < level + (i > 0 ? 1 : 0));
    }
    return {text, level, [=](const EventHeader& row) {
              for (const auto& operand : operands) {
                if (operand.eval(row) == is_or) return is_or;
              }
              return !is_or;
            }};
  }

  Number MakeNumber(int depth) {
    switch (depth <= 0 ? Pick(2) : Pick(5)) {
      case 0: {
        const Int128 value = Any();
        return {Text(value), kPrimary, [=](const EventHeader&) { return std::optional<Int128>(value); }};
      }
      case 1: return Field();
      case 2: {
        const Number left = MakeNumber(depth - 1);
        const Number right = MakeNumber(depth - 1);
        return {Wrap(left.text, left.level < kBitAnd) + " & " + Wrap(right.text, right.level <= kBitAnd), kBitAnd,
                [=](const EventHeader& row) -> std::optional<Int128> {
                  const auto a = left.eval(row);
                  const auto b = right.eval(row);
                  if (!a || !b) return std::nullopt;
                  return *a & *b;
                }};
      }
      default: {
        const bool negate = Pick(2) != 0;
        const Number inner = MakeNumber(depth - 1);
        return {(negate ? "-" : "~") + Wrap(inner.text, inner.level < kUnary), kUnary,
                [=](const EventHeader& row) -> std::optional<Int128> {
                  const auto value = inner.eval(row);
                  if (!value) return std::nullopt;
                  return negate ? -*value : -*value - 1;
                }};
      }
    }
  }

  Number Field() {
    using Row = const EventHeader&;
    static const std::vector<Number> kFields = {
        {"event_id", kPrimary, [](Row row) { return std::optional<Int128>(row.id); }},
        {"id", kPrimary, [](Row row) { return std::optional<Int128>(row.id); }},
        {"instance_id", kPrimary, [](Row row) { return std::optional<Int128>(row.instance_id); }},
        {"version", kPrimary, [](Row row) { return std::optional<Int128>(row.version); }},
        {"opcode", kPrimary, [](Row row) { return std::optional<Int128>(row.opcode); }},
        {"task", kPrimary, [](Row row) { return std::optional<Int128>(row.task); }},
        {"level", kPrimary, [](Row row) { return std::optional<Int128>(row.level); }},
        {"keyword", kPrimary, [](Row row) { return std::optional<Int128>(row.keyword); }},
        {"channel", kPrimary, [](Row row) { return std::optional<Int128>(row.channel); }},
        {"pid", kPrimary, [](Row row) { return row.has(kHasPid) ? std::optional<Int128>(row.pid) : std::nullopt; }},
        {"tid", kPrimary, [](Row row) { return row.has(kHasPid) ? std::optional<Int128>(row.tid) : std::nullopt; }},
        {"cpu", kPrimary, [](Row row) { return std::optional<Int128>(row.cpu); }},
        {"size", kPrimary, [](Row row) { return std::optional<Int128>(row.record_size); }},
        {"payload_size", kPrimary, [](Row row) { return std::optional<Int128>(row.record_size - row.payload_begin); }},
        {"ts", kPrimary, [](Row row) { return std::optional<Int128>(row.timestamp); }},
    };
    return kFields[Pick(static_cast<unsigned>(kFields.size()))];
  }

  template <typename T>
  static bool Holds(unsigned op, T a, T b) {
    switch (op) {
      case 0: return a == b;
      case 1: return a != b;
      case 2: return a < b;
      case 3: return a <= b;
      case 4: return a > b;
      default: return a >= b;
    }
  }
  static constexpr const char* kOps[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};

  Condition Comparison(int depth) {
    const Number left = Pick(2) ? Field() : MakeNumber(depth);
    const Number right = MakeNumber(depth > 2 ? 2 : depth);
    const unsigned op = Pick(6);
    return {left.text + kOps[op] + right.text, kComparison, [=](const EventHeader& row) {
              const auto a = left.eval(row);
              const auto b = right.eval(row);
              return a && b && Holds(op, *a, *b);
            }};
  }

  Condition In() {
    Number left = Field();
    if (Pick(2)) {
      const Int128 mask = Any();
      const auto eval = left.eval;
      left = {left.text + " & " + Text(mask), kBitAnd, [=](const EventHeader& row) -> std::optional<Int128> {
                const auto value = eval(row);
                return value ? std::optional<Int128>(*value & mask) : std::nullopt;
              }};
    }
    std::vector<Int128> values;
    std::string text;
    for (unsigned i = 0, n = 1 + Pick(6); i < n; ++i) {
      const Int128 value = Any();
      const bool negative = Pick(5) == 0;
      values.push_back(negative ? -value : value);
      text += std::string(i > 0 ? ", " : "") + (negative ? "-" : "") + Text(value);
    }
    return {left.text + " in (" + text + ")", kComparison, [=](const EventHeader& row) {
              const auto value = left.eval(row);
              return value && std::find(values.begin(), values.end(), *value) != values.end();
            }};
  }

  Condition Time() {
    const auto nanoseconds = static_cast<int64_t>(Pick(6'000'000)) * 1000 + Pick(1000);
    const unsigned op = Pick(6);
    const Clock clock = trace_.info.clock;
    if (Pick(2) != 0) {
      return {std::string("time") + kOps[op] + std::to_string(nanoseconds) + "ns", kComparison,
              [=](const EventHeader& row) { return Holds(op, clock.ToNanoseconds(row.timestamp), nanoseconds); }};
    }
    const int64_t filetime = clock.start_time + nanoseconds / 100;
    return {std::string("time") + kOps[op] + "'" + FormatFileTime(filetime) + "'", kComparison,
            [=](const EventHeader& row) { return Holds(op, clock.ToFileTime(row.timestamp), filetime); }};
  }

  Condition ProviderOrHeader() {
    const unsigned op = Pick(2);
    if (Pick(2) != 0) {
      const Guid guid = GuidOf(kGuids[Pick(3)]);
      const TraceContext* trace = &trace_;
      return {std::string("provider") + kOps[op] + ToString(guid), kComparison, [=](const EventHeader& row) {
                return row.has(kHasProvider) && (trace->provider_guid(row) == guid) == (op == 0);
              }};
    }
    const auto kind = static_cast<HeaderKind>(Pick(16));
    const auto type = static_cast<uint8_t>(Pick(16));
    const std::string name(HeaderName(kind, type));
    return {std::string("header") + kOps[op] + "'" + name + "'", kComparison,
            [=](const EventHeader& row) { return (HeaderName(row.kind, row.header_type) == name) == (op == 0); }};
  }

  Condition Has() {
    if (Pick(2) != 0) return {"has(pid)", kPrimary, [](const EventHeader& row) { return row.has(kHasPid); }};
    return {"has(provider)", kPrimary, [](const EventHeader& row) { return row.has(kHasProvider); }};
  }

  std::mt19937_64 random_;
  TraceContext& trace_;
};

class ExpressionRandom : public testing::TestWithParam<Clock> {};

TEST_P(ExpressionRandom, AgreesWithDirectEvaluation) {
  TraceContext trace;
  trace.info.clock = GetParam();
  Generator generator(12345, trace);
  int matches = 0;
  int asked = 0;
  for (int round = 0; round < 3000; ++round) {
    const Condition condition = generator.MakeCondition(static_cast<int>(generator.Pick(5)));
    auto expression = Expression::Parse(condition.text);
    ASSERT_TRUE(expression.ok()) << condition.text << "\n" << expression.status().message();
    expression->Bind(trace);
    for (int i = 0; i < 30; ++i) {
      const EventHeader row = generator.Row();
      const bool expected = condition.eval(row);
      ASSERT_EQ(expression->Matches(row), expected)
          << condition.text << "\n row ts " << row.timestamp << " pid " << row.pid;
      matches += expected ? 1 : 0;
      ++asked;
    }
  }
  // The expressions must not all be trivial.
  EXPECT_GT(matches, asked / 5);
  EXPECT_LT(matches, asked * 4 / 5);
}

INSTANTIATE_TEST_SUITE_P(Clocks, ExpressionRandom,
                         testing::Values(Clock{ClockType::kQpc, 3'579'545, 1'000'003, 132'404'548'206'236'167},
                                         Clock{ClockType::kSystemTime, 10'000'000, 3'000, 3'000},
                                         Clock{ClockType::kCycles, 3'592'000'000, 5, 132'404'548'206'236'167}));

}  // namespace
}  // namespace etwpipe

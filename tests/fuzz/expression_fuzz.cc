// The input is the text of an expression. Besides not crashing, what compiles must obey logic on rows of every kind:
// `not` turns an answer round (a null makes a comparison false, so there is no third answer), and an expression joined
// with itself says the same. That catches a wrong jump in the compiled program.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/event.h"
#include "pipeline/trace_context.h"
#include "stages/filter_where/expression.h"

namespace etwpipe {
namespace {

constexpr size_t kMaxText = 4096;

void Require(bool condition) {
  if (!condition) std::abort();
}

TraceContext MakeTrace() {
  TraceContext trace;
  trace.info.clock = {ClockType::kQpc, 10'000'000, 1'000'000, 132'404'980'236'236'167};
  (void)trace.providers->Intern(GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"));
  (void)trace.providers->Intern(GuidOf("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"));
  auto registry = std::make_shared<schema::SchemaRegistry>();
  registry->Add(std::make_shared<schema::BuiltInSupplier>());
  trace.facts->Set(std::shared_ptr<const schema::SchemaRegistry>(std::move(registry)));
  return trace;
}

// Records with and without pid, provider and timestamp, with small, large and extreme values.
std::vector<EventHeader> MakeRows() {
  static const std::vector<std::byte> record(65535);
  std::vector<EventHeader> rows;
  for (uint32_t i = 0; i < 16; ++i) {
    EventHeader row;
    const bool extreme = i % 5 == 4;
    row.instance_id = MakeInstanceId(i % 3, i, 72 + 8 * i);
    row.timestamp = extreme ? INT64_MIN + i : 1'000'000 + int64_t{i} * 30'000'000;
    row.keyword = extreme ? UINT64_MAX : uint64_t{1} << i;
    row.provider = i % 3;
    row.pid = extreme ? kNoId : i;
    row.tid = i * 4;
    row.id = static_cast<uint16_t>(extreme ? 65535 : i);
    row.task = static_cast<uint16_t>(i % 4);
    row.version = static_cast<uint16_t>(i % 2);
    row.cpu = static_cast<uint16_t>(i % 8);
    row.record = record.data();
    row.payload_begin = 80;
    row.record_size = static_cast<uint16_t>(extreme ? 65535 : 80 + i);
    row.opcode = static_cast<uint8_t>(i * 7);
    row.level = static_cast<uint8_t>(i % 6);
    row.channel = static_cast<uint8_t>(i);
    row.header_type = static_cast<uint8_t>(i + 16);
    row.kind = static_cast<HeaderKind>(i);
    row.flags = static_cast<uint8_t>(i * 37);
    rows.push_back(row);
  }
  return rows;
}

// The answers for every row, or nothing where the text is no expression (a longer text may pass a limit).
std::vector<bool> Answers(std::string_view text, const TraceContext& trace, const std::vector<EventHeader>& rows) {
  auto expression = Expression::Parse(text);
  if (!expression.ok()) {
    Require(!expression.status().message().empty());
    return {};
  }
  Require(expression->text() == text);
  expression->Bind(trace);
  std::vector<bool> answers;
  where::EventValues values(trace);
  for (const EventHeader& row : rows) answers.push_back(expression->Matches(row, &values));
  return answers;
}

void Run(std::string_view text) {
  static const TraceContext trace = MakeTrace();
  static const std::vector<EventHeader> rows = MakeRows();
  const std::vector<bool> answers = Answers(text, trace, rows);
  if (answers.empty()) return;

  const std::string inner = "(" + std::string(text) + "\n)";
  std::vector<bool> opposite = Answers("not " + inner, trace, rows);
  opposite.flip();
  Require(opposite.empty() || opposite == answers);
  for (const char* join : {" and ", " or "}) {
    const std::vector<bool> same = Answers(inner + join + inner, trace, rows);
    Require(same.empty() || same == answers);
  }
}

}  // namespace
}  // namespace etwpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > etwpipe::kMaxText) return 0;
  etwpipe::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}

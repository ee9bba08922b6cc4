// What events say: payloads of every EVENT_ID, records of all others, activities without a start or stop, instance ids.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

#include "formats/open.h"
#include "formats/schema/utf16.h"
#include "pipeline/event.h"
#include "pipeline/executor.h"
#include "tests/support/collect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"
#include "tests/tools/library/build_trace.h"
#include "tests/tracegen/generator.h"
#include "tools/library/event_copy.h"
#include "tools/library/session.h"

namespace etwpipe::session {
namespace {

using etl::InType;
using etwpipe::test::SmallTrace;

std::string Text(const uint16_t* wide) {
  if (wide == nullptr) return "(null)";
  size_t units = 0;
  while (wide[units] != 0) ++units;
  return schema::Utf16ToUtf8(std::as_bytes(std::span(wide, units)));
}

// Keeps copies of everything.
struct Kept {
  char kind = 0;  // 's'tart, 'e'nd, '.'
  std::unique_ptr<EventData, decltype(&std::free)> event{nullptr, &std::free};
  std::vector<uint64_t> ids;  // of the stack
};

class Keeper : public IAnalyzer {
 public:
  Control OnBeginAnalysisPass() override {
    passes.emplace_back();
    return Control::kContinue;
  }
  Control OnStartActivity(const EventStack& stack) override { return Keep('s', stack); }
  Control OnStopActivity(const EventStack& stack) override { return Keep('e', stack); }
  Control OnSimpleEvent(const EventStack& stack) override { return Keep('.', stack); }

  std::vector<std::vector<Kept>> passes;

  // The first of that number and kind in the first pass.
  const EventData* Find(EventId id, char kind) const {
    for (const Kept& kept : passes.at(0)) {
      if (kept.kind == kind && kept.event->event_id == static_cast<uint16_t>(id)) return kept.event.get();
    }
    return nullptr;
  }
  template <typename T>
  const T& Payload(EventId id, char kind = 's') const {
    static const T none{};
    const EventData* event = Find(id, kind);
    EXPECT_NE(event, nullptr) << static_cast<int>(id);
    if (event == nullptr) return none;
    EXPECT_NE(event->data, nullptr);
    return event->data == nullptr ? none : *static_cast<const T*>(event->data);
  }

 private:
  Control Keep(char kind, const EventStack& stack) {
    Kept kept;
    kept.kind = kind;
    kept.event.reset(CopyEvent(stack.back()));
    for (const EventData& event : stack) kept.ids.push_back(event.event_instance_id);
    passes.back().push_back(std::move(kept));
    return Control::kContinue;
  }
};

class Events : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return (folder / name).string(); }
  Keeper Keep(const SmallTrace& trace, unsigned passes = 1) {
    trace.Write(Path("in.etl"));
    Keeper keeper;
    const SessionResult result = Analyze(Path("in.etl"), passes, keeper);
    EXPECT_TRUE(result.ok()) << result.message;
    return keeper;
  }
  etwpipe::test::TempFolder folder;
};

TEST_F(Events, PayloadsOfEveryKind) {
  SmallTrace trace;
  int64_t time = 1000;
  const auto add = [&](EventId id, const std::string& name, etl::TraceLoggingSchema schema,
                       const etl::PayloadWriter& extra) {
    const bool activity = FindEventKind(static_cast<uint64_t>(id))->activity;
    const auto number = static_cast<uint16_t>(id);
    trace.AddBuild({.opcode = static_cast<uint8_t>(activity),
                    .event_id = number,
                    .instance = number,
                    .name = name,
                    .time = time++},
                   &schema, extra);
    if (activity) trace.AddBuild({.opcode = 2, .event_id = number, .instance = number, .time = time++});
  };
  const auto schema = [] { return SmallTrace::BuildSchema(); };

  etl::PayloadWriter invocation;
  invocation.Add(int32_t{1}).AddAnsi("19.29.30133.7").AddAnsi("19.29 \xC3\xA4").AddUnicode("C:\\w\xC3\xB6rk");
  invocation.AddUnicode("C:\\cl.exe");
  auto invocation_schema = schema();
  invocation_schema.Field("ToolCode", InType::kInt32).Field("ToolVersion", InType::kAnsiString);
  invocation_schema.Field("ToolVersionString", InType::kAnsiString, etl::OutType::kUtf8);
  invocation_schema.Field("WorkingDirectory", InType::kUnicodeString).Field("ToolPath", InType::kUnicodeString);
  add(EventId::kCompiler, "", invocation_schema, invocation);
  add(EventId::kLinker, "", schema(), {});
  etl::PayloadWriter pass;
  pass.AddUnicode("a.cpp").AddAnsi("a.obj");
  auto pass_schema = schema();
  pass_schema.Field("InputSourcePath", InType::kUnicodeString).Field("OutputObjectPath", InType::kAnsiString);
  add(EventId::kFrontEndPass, "", pass_schema, pass);
  add(EventId::kBackEndPass, "", schema(), {});
  etl::PayloadWriter types;
  types.Add(uint64_t{0x1122334455667788}).Add(uint64_t{9}).Add(int8_t{3});
  auto types_schema = schema();
  types_schema.Field("SpecializationSymbolKey", InType::kUint64).Field("PrimaryTemplateSymbolKey", InType::kUint64);
  types_schema.Field("KindCode", InType::kInt8);
  add(EventId::kTemplateInstantiation, "", types_schema, types);
  add(EventId::kFrontEndFile, "C:\\\xC3\xA4.h", schema(), {});
  add(EventId::kFunction, "?f@@YAXXZ", schema(), {});
  etl::PayloadWriter symbol;
  symbol.Add(uint64_t{77});
  auto symbol_schema = schema();
  symbol_schema.Field("Key", InType::kUint64);
  add(EventId::kSymbolName, "std::vector", symbol_schema, symbol);
  etl::PayloadWriter inlinee;
  inlinee.Add(uint16_t{12});
  auto inlinee_schema = schema();
  inlinee_schema.Field("Size", InType::kUint16);
  add(EventId::kForceInlinee, "g", inlinee_schema, inlinee);
  etl::PayloadWriter variable;
  variable.AddAnsi("C:\\include");
  auto variable_schema = schema();
  variable_schema.Field("Value", InType::kAnsiString, etl::OutType::kUtf8);
  add(EventId::kEnvironmentVariable, "INCLUDE", variable_schema, variable);
  add(EventId::kCommandLine, "cl /O2 \xE2\x82\xAC.cpp", schema(), {});
  etl::PayloadWriter type;
  type.Add(int32_t{4});
  auto type_schema = schema();
  type_schema.Field("TypeCode", InType::kInt32);
  add(EventId::kFileInput, "x.lib", type_schema, type);
  for (const EventId id : {EventId::kObjOutput, EventId::kExecutableImageOutput, EventId::kLibOutput,
                           EventId::kImpLibOutput, EventId::kExpOutput}) {
    add(id, "out", schema(), {});
  }
  for (const EventId id :
       {EventId::kBottomUp, EventId::kC1Dll, EventId::kC2Dll, EventId::kCodeGeneration, EventId::kLtcg,
        EventId::kOptIcf, EventId::kOptLbr, EventId::kOptRef, EventId::kPass1, EventId::kPass2, EventId::kPreLtcgOptRef,
        EventId::kThread, EventId::kTopDown, EventId::kWholeProgramAnalysis}) {
    add(id, "no payload", schema(), {});
  }

  const Keeper keeper = Keep(trace);
  std::set<uint16_t> seen;
  for (const Kept& kept : keeper.passes[0]) seen.insert(kept.event->event_id);
  EXPECT_EQ(seen.size(), kEventKinds.size()) << "every kind is here";
  for (const char kind : {'s', 'e'}) {
    const auto& compiler = keeper.Payload<InvocationData>(EventId::kCompiler, kind);
    EXPECT_EQ(compiler.msvc_tool_code, 1);
    EXPECT_EQ(compiler.tool_version.major, 19);
    EXPECT_EQ(compiler.tool_version.minor, 29);
    EXPECT_EQ(compiler.tool_version.build_major, 30133);
    EXPECT_EQ(compiler.tool_version.build_minor, 7);
    EXPECT_STREQ(compiler.tool_version_string, "19.29 \xC3\xA4");
    EXPECT_EQ(Text(compiler.working_directory), "C:\\w\xC3\xB6rk");
    EXPECT_EQ(Text(compiler.tool_path), "C:\\cl.exe");
    EXPECT_EQ(compiler.invocation_id, 1u);
  }
  const auto& linker = keeper.Payload<InvocationData>(EventId::kLinker);
  EXPECT_EQ(linker.msvc_tool_code, 1);
  EXPECT_EQ(linker.tool_version.major, 0);
  EXPECT_EQ(linker.tool_version_string, nullptr);
  EXPECT_EQ(linker.working_directory, nullptr);
  EXPECT_EQ(linker.tool_path, nullptr);
  EXPECT_EQ(linker.invocation_id, 2u);
  const auto& front = keeper.Payload<ClPassData>(EventId::kFrontEndPass);
  EXPECT_EQ(front.translation_unit_pass_code, 0);
  EXPECT_EQ(Text(front.input_source_path), "a.cpp");
  EXPECT_EQ(Text(front.output_object_path), "a.obj");
  const auto& back = keeper.Payload<ClPassData>(EventId::kBackEndPass);
  EXPECT_EQ(back.translation_unit_pass_code, 1);
  EXPECT_EQ(back.input_source_path, nullptr);
  const auto& instantiation = keeper.Payload<TemplateInstantiationData>(EventId::kTemplateInstantiation);
  EXPECT_EQ(instantiation.specialization_symbol_key, 0x1122334455667788u);
  EXPECT_EQ(instantiation.primary_template_symbol_key, 9u);
  EXPECT_EQ(instantiation.kind_code, 3);
  EXPECT_STREQ(keeper.Payload<FrontEndFileData>(EventId::kFrontEndFile).path, "C:\\\xC3\xA4.h");
  EXPECT_STREQ(keeper.Payload<FunctionData>(EventId::kFunction).name, "?f@@YAXXZ");
  EXPECT_EQ(keeper.Payload<SymbolNameData>(EventId::kSymbolName, '.').key, 77u);
  EXPECT_STREQ(keeper.Payload<SymbolNameData>(EventId::kSymbolName, '.').name, "std::vector");
  EXPECT_EQ(keeper.Payload<ForceInlineeData>(EventId::kForceInlinee, '.').size, 12);
  EXPECT_STREQ(keeper.Payload<ForceInlineeData>(EventId::kForceInlinee, '.').name, "g");
  EXPECT_EQ(Text(keeper.Payload<NameValuePairData>(EventId::kEnvironmentVariable, '.').name), "INCLUDE");
  EXPECT_EQ(Text(keeper.Payload<NameValuePairData>(EventId::kEnvironmentVariable, '.').value), "C:\\include");
  EXPECT_EQ(Text(static_cast<const uint16_t*>(keeper.Find(EventId::kCommandLine, '.')->data)),
            "cl /O2 \xE2\x82\xAC.cpp");
  EXPECT_EQ(keeper.Payload<FileData>(EventId::kFileInput, '.').type_code, 4);
  EXPECT_EQ(Text(keeper.Payload<FileData>(EventId::kFileInput, '.').path), "x.lib");
  EXPECT_EQ(keeper.Payload<FileData>(EventId::kObjOutput, '.').type_code, 1);
  EXPECT_EQ(keeper.Payload<FileData>(EventId::kExecutableImageOutput, '.').type_code, 2);
  EXPECT_EQ(keeper.Payload<FileData>(EventId::kLibOutput, '.').type_code, 3);
  EXPECT_EQ(keeper.Payload<FileData>(EventId::kImpLibOutput, '.').type_code, 4);
  EXPECT_EQ(keeper.Payload<FileData>(EventId::kExpOutput, '.').type_code, 5);
  EXPECT_EQ(keeper.Find(EventId::kLtcg, 's')->data, nullptr);
  EXPECT_EQ(Text(keeper.Find(EventId::kLtcg, 's')->event_wide_name), "LTCG");
}

// Layout: semantics.md 4.3, ids 1000 and 1500 of version 1.
TEST_F(Events, ActivitiesOfVcperf) {
  SmallTrace trace;
  etl::EventFields fields;
  fields.provider = GuidOf("f78a07b0-796a-5da4-5c20-61aa526e77af");
  fields.version = 1;
  fields.level = 4;
  fields.opcode = 20;
  fields.pid = 100;
  fields.tid = 10;
  const auto invocation = [](etl::PayloadWriter& payload) {
    payload.Add(uint16_t{1}).AddAnsi("line").AddAnsi("CL").Add(uint32_t{1}).AddUnicode("a.cpp");
  };
  fields.id = 1000;
  fields.task = 2;
  fields.timestamp = 1000;
  etl::PayloadWriter file;
  invocation(file);
  file.AddAnsi("C:\\a.h").AddAnsi("C:\\a.cpp").Add(uint16_t{1}).AddAnsi("FrontEndFile");
  file.Add(uint32_t{2}).Add(uint32_t{3}).Add(uint32_t{1});
  trace.Add(fields, file.bytes());
  fields.id = 1500;
  fields.task = 3;
  fields.timestamp = 50'000;
  etl::PayloadWriter function;
  invocation(function);
  function.Add(uint64_t{5}).AddAnsi("?f@@YAXXZ").AddAnsi("Function").Add(uint32_t{1}).Add(uint32_t{1});
  trace.Add(fields, function.bytes());
  trace.AddBuild({.opcode = 0, .event_id = 11, .tid = 30, .time = 100'000});
  const Keeper keeper = Keep(trace);
  EXPECT_STREQ(keeper.Payload<FrontEndFileData>(EventId::kFrontEndFile, 'e').path, "C:\\a.h");
  const EventData* event = keeper.Find(EventId::kFrontEndFile, 'e');
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->start_timestamp, 1000);
  EXPECT_EQ(event->stop_timestamp, 1000 + 3 * 10'000);
  EXPECT_TRUE(event->flags & kCoarseDuration);
  EXPECT_STREQ(keeper.Payload<FunctionData>(EventId::kFunction, 'e').name, "?f@@YAXXZ");
}

TEST_F(Events, WhatContradictsTheTableIsAnOtherEvent) {
  SmallTrace trace;
  trace.AddBuild({.opcode = 0, .event_id = 7, .time = 1000});                  // a compiler that is simple
  trace.AddBuild({.opcode = 1, .event_id = 11, .instance = 1, .time = 1001});  // an input that lasts
  trace.AddBuild({.opcode = 2, .event_id = 11, .instance = 1, .time = 1002});
  trace.AddBuild({.opcode = 0, .event_id = 32, .time = 1003});
  trace.AddBuild({.opcode = 0, .event_id = 0xFFFF, .time = 1004});
  const Keeper keeper = Keep(trace);
  ASSERT_EQ(keeper.passes[0].size(), 5u);
  for (const Kept& kept : keeper.passes[0]) {
    EXPECT_EQ(kept.event->event_id, kOtherEvent);
    EXPECT_STREQ(static_cast<const RecordData*>(kept.event->data)->provider_name, "etwpipe.ingest");
  }
}

TEST_F(Events, RecordsOfOtherEvents) {
  const Keeper keeper = Keep(etwpipe::test::SmallBuild());
  const EventData* event = nullptr;
  for (const Kept& kept : keeper.passes[0]) {
    if (kept.event->event_id == kOtherEvent) event = kept.event.get();
  }
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->flags, 0);
  EXPECT_EQ(event->start_timestamp, 1060);
  EXPECT_EQ(event->stop_timestamp, 0);
  EXPECT_EQ(event->process_id, 100u);
  EXPECT_EQ(event->thread_id, 20u);
  EXPECT_EQ(event->processor_index, 1);
  const auto& record = *static_cast<const RecordData*>(event->data);
  EXPECT_EQ(ToString(record.provider), "11111111-2222-3333-4444-555555555555");
  EXPECT_STREQ(record.provider_name, "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(record.id, 42);
  EXPECT_EQ(record.version, 3);
  EXPECT_EQ(record.opcode, 10);
  EXPECT_EQ(record.level, 2);
  EXPECT_EQ(record.task, 9);
  EXPECT_EQ(record.keyword, 0x8000000000000001u);
  EXPECT_EQ(record.header_kind, static_cast<uint8_t>(HeaderKind::kEvent64));
  EXPECT_EQ(record.pointer_size, 8);
  EXPECT_EQ(record.record_size, 87u);
  ASSERT_EQ(record.payload_size, 7u);
  EXPECT_EQ(std::memcmp(record.payload, "payload", 7), 0);
}

TEST_F(Events, ValuesOfActivities) {
  const Keeper keeper = Keep(etwpipe::test::SmallBuild());
  int64_t exclusive = 0;
  for (const Kept& kept : keeper.passes[0]) {
    const EventData& event = *kept.event;
    EXPECT_EQ(event.tick_frequency, 10'000'000);
    if (kept.kind == 'e') {
      exclusive += event.exclusive_wall_clock_time_responsibility_ticks;
      EXPECT_GT(event.stop_timestamp, event.start_timestamp);
      continue;
    }
    EXPECT_EQ(event.stop_timestamp, 0);
    EXPECT_EQ(event.exclusive_duration_ticks, 0);
    EXPECT_EQ(event.wall_clock_time_responsibility_ticks, 0);
    EXPECT_EQ(event.exclusive_wall_clock_time_responsibility_ticks, 0);
  }
  EXPECT_EQ(exclusive, 100) << "every covered tick belongs to one activity";
  const EventData& compiler = *keeper.Find(EventId::kCompiler, 'e');
  EXPECT_EQ(compiler.start_timestamp, 1000);
  EXPECT_EQ(compiler.stop_timestamp, 1100);
  EXPECT_EQ(compiler.exclusive_duration_ticks, 60);
  // Leaves on two threads up to 1080, then one: of thread 10 it is 40 + 20.
  EXPECT_EQ(compiler.wall_clock_time_responsibility_ticks, 60);
  // [1000, 1010) and [1050, 1080) by halves, [1080, 1100) whole.
  EXPECT_EQ(compiler.exclusive_wall_clock_time_responsibility_ticks, 40);
  EXPECT_EQ(compiler.cpu_ticks, 0) << "no context switches, no CPU time";
}

TEST_F(Events, MissingStartsAndStops) {
  SmallTrace trace;
  trace.AddBuild({.opcode = 0, .event_id = 11, .name = "first", .time = 1000});
  trace.AddBuild({.opcode = 2, .event_id = 13, .instance = 3, .name = "", .time = 1040});
  trace.AddBuild({.opcode = 2, .event_id = 7, .instance = 1, .name = "", .time = 1050});
  trace.AddBuild({.opcode = 1, .event_id = 15, .instance = 9, .name = "f", .time = 1060});
  trace.AddBuild({.opcode = 0, .event_id = 11, .name = "last", .time = 1100});
  const Keeper keeper = Keep(trace, 2);
  ASSERT_EQ(keeper.passes.size(), 2u);
  for (const auto& pass : keeper.passes) {
    std::string kinds;
    for (const Kept& kept : pass) kinds += kept.kind;
    ASSERT_EQ(kinds, "ss.ees.e");
    EXPECT_EQ(pass[0].event->event_id, 7);
    EXPECT_EQ(pass[0].event->start_timestamp, 1000);
    EXPECT_TRUE(pass[0].event->flags & kTruncatedStart);
    EXPECT_EQ(pass[1].event->event_id, 13);
    EXPECT_EQ(pass[2].ids.size(), 3u) << "the first event lies in both";
    EXPECT_EQ(pass[3].event->event_id, 13);
    EXPECT_EQ(pass[3].event->event_instance_id, pass[1].event->event_instance_id);
    EXPECT_EQ(pass[3].event->stop_timestamp, 1040);
    EXPECT_EQ(pass[4].event->event_id, 7);
    EXPECT_EQ(pass[7].event->event_id, 15);
    EXPECT_EQ(pass[7].event->stop_timestamp, 0) << "its stop was not received";
    EXPECT_TRUE(pass[7].event->flags & kUnterminatedActivity);
    EXPECT_EQ(pass[7].event->exclusive_wall_clock_time_responsibility_ticks, 40);
    EXPECT_EQ(Activity(*pass[7].event).duration_ticks(), 0);
  }
}

TEST_F(Events, AParentThatStoppedIsNoLongerInTheStack) {
  SmallTrace trace;
  trace.AddBuild({.opcode = 1, .event_id = 7, .instance = 1, .time = 1000});
  trace.AddBuild({.opcode = 1, .event_id = 14, .instance = 2, .time = 1010});
  trace.AddBuild({.opcode = 1, .event_id = 13, .instance = 3, .time = 1020});
  trace.AddBuild({.opcode = 2, .event_id = 14, .instance = 2, .time = 1030});
  trace.AddBuild({.opcode = 0, .event_id = 11, .time = 1040});
  trace.AddBuild({.opcode = 2, .event_id = 13, .instance = 3, .time = 1050});
  trace.AddBuild({.opcode = 2, .event_id = 7, .instance = 1, .time = 1060});
  const Keeper keeper = Keep(trace);
  const auto& pass = keeper.passes[0];
  std::vector<size_t> depths;
  for (const Kept& kept : pass) depths.push_back(kept.ids.size());
  EXPECT_EQ(depths, (std::vector<size_t>{1, 2, 3, 2, 2, 1, 1}));
  EXPECT_EQ(pass[4].ids[0], pass[2].ids[2]);
}

// The stack of every event by definition: walk up from the innermost open activity of the thread, by what was started.
TEST_F(Events, StacksOfRandomNestingAgainstABruteForce) {
  std::mt19937 random(3);
  for (int run = 0; run < 20; ++run) {
    SmallTrace trace(4);
    std::map<uint32_t, std::vector<uint64_t>> open;  // by thread
    std::vector<size_t> depths;
    uint64_t instance = 0;
    int64_t time = 1000;
    for (int step = 0; step < 300; ++step) {
      const auto tid = static_cast<uint32_t>(10 + random() % 4);
      const auto cpu = static_cast<uint16_t>(tid - 10);
      auto& stack = open[tid];
      const auto choice = random() % 3;
      time += 1;
      if (choice == 0 && stack.size() < 8) {
        stack.push_back(++instance);
        depths.push_back(stack.size());
        trace.AddBuild({.opcode = 1, .event_id = 13, .instance = instance, .tid = tid, .time = time, .cpu = cpu});
      } else if (choice == 1 && !stack.empty()) {
        depths.push_back(stack.size());
        trace.AddBuild({.opcode = 2, .event_id = 13, .instance = stack.back(), .tid = tid, .time = time, .cpu = cpu});
        stack.pop_back();
      } else {
        depths.push_back(stack.size() + 1);
        trace.AddBuild({.opcode = 0, .event_id = 11, .tid = tid, .time = time, .cpu = cpu});
      }
    }
    const Keeper keeper = Keep(trace);
    const auto& pass = keeper.passes[0];
    ASSERT_GE(pass.size(), depths.size());
    std::map<uint32_t, std::vector<uint64_t>> ids;
    for (size_t i = 0; i < depths.size(); ++i) {
      ASSERT_EQ(pass[i].ids.size(), depths[i]) << i;
      auto& chain = ids[pass[i].event->thread_id];
      if (pass[i].kind == 'e') {
        ASSERT_EQ(pass[i].ids, chain);
        chain.pop_back();
        continue;
      }
      auto expected = chain;
      expected.push_back(pass[i].event->event_instance_id);
      ASSERT_EQ(pass[i].ids, expected);
      if (pass[i].kind == 's') chain = expected;
    }
  }
}

std::vector<std::pair<char, uint64_t>> IdsOf(const std::vector<Kept>& pass) {
  std::vector<std::pair<char, uint64_t>> ids;
  for (const Kept& kept : pass) ids.emplace_back(kept.kind, kept.event->event_instance_id);
  return ids;
}

TEST_F(Events, InstanceIdsArePassesRunsAndRelogsAlike) {
  tracegen::Options options;
  options.size = 1 << 20;
  options.scenario = tracegen::Scenario::kBuild;
  ASSERT_TRUE(tracegen::GenerateToFile(options, Path("in.etl")).ok());
  Keeper first;
  ASSERT_TRUE(Analyze(Path("in.etl"), 2, first).ok());
  ASSERT_EQ(first.passes.size(), 2u);
  ASSERT_GT(first.passes[0].size(), 1000u);
  const auto ids = IdsOf(first.passes[0]);
  EXPECT_EQ(IdsOf(first.passes[1]), ids);
  std::set<uint64_t> starts;
  for (const auto& [kind, id] : ids) {
    if (kind == 'e') continue;
    EXPECT_TRUE(starts.insert(id).second) << "one event, one id";
  }
  Keeper analyzer;
  Keeper relogger;
  ASSERT_TRUE(Relog(Path("in.etl"), Path("one.etl"), 1, kRetainAll, {&analyzer}, {&relogger}).ok());
  EXPECT_EQ(IdsOf(analyzer.passes[0]), ids);
  EXPECT_EQ(IdsOf(relogger.passes[0]), ids);
  ASSERT_TRUE(Relog(Path("one.etl"), Path("two.etl"), 0, kRetainAll, {}, {}).ok());
  Keeper last;
  ASSERT_TRUE(Analyze(Path("two.etl"), 1, last).ok());
  EXPECT_EQ(IdsOf(last.passes[0]), ids);
}

TEST_F(Events, ThePlantedActivityIsTheMostResponsible) {
  tracegen::Options options;
  options.size = 4 << 20;
  options.scenario = tracegen::Scenario::kBuild;
  const auto truth = tracegen::GenerateToFile(options, Path("in.etl"));
  ASSERT_TRUE(truth.ok());
  ASSERT_TRUE(truth->planted.has_value());
  Keeper keeper;
  ASSERT_TRUE(Analyze(Path("in.etl"), 1, keeper).ok());
  const EventData* most = nullptr;
  size_t starts = 0;
  size_t stops = 0;
  for (const Kept& kept : keeper.passes[0]) {
    starts += kept.kind == 's' ? 1 : 0;
    stops += kept.kind == 'e' ? 1 : 0;
    if (kept.kind != 'e' || kept.event->event_id == kOtherEvent) continue;
    if (most == nullptr ||
        kept.event->wall_clock_time_responsibility_ticks > most->wall_clock_time_responsibility_ticks)
      most = kept.event.get();
  }
  EXPECT_EQ(starts, stops);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(most->event_id, static_cast<uint16_t>(EventId::kFrontEndFile));
  EXPECT_EQ(static_cast<const FrontEndFileData*>(most->data)->path, truth->planted->name);
  EXPECT_EQ(most->start_timestamp, truth->planted->start);
  EXPECT_EQ(most->stop_timestamp, truth->planted->stop);
}

TEST_F(Events, EveryRecordOfRealTracesIsDelivered) {
  for (const char* name : {"DynamicEvents.etl", "gcevents.etl", "ShutdownPerfDiagLogger.etl"}) {
    SCOPED_TRACE(name);
    const auto path = etwpipe::test::SamplePath(name);
    if (const auto missing = etwpipe::test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
    Keeper keeper;
    const SessionResult result = Analyze(path.string(), 2, keeper);
    ASSERT_TRUE(result.ok()) << result.message;
    EXPECT_EQ(result.counts.events, keeper.passes[0].size());
    EXPECT_EQ(IdsOf(keeper.passes[0]), IdsOf(keeper.passes[1]));
    std::set<uint64_t> open;
    size_t by_record = 0;  // callbacks that a record caused
    for (const Kept& kept : keeper.passes[0]) {
      const EventData& event = *kept.event;
      if (kept.kind == 's') {
        EXPECT_TRUE(open.insert(event.event_instance_id).second);
      }
      if (kept.kind == 'e') {
        EXPECT_EQ(open.erase(event.event_instance_id), 1u);
      }
      const bool alone = (kept.kind == 's' && (event.flags & kTruncatedStart) != 0) ||
                         (kept.kind == 'e' && (event.flags & (kUnterminatedActivity | kUnbalanced)) != 0);
      by_record += alone ? 0 : 1;
    }
    EXPECT_TRUE(open.empty());
    const auto source = OpenSource(path.string(), {});
    ASSERT_TRUE(source.ok());
    etwpipe::test::CollectSink sink;
    ASSERT_TRUE(Execute(**source, sink, 1, nullptr).ok());
    EXPECT_EQ(by_record, sink.events.size());
  }
}

}  // namespace
}  // namespace etwpipe::session

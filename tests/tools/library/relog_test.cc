// What a relogged trace holds: injected events at their times, and the records that retention flags keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "formats/etl/kernel_groups.h"
#include "formats/open.h"
#include "pipeline/executor.h"
#include "tests/support/collect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"
#include "tests/tools/library/build_trace.h"
#include "tools/library/retention_filter.h"
#include "tools/library/session.h"

namespace etwpipe::session {
namespace {

using etwpipe::test::CollectedEvent;
using etwpipe::test::SmallTrace;

const Guid kMine = GuidOf("99999999-2222-3333-4444-555555555555");

std::vector<CollectedEvent> EventsOf(const std::string& path) {
  const auto source = OpenSource(path, {});
  EXPECT_TRUE(source.ok()) << source.status().message();
  etwpipe::test::CollectSink sink;
  Diagnostics diagnostics;
  const auto summary = Execute(**source, sink, 1, &diagnostics);
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  for (const auto& entry : diagnostics.entries()) ADD_FAILURE() << entry.text;
  return std::move(sink.events);
}

InjectArgs Mine(uint16_t id, int64_t timestamp, uint16_t processor = 0) {
  InjectArgs args;
  args.provider = kMine;
  args.descriptor.id = id;
  args.descriptor.version = 1;
  args.descriptor.level = 4;
  args.descriptor.task = 3;
  args.descriptor.keyword = 0x10;
  args.process_id = 55;
  args.thread_id = 66;
  args.processor_index = processor;
  args.timestamp = timestamp;
  args.data = std::as_bytes(std::span("data", 4));
  return args;
}

// Injects a list of events when the trace's first event comes.
class Injector : public IRelogger {
 public:
  Control OnStartActivity(const EventStack&, IRelogSession& session) override { return Inject(session); }
  Control OnSimpleEvent(const EventStack&, IRelogSession& session) override { return Inject(session); }

  std::vector<InjectArgs> list;
  std::vector<bool> answers;
  int calls = 0;

 private:
  Control Inject(IRelogSession& session) {
    ++calls;
    for (const InjectArgs& args : list) answers.push_back(session.InjectEvent(args));
    list.clear();
    return Control::kContinue;
  }
};

class Relogging : public testing::Test {
 protected:
  Relogging() : input((folder / "in.etl").string()), output((folder / "out.etl").string()) {}
  SessionResult Run(IRelogger& relogger, RetentionFlags retention) {
    return Relog(input, output, 0, retention, {}, {&relogger});
  }
  etwpipe::test::TempFolder folder;
  std::string input;
  std::string output;
};

TEST_F(Relogging, InjectedEventsStandBehindTheRecordsOfTheirTime) {
  etwpipe::test::SmallBuild().Write(input);
  Injector injector;
  // Out of order, two of one time, on both processors, in the past of some and the future of others.
  injector.list = {Mine(1, 1090), Mine(2, 1040), Mine(3, 1000), Mine(4, 1040), Mine(5, 1060, 1), Mine(6, 1100)};
  const SessionResult result = Run(injector, kRetainAll);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.counts.injected, 6u);
  EXPECT_EQ(result.counts.clamped, 0u);
  EXPECT_EQ(result.counts.retained, 10u);
  EXPECT_EQ(injector.answers, std::vector<bool>(6, true));
  const auto events = EventsOf(output);
  ASSERT_EQ(events.size(), 16u);
  std::map<uint16_t, std::vector<std::pair<int64_t, int>>> by_cpu;  // time, id of ours or -1
  for (const CollectedEvent& event : events) {
    by_cpu[event.header.cpu].emplace_back(event.header.timestamp, event.provider == kMine ? event.header.id : -1);
  }
  using Row = std::vector<std::pair<int64_t, int>>;
  EXPECT_EQ(by_cpu[0], (Row{{1000, -1},
                            {1000, 3},
                            {1010, -1},
                            {1020, -1},
                            {1030, -1},
                            {1040, -1},
                            {1040, 2},
                            {1040, 4},
                            {1050, -1},
                            {1090, 1},
                            {1100, -1},
                            {1100, 6}}));
  EXPECT_EQ(by_cpu[1], (Row{{1000, -1}, {1060, -1}, {1060, 5}, {1080, -1}}));
  const auto mine = std::find_if(events.begin(), events.end(), [](const auto& one) { return one.provider == kMine; });
  EXPECT_EQ(mine->header.version, 1);
  EXPECT_EQ(mine->header.level, 4);
  EXPECT_EQ(mine->header.task, 3);
  EXPECT_EQ(mine->header.keyword, 0x10u);
  EXPECT_EQ(mine->header.pid, 55u);
  EXPECT_EQ(mine->header.tid, 66u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mine->bytes.data()) + mine->header.payload_begin, 4), "data");
  EXPECT_EQ(InstanceIdSource(mine->header.instance_id), kInjectedSource);
}

TEST_F(Relogging, TimestampsOutsideTheTraceAreClampedAndCounted) {
  etwpipe::test::SmallBuild().Write(input);
  Injector injector;
  injector.list = {Mine(1, 999), Mine(2, 1000), Mine(3, 1100), Mine(4, 1101), Mine(5, INT64_MIN), Mine(6, INT64_MAX)};
  const SessionResult result = Run(injector, kRetainNone);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.counts.clamped, 4u);
  EXPECT_EQ(result.counts.injected, 6u);
  EXPECT_EQ(result.counts.retained, 0u);
  std::vector<std::pair<int64_t, int>> rows;
  for (const CollectedEvent& event : EventsOf(output)) rows.emplace_back(event.header.timestamp, event.header.id);
  EXPECT_EQ(rows,
            (std::vector<std::pair<int64_t, int>>{{1000, 1}, {1000, 2}, {1000, 5}, {1100, 3}, {1100, 4}, {1100, 6}}));
}

TEST_F(Relogging, AProcessorBeyondTheTraceIsAnError) {
  etwpipe::test::SmallBuild().Write(input);
  Injector injector;
  injector.list = {Mine(1, 1010, 1), Mine(2, 1010, 2), Mine(3, 1010, 0)};
  const SessionResult result = Run(injector, kRetainAll);
  EXPECT_EQ(result.code, ResultCode::kAnalysisError);
  EXPECT_NE(result.message.find("processor 2"), std::string::npos) << result.message;
  EXPECT_EQ(injector.answers, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(injector.calls, 1) << "no callback after the error";
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST_F(Relogging, EventsAsLargeAsARecordAndLarger) {
  etwpipe::test::SmallBuild().Write(input);
  std::vector<std::byte> data(65536);
  for (const size_t size : {size_t{65535 - 80}, size_t{65535 - 79}, size_t{65536}}) {
    Injector injector;
    injector.list = {Mine(1, 1010)};
    injector.list[0].data = std::span(data).first(size);
    const SessionResult result = Run(injector, kRetainNone);
    // A record of 65,455 bytes payload is legal but fits no buffer of 64 KiB.
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.code, size == 65535 - 80 ? ResultCode::kInvalidOutputFile : ResultCode::kAnalysisError);
    EXPECT_FALSE(std::filesystem::exists(output));
  }
  Injector injector;
  injector.list = {Mine(1, 1010)};
  injector.list[0].data = std::span(data).first(65536 - 72 - 80);
  ASSERT_TRUE(Run(injector, kRetainNone).ok());
  EXPECT_EQ(EventsOf(output).at(0).bytes.size(), 65536u - 72);
}

TEST_F(Relogging, MoreEventsAtOneTimeThanABatchHolds) {
  etwpipe::test::SmallBuild().Write(input);
  Injector injector;
  constexpr size_t kCount = 150'000;
  for (size_t i = 0; i < kCount; ++i) injector.list.push_back(Mine(static_cast<uint16_t>(i), 1045));
  const SessionResult result = Run(injector, kRetainAll);
  ASSERT_TRUE(result.ok()) << result.message;
  const auto events = EventsOf(output);
  ASSERT_EQ(events.size(), kCount + 10);
  size_t next = 0;
  EventInstanceId last = 0;
  for (const CollectedEvent& event : events) {
    if (event.provider != kMine) continue;
    ASSERT_EQ(event.header.id, static_cast<uint16_t>(next++)) << "in the order of the calls";
    ASSERT_GT(event.header.instance_id, last);
    last = event.header.instance_id;
  }
  EXPECT_EQ(next, kCount);
}

// Times and processors at random against a stable sort.
TEST_F(Relogging, RandomInjectionsAgainstASort) {
  etwpipe::test::SmallBuild().Write(input);
  std::mt19937 random(5);
  Injector injector;
  for (uint16_t i = 0; i < 5000; ++i) {
    injector.list.push_back(Mine(i, 990 + static_cast<int64_t>(random() % 130), static_cast<uint16_t>(random() % 2)));
  }
  auto expected = injector.list;
  for (InjectArgs& args : expected) args.timestamp = std::clamp<int64_t>(args.timestamp, 1000, 1100);
  std::stable_sort(expected.begin(), expected.end(),
                   [](const InjectArgs& a, const InjectArgs& b) { return a.timestamp < b.timestamp; });
  ASSERT_TRUE(Run(injector, kRetainAll).ok());
  std::map<uint16_t, std::vector<std::pair<int64_t, uint16_t>>> want;
  std::map<uint16_t, std::vector<std::pair<int64_t, uint16_t>>> got;
  for (const InjectArgs& args : expected) {
    want[args.processor_index].emplace_back(args.timestamp, args.descriptor.id);
  }
  std::map<uint16_t, int64_t> time;
  for (const CollectedEvent& event : EventsOf(output)) {
    EXPECT_GE(event.header.timestamp, time[event.header.cpu]);
    time[event.header.cpu] = event.header.timestamp;
    if (event.provider == kMine) got[event.header.cpu].emplace_back(event.header.timestamp, event.header.id);
  }
  EXPECT_EQ(got, want);
}

TEST_F(Relogging, InjectedIdsGoOnFromRunToRun) {
  etwpipe::test::SmallBuild().Write(input);
  Injector first;
  first.list = {Mine(1, 1040)};
  ASSERT_TRUE(Run(first, kRetainAll).ok());
  Injector second;
  second.list = {Mine(2, 1040)};
  const std::string again = (folder / "again.etl").string();
  ASSERT_TRUE(Relog(output, again, 0, kRetainAll, {}, {&second}).ok());
  std::vector<EventInstanceId> ids;
  for (const CollectedEvent& event : EventsOf(again)) {
    if (event.provider == kMine) ids.push_back(event.header.instance_id);
  }
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[1], ids[0] + 1);
}

// One record of each class, named by the flag that keeps it.
struct Class {
  RetentionFlags flag;
  uint8_t group;
  uint8_t opcode;
};
constexpr Class kClasses[] = {
    {kRetainCpuSamples, etl::kGroupPerfInfo, 46},
    {kRetainCpuSamples, etl::kGroupPerfInfo, 73},
    {kRetainContextSwitches, etl::kGroupThread, 36},
    {kRetainContextSwitches, etl::kGroupThread, 50},
    {kRetainProcesses, etl::kGroupProcess, 1},
    {kRetainProcesses, etl::kGroupProcess, 3},
    {kRetainProcesses, etl::kGroupThread, 1},
    {kRetainProcesses, etl::kGroupThread, 4},
    {kRetainProcesses, etl::kGroupProcess, 10},  // image load
    {kRetainProcesses, etl::kGroupImage, 3},
    {kRetainFileIo, 0x01, 10},     // disk read
    {kRetainFileIo, 0x04, 67},     // file read
    {kRetainMemory, 0x02, 32},     // hard fault
    {kRetainMemory, 0x0E, 32},     // pool
    {0, etl::kGroupPerfInfo, 67},  // ISR
    {0, 0x09, 10},                 // registry
    {0, etl::kGroupProcess, 50},
    {0, 0x06, 10},  // TCP
};

SmallTrace OneOfEachClass() {
  SmallTrace trace;
  const std::vector<std::byte> payload(64);
  int64_t time = 1000;
  for (const Class& one : kClasses) {
    trace.AddKernel(one.group, one.opcode, time, payload);
    // Its stack: time, pid, tid, one frame.
    etl::PayloadWriter stack;
    stack.Add(time).Add(uint32_t{0}).Add(uint32_t{0}).Add(uint64_t{1});
    trace.AddKernel(etl::kGroupStackWalk, 32, time + 1, stack.bytes());
    time += 10;
  }
  trace.AddManifest("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 143, time);
  trace.AddManifest("a669021c-c450-4609-a035-5af59af4df18", 144, time);
  trace.AddManifest("763fd754-7086-4dfe-95eb-c01a46faf4ca", 1, time);
  trace.AddManifest("11111111-2222-3333-4444-555555555555", 1, time);
  trace.AddManifest("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", 1, time);
  return trace;
}

TEST_F(Relogging, EachFlagKeepsItsClassAndTheirStacks) {
  OneOfEachClass().Write(input);
  for (const RetentionFlags flags :
       {kRetainNone, kRetainCpuSamples, kRetainContextSwitches, kRetainProcesses, kRetainFileIo, kRetainMemory,
        kRetainClr, kRetainCpuSamples | kRetainFileIo, RetentionFlags{0x40}, RetentionFlags{1} << 63, kRetainAll}) {
    SCOPED_TRACE(flags);
    Injector nothing;
    const SessionResult result = Run(nothing, flags);
    ASSERT_TRUE(result.ok()) << result.message;
    std::map<std::pair<std::string, uint8_t>, int> kinds;  // provider and opcode
    size_t stacks = 0;
    size_t clr = 0;
    size_t programs = 0;
    const auto events = EventsOf(output);
    EXPECT_EQ(result.counts.retained, events.size());
    const Guid stack_walk = etl::KernelGroupGuid(etl::kGroupStackWalk, 32);
    for (const CollectedEvent& event : events) {
      const std::string provider = ToString(event.provider);
      if (event.provider == stack_walk) {
        ++stacks;
      } else if (provider.starts_with("e13c0d23") || provider.starts_with("a669021c") ||
                 provider.starts_with("763fd754")) {
        ++clr;
      } else if (provider.starts_with("11111111")) {
        ++programs;
      } else {
        ++kinds[{provider, event.header.opcode}];
      }
    }
    size_t kept = 0;
    for (const Class& one : kClasses) {
      const bool keeps = flags == kRetainAll || (one.flag & (flags | kRetainProcesses)) != 0;
      const auto key = std::pair(ToString(etl::KernelGroupGuid(one.group, one.opcode)), one.opcode);
      EXPECT_EQ(kinds.contains(key), keeps) << key.first << " " << int{one.opcode};
      kept += keeps ? 1 : 0;
    }
    EXPECT_EQ(stacks, kept) << "stacks follow their events";
    EXPECT_EQ(clr, (flags & kRetainClr) != 0 ? 3u : 0u);
    EXPECT_EQ(programs, flags == kRetainAll ? 1u : 0u);
  }
}

TEST_F(Relogging, AllKeepsEveryRecordOfRealTraces) {
  for (const char* name : {"DynamicEvents.etl", "diaghub.kernel.1.etl"}) {
    SCOPED_TRACE(name);
    const auto path = etwpipe::test::SamplePath(name);
    if (const auto missing = etwpipe::test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
    ASSERT_TRUE(Relog(path.string(), output, 0, kRetainAll, {}, {}).ok());
    const auto before = EventsOf(path.string());
    const auto after = EventsOf(output);
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(after[i].header.instance_id, before[i].header.instance_id);
      ASSERT_EQ(after[i].bytes, before[i].bytes);
    }
  }
}

}  // namespace
}  // namespace etwpipe::session

// Stacks of a real recording: every stack record finds its event, every key its stack, and the frames are those of a
// plain search through all records.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "formats/facts/stack_survey.h"
#include "formats/facts/stack_table.h"
#include "formats/facts/surveyors.h"
#include "formats/open.h"
#include "pipeline/byte_reader.h"
#include "pipeline/executor.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::facts {
namespace {

using Frames = std::vector<uint64_t>;
using test::CollectedEvent;

// Collects and asks for stacks.
class StackSink : public test::CollectSink {
 public:
  SinkInfo info() const override {
    SinkInfo info = CollectSink::info();
    info.facts = kStacks;
    return info;
  }
};

class StackSample : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = test::SamplePath("net.4.5.2.x64.etl");
    if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
    OpenOptions options;
    options.diagnostics = &diagnostics_;
    auto source = OpenSource(path.string(), options);
    ASSERT_TRUE(source.ok());
    source_ = std::move(*source);
    auto surveyors = MakeSurveyors({});
    ASSERT_TRUE(surveyors.ok());
    Plan plan;
    const auto summary = Execute({.source = *source_,
                                  .plan = plan,
                                  .sink = sink_,
                                  .threads = 2,
                                  .diagnostics = &diagnostics_,
                                  .surveyors = surveyors->factory});
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    table_ = source_->context().facts->Get<StackTable>();
    ASSERT_NE(table_, nullptr);
    for (CollectedEvent& event : sink_.events) event.header.record = event.bytes.data();
  }

  static bool IsStackWalk(const CollectedEvent& event) {
    static const Guid guid = GuidOf("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3");
    return event.provider == guid;
  }
  static bool IsRuntime(const CollectedEvent& event) {
    static const Guid guid = GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
    return event.provider == guid;
  }
  static Frames Pointers(std::span<const std::byte> bytes, size_t size) {
    Frames frames;
    ByteReader reader(bytes);
    while (reader.remaining() >= size) frames.push_back(size == 8 ? reader.Read<uint64_t>() : reader.Read<uint32_t>());
    return frames;
  }
  Frames Find(const EventHeader& row) const {
    EventStack stack;
    return table_->Find(row, stack) ? stack.frames : Frames{};
  }

  Diagnostics diagnostics_;
  std::unique_ptr<Source> source_;
  StackSink sink_;
  const StackTable* table_ = nullptr;
};

TEST_F(StackSample, EveryStackRecordFindsItsEvent) {
  std::map<int64_t, std::vector<const CollectedEvent*>> by_time;
  std::map<uint64_t, std::vector<const CollectedEvent*>> definitions;
  for (const CollectedEvent& event : sink_.events) {
    if (!IsStackWalk(event)) {
      by_time[event.header.timestamp].push_back(&event);
    } else if (event.header.opcode >= 34 && event.header.opcode <= 36) {
      definitions[LoadAt<uint64_t>(event.header.payload().data())].push_back(&event);
    }
  }
  size_t records = 0;
  for (const CollectedEvent& event : sink_.events) {
    const uint8_t opcode = event.header.opcode;
    if (!IsStackWalk(event) || (opcode != 32 && opcode != 37 && opcode != 38)) continue;
    ++records;
    const auto payload = event.header.payload();
    Frames frames = Pointers(payload.subspan(16), 8);
    if (opcode != 32) {
      // The first record at or after the use, since the recording has no records of new keys.
      const auto& all = definitions[frames.at(0)];
      const auto defined = std::find_if(all.begin(), all.end(), [&](const CollectedEvent* definition) {
        return definition->header.timestamp >= event.header.timestamp;
      });
      ASSERT_NE(defined, all.end());
      frames = Pointers((*defined)->header.payload().subspan(8), 8);
    }
    // Its frames are part of the stack of just one event of that time, or of each of several idle threads.
    size_t owners = 0;
    for (const CollectedEvent* owner : by_time[LoadAt<int64_t>(payload.data())]) {
      const Frames found = Find(owner->header);
      owners += std::search(found.begin(), found.end(), frames.begin(), frames.end()) == found.end() ? 0 : 1;
    }
    const bool idle = LoadAt<uint32_t>(payload.data(), 12) == 0;
    ASSERT_TRUE(owners == 1 || (idle && owners > 1)) << owners << " at " << event.header.timestamp;
  }
  EXPECT_EQ(records, 9'359u);
  EXPECT_EQ(table_->unknown_keys(), 0u);
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kStackKeyUnknown), 0u);
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kStacksDropped), 0u);
}

TEST_F(StackSample, FramesAreThoseOfAPlainSearch) {
  // By time, then thread: halves as they were logged.
  std::map<int64_t, std::vector<const CollectedEvent*>> halves;
  std::vector<const CollectedEvent*> definitions;
  for (const CollectedEvent& event : sink_.events) {
    if (!IsStackWalk(event)) continue;
    const uint8_t opcode = event.header.opcode;
    if (opcode == 32 || opcode >= 37) {
      halves[LoadAt<int64_t>(event.header.payload().data())].push_back(&event);
    } else {
      definitions.push_back(&event);
    }
  }
  const auto frames_of = [&](const CollectedEvent& half) {
    const Frames frames = Pointers(half.header.payload().subspan(16), 8);
    if (half.header.opcode == 32) return frames;
    for (const CollectedEvent* definition : definitions) {
      const auto payload = definition->header.payload();
      if (definition->header.timestamp < half.header.timestamp || LoadAt<uint64_t>(payload.data()) != frames[0])
        continue;
      return Pointers(payload.subspan(8), 8);
    }
    return Frames{};
  };
  // Of samples and hard faults the payload says the thread; other records without one have no stacks here.
  const auto tid_of = [](const CollectedEvent& event) {
    const EventHeader& row = event.header;
    if (row.has(kHasPid)) return row.tid;
    static const Guid page_fault = GuidOf("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c");
    const size_t place = row.opcode == 46 ? 8 : event.provider == page_fault && row.opcode == 32 ? 32 : SIZE_MAX;
    return place + 4 <= row.payload().size() && place != SIZE_MAX ? LoadAt<uint32_t>(row.payload().data(), place)
                                                                  : kNoId;
  };
  const auto is_kernel = [](HeaderKind kind) {
    return kind == HeaderKind::kSystem64 || kind == HeaderKind::kPerfInfo64;
  };
  size_t with_stack = 0;
  size_t walked = 0;
  for (const CollectedEvent& event : sink_.events) {
    if (IsRuntime(event)) continue;
    const EventHeader& row = event.header;
    Frames kernel;
    Frames user;
    const auto found = halves.find(row.timestamp);
    if (found != halves.end() && is_kernel(row.kind) && !IsStackWalk(event)) {
      for (const CollectedEvent* half : found->second) {
        const auto tid = LoadAt<uint32_t>(half->header.payload().data(), 12);
        if (tid_of(event) != tid || (tid == 0 && half->header.cpu != row.cpu)) continue;
        const Frames frames = frames_of(*half);
        (half->header.opcode == 37 || frames[0] >> 63 == 1 ? kernel : user) = frames;
      }
      ++walked;
    }
    kernel.insert(kernel.end(), user.begin(), user.end());
    for (size_t at = row.extended_begin; kernel.empty() && row.has(kHasExtended) && at + 8 <= row.payload_begin;) {
      const auto type = LoadAt<uint16_t>(row.record, at + 2);
      if (type == 6)
        kernel = Pointers(row.record_bytes().subspan(at + 16, LoadAt<uint16_t>(row.record, at + 6) - 8), 8);
      at += LoadAt<uint16_t>(row.record, at);
    }
    ASSERT_EQ(Find(row), kernel) << "event " << row.instance_id;
    with_stack += kernel.empty() ? 0 : 1;
  }
  EXPECT_GT(walked, 7'000u);
  EXPECT_EQ(with_stack, table_->stack_walks() + 655) << "655 events carry their stack (expected/activities.json)";
}

TEST_F(StackSample, ClrStacksBelongToTheEventBeforeThem) {
  // All but 82 of the recording are of the runtime; which other providers have stacks says the table of kinds.
  size_t expected = 0;
  const auto kinds = test::ReadJson(test::TestDataDir() / "expected" / "perfview-kinds.json");
  for (const auto& kind : kinds["net.4.5.2.x64"]["not_shown"].GetArray()) {
    if (std::string_view(kind["reason"].GetString()).starts_with("CLR stack walk")) {
      expected += kind["count"].GetUint64();
    }
  }
  EXPECT_EQ(expected, 14'983u);
  EXPECT_EQ(table_->attached(), expected);
  EXPECT_EQ(table_->orphans(), 0u);

  std::map<uint32_t, const CollectedEvent*> last;  // by thread, in the order of time
  std::map<EventInstanceId, Frames> stacks;
  for (const CollectedEvent& event : sink_.events) {
    if (!IsRuntime(event)) continue;
    if (event.header.id != 82) {
      last[event.header.tid] = &event;
      continue;
    }
    const auto& owner = last[event.header.tid];
    ASSERT_NE(owner, nullptr);
    const bool added = stacks
                           .emplace(owner->header.instance_id,
                                    Pointers(event.header.payload().subspan(8), event.header.pointer_size()))
                           .second;
    ASSERT_TRUE(added) << "two stacks for one event";
  }
  for (const CollectedEvent& event : sink_.events) {
    if (!IsRuntime(event)) continue;
    const auto known = stacks.find(event.header.instance_id);
    ASSERT_EQ(Find(event.header), known == stacks.end() ? Frames{} : known->second);
  }
}

}  // namespace
}  // namespace etwpipe::facts

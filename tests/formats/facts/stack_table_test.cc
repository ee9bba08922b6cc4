// Which event a stack belongs to: by timestamp, thread and processor; keys with lives; halves; the CLR's rule.
#include "formats/facts/stack_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "formats/facts/stack_survey.h"
#include "tests/formats/facts/fact_rows.h"

namespace etwpipe::facts {
namespace {

using schema::ExtendedType;
using Frames = std::vector<uint64_t>;

constexpr std::string_view kStackWalk = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";
constexpr std::string_view kPerfInfo = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
constexpr std::string_view kDisk = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kImageId = "b3e675d7-2554-4f18-830b-2762732560de";
constexpr std::string_view kRuntime = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
constexpr std::string_view kRundown = "a669021c-c450-4609-a035-5af59af4df18";
constexpr std::string_view kPrivate = "763fd754-7086-4dfe-95eb-c01a46faf4ca";
constexpr std::string_view kStress = "cc2bcbba-16b6-4cf3-8990-d74c2e8af500";
constexpr std::string_view kOther = "11111111-2222-3333-4444-555555555555";

constexpr uint64_t kKernel = 0xFFFFF80000001000;
constexpr uint64_t kUser = 0x7FF612340000;

class Stacks : public testing::Test {
 protected:
  EventHeader& Sample(int64_t time, uint16_t cpu, uint32_t tid) {
    auto payload = Bytes().Add(kKernel).Add(tid).Add(uint32_t{1}).bytes;
    EventHeader& row = rows_.Add(HeaderKind::kPerfInfo64, kPerfInfo, time, cpu, payload);
    row.opcode = 46;
    return row;
  }
  EventHeader& Disk(int64_t time, uint16_t cpu, uint32_t tid) {
    return rows_.Add(HeaderKind::kSystem64, kDisk, time, cpu, 100, tid);
  }
  void Walk(uint8_t opcode, int64_t time, uint16_t cpu, int64_t event_time, uint32_t tid, const Frames& frames) {
    auto payload = Bytes().Add(event_time).Add(uint32_t{100}).Add(tid).Pointers(frames).bytes;
    rows_.Add(HeaderKind::kPerfInfo64, kStackWalk, time, cpu, payload).opcode = opcode;
  }
  void Define(uint8_t opcode, int64_t time, uint64_t key, const Frames& frames) {
    auto payload = Bytes().Add(key).Pointers(frames).bytes;
    rows_.Add(HeaderKind::kPerfInfo64, kStackWalk, time, 0, payload).opcode = opcode;
  }
  EventHeader& Clr(std::string_view provider, uint16_t id, int64_t time, uint16_t cpu, uint32_t tid) {
    EventHeader& row = rows_.Add(HeaderKind::kEvent64, provider, time, cpu, 100, tid);
    row.id = id;
    return row;
  }
  void ClrStack(std::string_view provider, uint16_t id, int64_t time, uint16_t cpu, uint32_t tid,
                const Frames& frames) {
    auto payload = Bytes().Add(uint32_t{5}).Add(static_cast<uint32_t>(frames.size())).Pointers(frames).bytes;
    rows_.Add(HeaderKind::kEvent64, provider, time, cpu, 100, tid, payload).id = id;
  }
  const StackTable& Table(const StackLimits& limits = {}) {
    const auto surveyor = MakeStackSurveyor(limits);
    rows_.Survey(*surveyor, &diagnostics_);
    return *trace_.facts->Get<StackTable>();
  }
  Frames Find(const EventHeader& row) {
    EventStack stack;
    const bool found = trace_.facts->Get<StackTable>()->Find(row, stack);
    EXPECT_EQ(found, !stack.frames.empty());
    return stack.frames;
  }

  TraceContext trace_;
  FactRows rows_{trace_};
  Diagnostics diagnostics_;
};

TEST_F(Stacks, HalvesOfTwoProcessorsAreOneStack) {
  const EventHeader& disk = Disk(100, 0, 7);
  const EventHeader& later = Disk(200, 0, 7);
  Walk(32, 101, 0, 100, 7, {kKernel, kKernel + 1});
  Walk(32, 150, 3, 100, 7, {kUser, kUser + 1});
  Table();
  EXPECT_EQ(Find(disk), (Frames{kKernel, kKernel + 1, kUser, kUser + 1}));
  EXPECT_TRUE(Find(later).empty());
  EventStack stack;
  trace_.facts->Get<StackTable>()->Find(disk, stack);
  EXPECT_EQ(stack.kernel().size(), 2u);
  EXPECT_EQ(stack.user().size(), 2u);
  EXPECT_EQ(stack.pid, 100u);
  EXPECT_EQ(stack.tid, 7u);
}

TEST_F(Stacks, UserHalfAloneIsFoundOnAnotherProcessorByItsThread) {
  const EventHeader& sample = Sample(100, 0, 7);
  const EventHeader& other = Sample(100, 1, 8);
  Walk(38, 150, 3, 100, 7, {0xABC0});
  Define(36, 900, 0xABC0, {kUser});
  Table();
  EXPECT_EQ(Find(sample), Frames{kUser});
  EXPECT_TRUE(Find(other).empty());
}

TEST_F(Stacks, ProcessorTellsIdleThreadsApart) {
  const EventHeader& first = Sample(100, 0, 0);
  const EventHeader& second = Sample(100, 1, 0);
  const EventHeader& third = Sample(100, 2, 0);
  Walk(32, 101, 1, 100, 0, {kKernel + 1});
  Walk(32, 102, 0, 100, 0, {kKernel});
  Table();
  EXPECT_EQ(Find(first), Frames{kKernel});
  EXPECT_EQ(Find(second), Frames{kKernel + 1});
  EXPECT_TRUE(Find(third).empty()) << "an idle thread does not move";
}

TEST_F(Stacks, RecordWithoutAThreadGoesByItsProcessor) {
  EventHeader& call = Sample(100, 0, 7);
  call.opcode = 51;
  EventHeader& elsewhere = Sample(100, 1, 7);
  elsewhere.opcode = 51;
  Walk(32, 101, 0, 100, 7, {kKernel});
  Table();
  EXPECT_EQ(Find(call), Frames{kKernel});
  EXPECT_TRUE(Find(elsewhere).empty());
}

TEST_F(Stacks, OnlyKernelRecordsAndOnlyTheLastOfThem) {
  const EventHeader& id = rows_.Add(HeaderKind::kFull64, kImageId, 100, 0, 100, 7);
  const EventHeader& event = rows_.Add(HeaderKind::kEvent64, kOther, 100, 0, 100, 7);
  const EventHeader& disk = Disk(100, 0, 7);
  const EventHeader& again = Disk(100, 0, 7);
  const EventHeader& thread = Disk(100, 0, 8);
  Walk(32, 101, 0, 100, 7, {kKernel});
  Table();
  EXPECT_TRUE(Find(id).empty());
  EXPECT_TRUE(Find(event).empty());
  EXPECT_TRUE(Find(disk).empty());
  EXPECT_EQ(Find(again), Frames{kKernel});
  EXPECT_TRUE(Find(thread).empty());
}

TEST_F(Stacks, StackRecordsHaveNoStackThemselves) {
  Disk(100, 0, 7);
  Walk(32, 100, 0, 100, 7, {kKernel});
  Table();
  EXPECT_TRUE(Find(rows_.rows.back()).empty());
}

TEST_F(Stacks, KeysLiveUntilTheirDelete) {
  const EventHeader& a = Disk(10, 0, 7);
  const EventHeader& b = Disk(30, 0, 7);
  const EventHeader& c = Disk(50, 0, 7);
  const EventHeader& d = Disk(70, 0, 7);
  for (const int64_t time : {10, 30, 50, 70}) Walk(37, time + 5, 0, time, 7, {0xABC0});
  Define(35, 20, 0xABC0, {kKernel});
  Define(35, 40, 0xABC0, {kKernel + 1});
  Define(34, 45, 0xABC0, {kKernel + 2});
  Define(35, 60, 0xABC0, {kKernel + 2});
  const StackTable& table = Table();
  EXPECT_EQ(Find(a), Frames{kKernel});
  EXPECT_EQ(Find(b), Frames{kKernel + 1});
  EXPECT_EQ(Find(c), Frames{kKernel + 2});
  EXPECT_TRUE(Find(d).empty()) << "deleted, and nothing says what came after";
  EXPECT_EQ(table.unknown_keys(), 1u);
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kStackKeyUnknown), 1u);
}

TEST(StackKeys, CreateBeginsAndRundownReachesBothWays) {
  using Kind = StackDefinition::Kind;
  const StackKeys keys({{1, 100, 10, Kind::kCreate}, {1, 200, 11, Kind::kCreate}, {2, 100, 20, Kind::kRundown}});
  EXPECT_EQ(keys.Find(1, 100), 10u);
  EXPECT_EQ(keys.Find(1, 199), 10u) << "its delete is lost; the next create ends it";
  EXPECT_EQ(keys.Find(1, 200), 11u);
  EXPECT_EQ(keys.Find(1, 999), 11u);
  EXPECT_EQ(keys.Find(1, 99), 10u) << "records of two processors cross";
  EXPECT_EQ(keys.Find(2, 1), 20u);
  EXPECT_EQ(keys.Find(2, 999), 20u);
  EXPECT_EQ(keys.Find(3, 100), kNoStack);
}

TEST_F(Stacks, ExtendedItemsHoldStacksOrKeys) {
  const auto item = [](ExtendedType type, uint64_t match, const Frames& values, size_t size) {
    return FactRows::Item{type, Bytes().Add(match).Pointers(values, size).bytes};
  };
  const auto add = [&](int64_t time, uint32_t tid, const std::vector<FactRows::Item>& items) -> EventHeader& {
    return rows_.Add(HeaderKind::kEvent64, kOther, time, 0, 100, tid, {}, items);
  };
  const EventHeader& wide = add(1, 7, {item(ExtendedType::kStackTrace64, 0, {kKernel, kUser}, 8)});
  const EventHeader& narrow = add(2, 7, {item(ExtendedType::kStackTrace32, 0, {0x80001000, 0x401000}, 4)});
  const EventHeader& key = add(3, 7, {item(ExtendedType::kStackKey64, 0, {0xABC0}, 8)});
  const EventHeader& key32 = add(4, 7, {item(ExtendedType::kStackKey32, 0, {0xDEF0, 0}, 4)});
  const EventHeader& half = add(5, 7, {item(ExtendedType::kStackTrace64, 77, {kKernel}, 8)});
  const EventHeader& other_half = add(6, 7, {item(ExtendedType::kStackKey64, 77, {0xABC0}, 8)});
  const EventHeader& alone = add(7, 8, {item(ExtendedType::kStackTrace64, 78, {kKernel}, 8)});
  const EventHeader& cut = add(8, 8, {{ExtendedType::kStackTrace64, Bytes().Add(uint32_t{1}).bytes}});
  Define(36, 900, 0xABC0, {kUser + 5});
  Define(36, 901, 0xDEF0, {kUser + 6});
  Table();
  EXPECT_EQ(Find(wide), (Frames{kKernel, kUser}));
  EXPECT_EQ(Find(narrow), (Frames{0x80001000, 0x401000}));
  EXPECT_EQ(Find(key), Frames{kUser + 5});
  EXPECT_EQ(Find(key32), Frames{kUser + 6});
  EXPECT_EQ(Find(half), (Frames{kKernel, kUser + 5}));
  EXPECT_EQ(Find(other_half), Frames{kUser + 5});
  EXPECT_EQ(Find(alone), Frames{kKernel});
  EXPECT_TRUE(Find(cut).empty());
}

TEST_F(Stacks, ClrStackBelongsToTheEventBeforeItOnItsThread) {
  const EventHeader& first = Clr(kRuntime, 10, 10, 0, 7);
  const EventHeader& second = Clr(kRuntime, 1, 20, 1, 7);
  const EventHeader& other = Clr(kRuntime, 1, 21, 0, 8);
  ClrStack(kRuntime, 82, 30, 2, 7, {kUser, kUser + 1});
  ClrStack(kRuntime, 82, 40, 2, 7, {kUser + 2});
  const StackTable& table = Table();
  EXPECT_TRUE(Find(first).empty());
  EXPECT_EQ(Find(second), (Frames{kUser, kUser + 1}));
  EXPECT_TRUE(Find(other).empty());
  EXPECT_EQ(table.attached(), 1u);
  EXPECT_EQ(table.orphans(), 1u);
}

TEST_F(Stacks, EveryClrProviderHasItsOwnStackEvent) {
  std::vector<const EventHeader*> events;
  int64_t time = 0;
  for (const auto& [provider, id] : {std::pair(kRuntime, 82), {kRundown, 0}, {kPrivate, 151}, {kStress, 1}}) {
    events.push_back(&Clr(provider, 200, ++time, 0, 7));
    ClrStack(provider, static_cast<uint16_t>(id), ++time, 0, 7, {kUser + static_cast<uint64_t>(id)});
  }
  Table();
  EXPECT_EQ(Find(*events[0]), Frames{kUser + 82});
  EXPECT_EQ(Find(*events[1]), Frames{kUser});
  EXPECT_EQ(Find(*events[2]), Frames{kUser + 151});
  EXPECT_EQ(Find(*events[3]), Frames{kUser + 1});
}

TEST_F(Stacks, ClrEventThatCarriesItsStackTakesNoSecond) {
  const FactRows::Item item{ExtendedType::kStackTrace64, Bytes().Add(uint64_t{0}).Add(kUser).bytes};
  EventHeader& event = rows_.Add(HeaderKind::kEvent64, kRuntime, 10, 0, 100, 7, {}, {item});
  event.id = 10;
  ClrStack(kRuntime, 82, 11, 0, 7, {kUser + 1});
  EXPECT_EQ(Table().orphans(), 1u);
  EXPECT_EQ(Find(event), Frames{kUser});
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kStackOrphan), 1u);
}

TEST_F(Stacks, FramesOfAClrStackAreAsWideAsItsHeaderSays) {
  EventHeader& event = Clr(kRuntime, 10, 10, 0, 7);
  const auto payload = Bytes().Add(uint32_t{5}).Add(uint32_t{0xFFFFFFFF}).Pointers({0x401000, 0x80402000}, 4).bytes;
  EventHeader& stack = rows_.Add(HeaderKind::kEvent32, kRuntime, 11, 0, 100, 7, payload);
  stack.id = 82;
  stack.flags &= static_cast<uint8_t>(~kPointer64);
  Table();
  EXPECT_EQ(Find(event), (Frames{0x401000, 0x80402000})) << "a count past the end means what is there";
}

TEST_F(Stacks, CutRecordsAreNoStacks) {
  const EventHeader& disk = Disk(100, 0, 7);
  for (const uint8_t opcode : std::vector<uint8_t>{32, 34, 35, 36, 37, 38}) {
    for (size_t size = 0; size < 24; ++size) {
      auto payload = Bytes().Add(int64_t{100}).Add(uint32_t{100}).Add(uint32_t{7}).Add(kKernel).bytes;
      payload.resize(size);
      if (opcode >= 34 && opcode <= 36) payload.resize(std::min<size_t>(size, 15));
      rows_.Add(HeaderKind::kPerfInfo64, kStackWalk, 101, 0, payload).opcode = opcode;
    }
  }
  EXPECT_EQ(Table().stack_walks(), 0u);
  EXPECT_TRUE(Find(disk).empty());
  // Without a head of 16 bytes (32, 37, 38), and without a key of 8 behind the head (37, 38) or at all (34 to 36).
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kFactBad), 16u + 2u * 24u + 3u * 8u);
}

TEST_F(Stacks, WhatIsBeyondTheBoundsIsCounted) {
  for (int64_t time = 0; time < 100; ++time) {
    Disk(10 * time, 0, 7);
    Walk(32, 10 * time + 1, 0, 10 * time, 7, {kKernel + static_cast<uint64_t>(time)});
  }
  EXPECT_EQ(Table({60, 1000}).stack_walks(), 60u);
  EXPECT_EQ(diagnostics_.count(DiagnosticId::kStacksDropped), 40u);
  EXPECT_EQ(Table({100, 90}).stack_walks(), 30u) << "a frame and what its stack costs beside it";
}

TEST_F(Stacks, AHundredThousandStacksOfOneTimestampTakeNoTime) {
  constexpr uint32_t kMany = 100'000;
  for (uint32_t i = 0; i < kMany; ++i) Walk(i % 2 == 0 ? uint8_t{32} : uint8_t{38}, 101, 0, 100, i % 2, {kKernel + i});
  const EventHeader& row = Sample(100, 0, 1);
  Table();
  for (uint32_t i = 0; i < kMany; ++i) Find(row);
}

TEST(StackPool, KeepsEachStackOnceAndEndsAtItsBound) {
  StackPool pool(10);
  EXPECT_EQ(pool.Intern(Frames{1, 2, 3}), 0u);
  EXPECT_EQ(pool.Intern(Frames{1, 2}), 1u);
  EXPECT_EQ(pool.Intern(Frames{1, 2, 3}), 0u);
  EXPECT_EQ(pool.Intern(Frames{7}), kNoStack);
  EXPECT_EQ(pool.Intern(Frames{1, 2}), 1u) << "what is there is still found";
  EXPECT_EQ(pool.total_frames(), 5u);
  StackPool large;
  for (uint64_t i = 0; i < 20'000; ++i) ASSERT_EQ(large.Intern(Frames{i % 10'000, 5}), i % 10'000);
  EXPECT_EQ(large.frames(9'999)[0], 9'999u);
}

// Builds a trace of which it knows every stack: events on four processors, halves there and elsewhere, keys that are
// used again.
TEST_F(Stacks, RandomTraceGivesTheStacksItWasMadeOf) {
  constexpr size_t kKeys = 5;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    TraceContext trace;
    std::swap(trace_, trace);
    struct Use {
      uint8_t opcode;
      int64_t time;
      uint16_t cpu;
      int64_t event;
      uint32_t tid;
      Frames words;
    };
    std::multimap<int64_t, Use> later;
    std::map<EventInstanceId, Frames> truth;
    std::vector<Frames> keys(kKeys);
    uint64_t next = 0;
    const auto frames_of = [&](bool user) {
      Frames frames(1 + random() % 4);
      for (auto& frame : frames) frame = (user ? kUser : kKernel) + random() % 50;
      frames.back() += 1000 * ++next;
      return frames;
    };
    for (size_t key = 0; key < kKeys; ++key) keys[key] = frames_of(key % 2 == 1);
    for (int64_t time = 0; time < 2'000; ++time) {
      if (random() % 20 == 0) {
        // The stacks of a key are all used before it goes.
        const size_t key = random() % kKeys;
        bool pending = false;
        for (const auto& [at, use] : later) pending = pending || (use.opcode != 32 && use.words[0] == key + 1);
        if (!pending) {
          Define(35, time, key + 1, keys[key]);
          keys[key] = frames_of(key % 2 == 1);
          if (random() % 2 == 0) Define(34, time + 1, key + 1, keys[key]);
        }
      }
      for (; !later.empty() && later.begin()->first <= time; later.erase(later.begin())) {
        const Use& use = later.begin()->second;
        Walk(use.opcode, use.time, use.cpu, use.event, use.tid, use.words);
      }
      if (random() % 3 != 0) continue;
      // Events of up to three processors at one tick, each of another thread or idle.
      for (uint16_t cpu = 0; cpu < 3; ++cpu) {
        if (random() % 2 == 0) continue;
        const uint32_t tid = random() % 4 == 0 ? 0 : 10 + cpu;
        const EventHeader row = random() % 2 == 0 ? Sample(time, cpu, tid) : Disk(time, cpu, tid);
        Frames& all = truth[row.instance_id];
        for (const bool user : {false, true}) {
          if (random() % 3 == 0 || (user && tid == 0)) continue;
          const int64_t logged = time + 1 + static_cast<int64_t>(random() % 9);
          const auto where = static_cast<uint16_t>(user ? random() % 4 : cpu);
          const size_t key = random() % kKeys / 2 * 2 + (user ? 1 : 0);
          const bool by_key = random() % 2 == 0 && key < kKeys;
          const Frames frames = by_key ? keys[key] : frames_of(user);
          all.insert(all.end(), frames.begin(), frames.end());
          const auto opcode = static_cast<uint8_t>(!by_key ? 32 : user ? 38 : 37);
          later.emplace(logged, Use{opcode, logged, where, time, tid, by_key ? Frames{key + 1} : frames});
        }
      }
    }
    for (const auto& [at, use] : later) Walk(use.opcode, use.time, use.cpu, use.event, use.tid, use.words);
    for (size_t key = 0; key < kKeys; ++key) Define(36, 5'000, key + 1, keys[key]);
    Table();
    for (const EventHeader& row : rows_.rows) {
      const auto known = truth.find(row.instance_id);
      ASSERT_EQ(Find(row), known == truth.end() ? Frames{} : known->second)
          << "seed " << seed << " time " << row.timestamp;
    }
    rows_.rows.clear();
  }
}

}  // namespace
}  // namespace etwpipe::facts

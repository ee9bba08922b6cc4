// The life rules of semantics.md 7.2, one by one, and what they leave open.
#include "formats/facts/method_lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/formats/facts/method_fixture.h"

namespace etwpipe::facts {
namespace {

using Life = std::pair<int64_t, int64_t>;

Life LifeOf(const MethodVersion& version) { return {version.from, version.to}; }

TEST(MethodLives, Rule1LoadOpens) {
  Records records;
  records.Add(Kind::kLoad, 20, 1, 0x1000, 0x10, "a");
  const auto table = records.Build();
  ASSERT_EQ(table.versions().size(), 1u);
  EXPECT_EQ(LifeOf(table.versions()[0]), Life(20, kAfter));
  EXPECT_EQ(table.versions()[0].loads, 1u);
  EXPECT_EQ(table.versions()[0].learnt, MethodSource::kLoad);
}

TEST(MethodLives, Rule2UnloadCloses) {
  Records records;
  records.Add(Kind::kLoad, 20, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kUnload, 30, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kUnload, 31, 1, 0x1000, 0x10) /* the short record of the same event */;
  const auto table = records.Build();
  ASSERT_EQ(table.versions().size(), 1u);
  EXPECT_EQ(LifeOf(table.versions()[0]), Life(20, 30));
}

TEST(MethodLives, Rule2UnloadWithoutLoadReachesBack) {
  Records records;
  records.Add(Kind::kUnload, 30, 1, 0x1000, 0x10, "a");
  const auto table = records.Build();
  ASSERT_EQ(table.versions().size(), 1u);
  EXPECT_EQ(LifeOf(table.versions()[0]), Life(kBefore, 30));
  EXPECT_EQ(table.versions()[0].learnt, MethodSource::kUnload);
}

TEST(MethodLives, Rules3And4RundownReachesBack) {
  for (const Kind kind : {Kind::kRundownStart, Kind::kRundownEnd}) {
    Records records;
    records.Add(kind, 50, 1, 0x1000, 0x10, "a");
    const auto table = records.Build();
    ASSERT_EQ(table.versions().size(), 1u);
    EXPECT_EQ(LifeOf(table.versions()[0]), Life(kBefore, kAfter));
    EXPECT_EQ(table.versions()[0].alive_at_end, kind == Kind::kRundownEnd);
    EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 3)), "exact a");
    EXPECT_EQ(Text(table.FindAddress(kPid, 0x100F, 3)), "exact a");
  }
}

TEST(MethodLives, Rule4RundownOfALoadedMethodAddsNothing) {
  Records records;
  records.Add(Kind::kLoad, 20, 1, 0x1000, 0x10);
  records.Add(Kind::kRundownEnd, 90, 1, 0x1000, 0x10, "a");
  const auto table = records.Build();
  ASSERT_EQ(table.versions().size(), 1u);
  EXPECT_EQ(LifeOf(table.versions()[0]), Life(20, kAfter));
  EXPECT_TRUE(table.versions()[0].alive_at_end);
  EXPECT_EQ(table.versions()[0].name(), "a");
}

TEST(MethodLives, Rule5TheLastOverlapIsTheLowerBound) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kUnload, 20, 1, 0x1000, 0x10);
  records.Add(Kind::kLoad, 12, 2, 0x1010, 0x10, "b");
  records.Add(Kind::kUnload, 30, 2, 0x1010, 0x10);
  records.Add(Kind::kRundownEnd, 90, 3, 0x100F, 0x1, "ends with a");
  records.Add(Kind::kRundownEnd, 91, 4, 0x1010, 0x8, "after b");
  records.Add(Kind::kRundownEnd, 92, 5, 0x1020, 0x8, "beside b");
  const auto table = records.Build();
  EXPECT_EQ(table.FindId(kPid, 9, 3, 50).method->from, 20);
  EXPECT_EQ(table.FindId(kPid, 9, 4, 50).method->from, 30);
  EXPECT_EQ(table.FindId(kPid, 9, 5, 50).method->from, kBefore);
}

TEST(MethodLives, Rule5AProcessBeginsItsMethods) {
  ProcessRecord start;
  start.pid = kPid;
  start.timestamp = 15;
  const auto processes = ProcessTable::Build({start}, 0);
  Records records;
  records.Add(Kind::kRundownEnd, 90, 1, 0x1000, 0x10, "a");
  EXPECT_EQ(records.Build(&processes).versions()[0].from, 15);
}

TEST(MethodLives, Rule6ALoadClosesWhatItOverlaps) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kLoad, 11, 2, 0x1010, 0x10, "b");
  records.Add(Kind::kLoad, 12, 3, 0x1020, 0x10, "c");
  records.Add(Kind::kLoad, 13, 4, 0x1030, 0x10, "d");
  records.Add(Kind::kLoad, 20, 5, 0x101F, 0x2, "e");
  const auto table = records.Build();
  const auto& versions = table.versions();
  EXPECT_EQ(LifeOf(versions[0]), Life(10, kAfter)) << "touches nothing";
  EXPECT_EQ(LifeOf(versions[1]), Life(11, 20));
  EXPECT_EQ(LifeOf(versions[2]), Life(12, 20));
  EXPECT_EQ(LifeOf(versions[3]), Life(13, kAfter));
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x101F, 19)), "exact b");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x101F, 20)), "exact e");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1020, 25)), "exact e");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1021, 25)), "unknown") << "c is gone";
}

TEST(MethodLives, Rule6TheSameMethodAtTheSamePlaceWithAnotherSizeIsOtherCode) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kLoad, 20, 1, 0x1000, 0x20, "a");
  records.Add(Kind::kLoad, 21, 1, 0x1000, 0x20);
  const auto table = records.Build();
  ASSERT_EQ(table.versions().size(), 2u);
  EXPECT_EQ(LifeOf(table.versions()[0]), Life(10, 20));
  EXPECT_EQ(table.versions()[1].loads, 2u);
}

TEST(MethodLives, Rule7TiersAndReJitLiveSideBySide) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a").flags = kMethodJitted | 3 << 7;
  records.Add(Kind::kLoad, 20, 1, 0x2000, 0x10, "a").flags = kMethodJitted | 4 << 7;
  records.Add(Kind::kLoad, 30, 1, 0x3000, 0x10, "a").rejit_id = 1;
  const auto table = records.Build();
  ASSERT_EQ(table.versions().size(), 3u);
  EXPECT_EQ(table.FindAddress(kPid, 0x1000, 40).method->tier(), "QuickJitted");
  EXPECT_EQ(table.FindAddress(kPid, 0x2000, 40).method->tier(), "OptimizedTier1");
  EXPECT_EQ(table.FindAddress(kPid, 0x3000, 40).method->rejit_id, 1u);
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 40)), "exact a") << "one method, whatever the version";
  EXPECT_EQ(table.FindId(kPid, 9, 1, 25).method->start_address, 0x2000u);
}

TEST(MethodLives, Rule8HotAndCold) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kLoad, 11, 1, 0x2000, 0x10, "a").flags = kMethodJitted | 1u << 28;
  const auto table = records.Build();
  EXPECT_EQ(table.FindAddress(kPid, 0x2000, 40).method->extent(), "cold");
  EXPECT_EQ(table.FindId(kPid, 9, 1, 40).method->extent(), "hot");
}

TEST(MethodLives, Rule9CodeRunsBeforeItsLoad) {
  Records records;
  records.Add(Kind::kLoad, 100, 1, 0x1000, 0x10, "a");
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 100 - kSlack)), "backfilled a");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 100 - kSlack - 1)), "unknown");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 1)), "backfilled a") << "by id nothing else is possible";
}

TEST(MethodLives, Rule9ButNotWhenOtherCodeIsThere) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "old");
  records.Add(Kind::kLoad, 100, 2, 0x1000, 0x10, "new");
  EXPECT_EQ(Text(records.Build().FindAddress(kPid, 0x1000, 95)), "exact old");
}

TEST(MethodLives, Rule10AModuleUnloadClosesItsMethods) {
  Records records;
  for (const uint64_t id : {1, 2, 3}) records.Add(Kind::kLoad, 10, id, 0x1000 * id, 0x10).module_id = id == 3 ? 6 : 5;
  records.Add(Kind::kModuleUnload, 40, 0, 0, 0).module_id = 5;
  const auto table = records.Build();
  EXPECT_EQ(table.versions()[0].to, 40);
  EXPECT_EQ(table.versions()[1].to, 40);
  EXPECT_EQ(table.versions()[2].to, kAfter);
}

TEST(MethodLives, RundownClosesWhatItOverlaps) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kRundownEnd, 90, 2, 0x1008, 0x10, "b");
  const auto table = records.Build();
  EXPECT_EQ(LifeOf(table.versions()[0]), Life(10, 90));
  EXPECT_EQ(LifeOf(table.versions()[1]), Life(90, kAfter));
}

TEST(MethodLives, RecordsThatOnlyFillGaps) {
  Records records;
  records.Add(Kind::kJittingStarted, 5, 1, 0, 0, "jitted later");
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10);
  records.Add(Kind::kJittingStarted, 6, 2, 0, 0, "never seen again");
  records.Add(Kind::kEntryPoint, 20, 3, 0x3000, 0, "entered");
  records.Add(Kind::kEntryPoint, 21, 1, 0x1000, 0, "jitted later");
  records.Add(Kind::kStub, 30, 4, 0, 0, "Imported");
  const auto table = records.Build();
  EXPECT_EQ(table.versions().size(), 4u);
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 12)), "exact jitted later") << "the load itself has no name";
  EXPECT_EQ(Text(table.FindId(kPid, 9, 2, 12)), "exact never seen again");
  EXPECT_EQ(table.FindId(kPid, 9, 2, 12).method->learnt, MethodSource::kJitting);
  EXPECT_EQ(table.FindId(kPid, 9, 3, 25).method->tier(), "ReadyToRun");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x3000, 25)), "unknown") << "no size, no range";
  EXPECT_EQ(table.FindId(kPid, 9, 4, 30).method->interop(), "N.Type.Imported");
}

TEST(MethodLives, BadRecordsAreFoundByIdOnly) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0, "no size");
  records.Add(Kind::kLoad, 11, 2, ~uint64_t{0} - 4, 0x10, "wraps");
  records.Add(Kind::kLoad, 12, 0, 0x2000, 0x10, "no id");
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 20)), "exact no size");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 2, 20)), "exact wraps");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 20)), "unknown");
  EXPECT_EQ(Text(table.FindAddress(kPid, ~uint64_t{0} - 4, 20)), "unknown");
  EXPECT_EQ(Text(table.FindAddress(kPid, 1, 20)), "unknown");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x2000, 20)), "exact no id");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 0, 20)), "unknown");
}

TEST(MethodLives, TheLastAddressIsCovered) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, ~uint64_t{0} - 0x10, 0x10, "a");
  EXPECT_EQ(Text(records.Build().FindAddress(kPid, ~uint64_t{0} - 1, 20)), "exact a");
}

TEST(MethodLives, ASizeThatComesLater) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0, "a");
  records.Add(Kind::kLoad, 20, 2, 0x1000, 0x10, "b");
  records.Add(Kind::kRundownEnd, 90, 1, 0x1000, 0x10);
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 50)), "exact b");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 95)), "exact a");
}

// The rules once more, as plain as can be: every record looks at every version.
std::vector<MethodVersion> PlainLives(std::vector<MethodRecord> records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.timestamp < b.timestamp; });
  std::vector<MethodVersion> versions;
  const auto overlaps = [](const MethodVersion& v, const MethodRecord& r) {
    return v.start_address < r.start_address + r.size && r.start_address < v.start_address + v.size;
  };
  for (const auto& record : records) {
    const int64_t time = record.timestamp;
    MethodVersion* last = nullptr;  // of the same code
    for (auto& v : versions) {
      const bool same = v.method_id == record.method_id && v.start_address == record.start_address;
      if (same && v.rejit_id == record.rejit_id) last = &v;
    }
    const bool open = last != nullptr && last->to == kAfter;
    if (record.kind == Kind::kModuleUnload) {
      for (auto& v : versions) {
        if (v.module_id == record.module_id && v.to == kAfter) v.to = time;
      }
      continue;
    }
    if (record.kind == Kind::kUnload && last != nullptr) {
      if (open) last->to = time;
      continue;
    }
    if (open && (record.kind != Kind::kLoad || last->size == record.size)) continue;
    int64_t bound = kBefore;
    for (auto& v : versions) {
      if (!overlaps(v, record)) continue;
      if (v.to == kAfter) v.to = time;
      bound = std::max(bound, v.to);
    }
    MethodVersion version;
    version.method_id = record.method_id;
    version.module_id = record.module_id;
    version.start_address = record.start_address;
    version.size = record.size;
    version.rejit_id = record.rejit_id;
    version.from = record.kind == Kind::kLoad ? time : bound;
    version.to = record.kind == Kind::kUnload ? time : kAfter;
    versions.push_back(version);
  }
  return versions;
}

TEST(MethodLives, RandomRecordsLikeThePlainRules) {
  std::mt19937 random(4);
  const auto pick = [&](uint32_t limit) { return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    Records records;
    const uint32_t places = 4 + pick(60);
    for (int i = 0; i < 150; ++i) {
      constexpr Kind kKinds[] = {Kind::kLoad,         Kind::kLoad,       Kind::kLoad,        Kind::kUnload,
                                 Kind::kRundownStart, Kind::kRundownEnd, Kind::kModuleUnload};
      const Kind kind = kKinds[pick(pick(4) == 0 ? 7 : 6)];
      auto& record = records.Add(kind, pick(100), 1 + pick(12), 0x1000 + pick(places), 1 + pick(8));
      record.module_id = 1 + record.method_id % 3;
      record.rejit_id = pick(10) == 0 ? 1 : 0;
      if (kind == Kind::kModuleUnload) record.module_id = 1 + pick(3);
    }
    const auto expected = PlainLives(records.all());
    std::shuffle(records.all().begin(), records.all().end(), random);
    const auto table = records.Build();
    ASSERT_EQ(table.versions().size(), expected.size()) << round;
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto& got = table.versions()[i];
      ASSERT_EQ(std::tie(got.method_id, got.start_address, got.size, got.rejit_id, got.from, got.to),
                std::tie(expected[i].method_id, expected[i].start_address, expected[i].size, expected[i].rejit_id,
                         expected[i].from, expected[i].to))
          << "round " << round << ", version " << i;
    }
  }
}

}  // namespace
}  // namespace etwpipe::facts

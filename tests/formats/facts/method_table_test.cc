// Lookups of methods: processes, runtimes, 32-bit processes, names learnt elsewhere; random tables against a plain
// scan.
#include "formats/facts/method_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tests/formats/facts/method_fixture.h"

namespace etwpipe::facts {
namespace {

TEST(MethodTable, FullNames) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "Run");
  records.Add(Kind::kLoad, 10, 2, 0x2000, 0x10);
  auto& helper = records.Add(Kind::kLoad, 10, 3, 0x3000, 0x10, "JIT_New");
  helper.names.type = 0;
  helper.names.signature = 0;
  const auto table = records.Build();
  EXPECT_EQ(FullName(table.versions()[0]), "N.Type.Run(int32)");
  EXPECT_EQ(FullName(table.versions()[1]), "");
  EXPECT_EQ(FullName(table.versions()[2]), "JIT_New");
}

TEST(MethodTable, OutcomesById) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kUnload, 20, 1, 0x1000, 0x10);
  records.Add(Kind::kLoad, 30, 1, 0x2000, 0x10, "b");
  records.Add(Kind::kUnload, 40, 1, 0x2000, 0x10);
  const auto table = records.Build();
  for (const auto& [time, text] : {std::pair(9, "backfilled a"),
                                   {10, "exact a"},
                                   {20, "exact a"},
                                   {21, "backfilled b"},
                                   {30, "exact b"},
                                   {40, "exact b"},
                                   {41, "stale b"}}) {
    EXPECT_EQ(Text(table.FindId(kPid, 9, 1, time)), text) << time;
  }
  EXPECT_EQ(Text(table.FindId(kPid, 9, 2, 10)), "unknown");
  EXPECT_EQ(Text(table.FindId(kPid + 1, 9, 1, 10)), "unknown");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 21)), "unknown") << "by address nothing is stale";
}

TEST(MethodTable, APidUsedAgainKnowsNothingOfTheProcessBefore) {
  std::vector<ProcessRecord> told(2);
  told[0].pid = told[1].pid = kPid;
  told[0].timestamp = 5;
  told[1].timestamp = 50;
  const auto processes = ProcessTable::Build(told, 0);
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a");
  records.Add(Kind::kLoad, 60, 2, 0x1000, 0x10, "b");
  const auto table = records.Build(&processes);
  EXPECT_EQ(table.versions()[0].to, 49);
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 49)), "exact a");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 50)), "unknown");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 2, 49)), "unknown");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 70)), "exact b");
}

TEST(MethodTable, LoadsAfterTheExitBelongToTheProcess) {
  std::vector<ProcessRecord> told(2);
  told[0].pid = told[1].pid = kPid;
  told[0].timestamp = 5;
  told[1].timestamp = 20;
  told[1].kind = ProcessRecord::Kind::kStop;
  const auto processes = ProcessTable::Build(told, 0);
  Records records;
  records.Add(Kind::kLoad, 30, 1, 0x1000, 0x10, "late");
  const auto table = records.Build(&processes);
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 31)), "exact late");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 10)), "backfilled late");
}

TEST(MethodTable, TwoRuntimesOfOneProcess) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a").clr_instance = 9;
  records.Add(Kind::kLoad, 20, 1, 0x2000, 0x10, "b").clr_instance = 11;
  records.Add(Kind::kLoad, 20, 2, 0x3000, 0x10, "c").clr_instance = 11;
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 30)), "exact a");
  EXPECT_EQ(Text(table.FindId(kPid, 11, 1, 30)), "exact b");
  EXPECT_EQ(Text(table.FindId(kPid, 11, 1, 15)), "backfilled b");
  EXPECT_EQ(Text(table.FindId(kPid, std::nullopt, 1, 30)), "ambiguous b");
  EXPECT_EQ(Text(table.FindId(kPid, std::nullopt, 1, 15)), "exact a");
  EXPECT_EQ(Text(table.FindId(kPid, std::nullopt, 2, 30)), "exact c");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 2, 30)), "unknown");
}

TEST(MethodTable, RecordsWithoutARuntimeFitEach) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10, "a").clr_instance = std::nullopt;
  records.Add(Kind::kLoad, 10, 2, 0x2000, 0x10, "b");
  records.Add(Kind::kUnload, 20, 2, 0x2000, 0x10).clr_instance = std::nullopt;
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 15)), "exact a");
  EXPECT_EQ(Text(table.FindId(kPid, std::nullopt, 1, 15)), "exact a");
  ASSERT_EQ(table.versions().size(), 2u);
  EXPECT_EQ(table.versions()[1].to, 20);
}

TEST(MethodTable, A32BitProcessHas32BitAddresses) {
  Records records;
  records.Add(Kind::kLoad, 10, 0xFFFFFFFF90000001, 0xFFFFFFFF80001000, 0x10, "high").pointer_size = 4;
  records.Add(Kind::kLoad, 10, 2, 0x1000, 0x10, "low").pointer_size = 4;
  records.Add(Kind::kLoad, 10, 3, 0xFFFFFFF8, 0x10, "wraps").pointer_size = 4;
  const auto table = records.Build();
  for (const uint64_t address : {0x80001000u + uint64_t{0}, 0xFFFFFFFF8000100F}) {
    EXPECT_EQ(Text(table.FindAddress(kPid, address, 20)), "exact high") << std::hex << address;
  }
  EXPECT_EQ(Text(table.FindId(kPid, 9, 0x90000001, 20)), "exact high");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 0xFFFFFFFF90000001, 20)), "exact high");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 20)), "exact low");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0xFFFFF80080001000, 20)), "unknown") << "the kernel's";
  EXPECT_EQ(Text(table.FindAddress(kPid, 0xFFFFFFFF00001000, 20)), "unknown") << "no sign extension";
  EXPECT_EQ(Text(table.FindAddress(kPid, 0xFFFFFFF9, 20)), "unknown");
}

TEST(MethodTable, NamesOfOtherRecords) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10);
  records.Add(Kind::kRundownEnd, 90, 1, 0x9000, 0x10, "same id");
  auto& by_token = records.Add(Kind::kLoad, 10, 2, 0x2000, 0x10);
  by_token.module_id = 5;
  by_token.token = 0x06000001;
  auto& named = records.Add(Kind::kLoad, 10, 3, 0x3000, 0x10, "same token");
  named.module_id = 5;
  named.token = 0x06000001;
  for (const uint64_t id : {4, 5, 6}) {
    auto& record = records.Add(Kind::kLoad, 10, id, id << 12, 0x10, id == 4 ? "x" : id == 5 ? "y" : "");
    record.module_id = 5;
    record.token = 0x06000002;
  }
  for (const uint64_t id : {7, 8}) {
    auto& record = records.Add(Kind::kLoad, 10, id, id << 12, 0x10, id == 7 ? "dynamic" : "");
    record.module_id = 5;
    record.token = 0x06000000;
  }
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindId(kPid, 9, 1, 20)), "exact same id");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 2, 20)), "exact same token");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 6, 20)), "exact ") << "instantiations differ: no guess";
  EXPECT_EQ(Text(table.FindId(kPid, 9, 8, 20)), "exact ") << "a token without a row";
}

TEST(MethodTable, AnIdUsedAgainTakesTheNameOfItsOwnLife) {
  Records records;
  records.Add(Kind::kLoad, 10, 1, 0x1000, 0x10);
  records.Add(Kind::kUnload, 20, 1, 0x1000, 0x10, "first");
  records.Add(Kind::kLoad, 30, 1, 0x2000, 0x10);
  records.Add(Kind::kJittingStarted, 29, 1, 0, 0, "second");
  records.Add(Kind::kLoad, 50, 1, 0x3000, 0x10);
  const auto table = records.Build();
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x1000, 15)), "exact first");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x2000, 35)), "exact second");
}

TEST(MethodTable, TimesOfADamagedFile) {
  std::vector<ProcessRecord> told(2);
  told[0].pid = told[1].pid = kPid;
  told[0].timestamp = kBefore;
  told[1].timestamp = kBefore + 1;
  const auto processes = ProcessTable::Build(told, 0);
  Records records;
  records.Add(Kind::kLoad, kBefore, 1, 0x1000, 0x10, "first");
  records.Add(Kind::kLoad, kBefore + 3, 2, 0x2000, 0x10, "early");
  records.Add(Kind::kLoad, kAfter, 3, 0x3000, 0x10, "last");
  records.Add(Kind::kUnload, kAfter, 3, 0x3000, 0x10);
  const auto table = records.Build(&processes);
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x2000, kBefore + 2)), "backfilled early");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x3000, kBefore + 2)), "unknown");
  EXPECT_EQ(Text(table.FindAddress(kPid, 0x3000, kAfter)), "exact last");
  EXPECT_EQ(Text(table.FindId(kPid, 9, 3, kBefore + 2)), "backfilled last");
}

TEST(MethodTable, ModulesAndTiers) {
  ClrRecords clr;
  for (const auto& [id, path, flags] : {std::tuple(uint64_t{5}, "C:\\w\\System.Core.DLL", ClrModule::kReadyToRun),
                                        {uint64_t{6}, "/usr/lib/My.App", 0u}}) {
    auto& record = clr.modules.emplace_back();
    record.entity.pid = kPid;
    record.entity.id = id;
    record.entity.il_path = path;
    record.entity.flags = flags;
  }
  const auto modules = ClrTable::Build(std::move(clr), nullptr);
  Records records;
  for (const uint64_t id : {5, 6, 7}) {
    auto& record = records.Add(Kind::kLoad, 10, id, id << 12, 0x10, "a");
    record.module_id = id;
    record.flags = 0;
  }
  const auto table = records.Build(nullptr, &modules);
  EXPECT_EQ(table.versions()[0].module(), "System.Core");
  EXPECT_EQ(table.versions()[0].tier(), "ReadyToRun");
  EXPECT_EQ(table.versions()[1].module(), "My.App");
  EXPECT_EQ(table.versions()[1].tier(), "PreJIT");
  EXPECT_EQ(table.versions()[2].module(), "");
}

// semantics.md 7.1 over all versions, one by one.
MethodHit PlainAddress(const MethodTable& table, uint64_t address, int64_t time) {
  const MethodVersion* alive = nullptr;
  const MethodVersion* next = nullptr;
  for (const auto& version : table.versions()) {
    if (address < version.start_address || address - version.start_address >= version.size) continue;
    if (version.from <= time && time <= version.to && (alive == nullptr || version.from >= alive->from)) {
      alive = &version;
    }
    if (version.from > time && version.from - kSlack <= time && (next == nullptr || version.from <= next->from)) {
      next = &version;
    }
  }
  if (alive != nullptr) return {alive, LookupOutcome::kExact};
  if (next != nullptr) return {next, LookupOutcome::kBackfilled};
  return {};
}

MethodHit PlainId(const MethodTable& table, std::optional<uint16_t> runtime, uint64_t id, int64_t time) {
  const MethodVersion* alive = nullptr;
  const MethodVersion* next = nullptr;
  const MethodVersion* last = nullptr;
  std::vector<std::string> names;
  for (const auto& version : table.versions()) {
    if (version.method_id != id || (runtime && version.clr_instance && version.clr_instance != runtime)) continue;
    if (version.from > time) {
      if (next == nullptr || version.from <= next->from) next = &version;
    } else if (version.to < time) {
      if (last == nullptr || std::tie(version.to, version.from) >= std::tie(last->to, last->from)) last = &version;
    } else {
      if (alive == nullptr || version.from >= alive->from) alive = &version;
      if (std::find(names.begin(), names.end(), FullName(version)) == names.end()) names.push_back(FullName(version));
    }
  }
  if (alive != nullptr) return {alive, names.size() > 1 ? LookupOutcome::kAmbiguous : LookupOutcome::kExact};
  if (next != nullptr) return {next, LookupOutcome::kBackfilled};
  if (last != nullptr) return {last, LookupOutcome::kStale};
  return {};
}

TEST(MethodTable, RandomTablesLikeAPlainScan) {
  std::mt19937 random(11);
  const auto pick = [&](uint32_t limit) { return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random); };
  std::array<uint32_t, 5> seen{};
  for (int round = 0; round < 150; ++round) {
    Records records;
    const uint32_t places = 8 + pick(400);
    const uint32_t longest = 1 + pick(places);
    for (int i = 0; i < 120; ++i) {
      constexpr Kind kKinds[] = {Kind::kLoad, Kind::kLoad, Kind::kUnload, Kind::kRundownStart, Kind::kRundownEnd};
      auto& record = records.Add(kKinds[pick(5)], pick(200), 1 + pick(20), 0x1000 + pick(places), 1 + pick(longest));
      record.names = records.Names(std::string(1, static_cast<char>('a' + record.method_id % 5 + pick(2))));
      if (pick(3) == 0) record.clr_instance = 11;
      if (pick(5) == 0) record.clr_instance = std::nullopt;
    }
    const auto table = records.Build();
    for (int i = 0; i < 400; ++i) {
      const auto time = static_cast<int64_t>(pick(210)) - 5;
      const uint64_t address = 0x0FF0 + pick(places + longest + 32);
      const auto got = table.FindAddress(kPid, address, time);
      const auto plain = PlainAddress(table, address, time);
      ASSERT_EQ(got.method, plain.method) << "round " << round << ", address " << address << ", time " << time;
      ASSERT_EQ(got.outcome, plain.outcome);
      const uint64_t id = 1 + pick(22);
      std::optional<uint16_t> runtime;
      if (pick(2) == 0) runtime = pick(2) == 0 ? 9 : 11;
      const auto got_id = table.FindId(kPid, runtime, id, time);
      const auto plain_id = PlainId(table, runtime, id, time);
      ASSERT_EQ(Text(got_id), Text(plain_id)) << "round " << round << ", id " << id << ", time " << time;
      ASSERT_EQ(got_id.method, plain_id.method);
      ++seen[static_cast<size_t>(got_id.outcome)];
    }
  }
  for (const uint32_t count : seen) EXPECT_GT(count, 100u) << "every outcome was tried";
}

// Each of these would take minutes if a record or a lookup looked at all the others.
class ManyOverlaps : public testing::TestWithParam<int> {};

TEST_P(ManyOverlaps, NoQuadraticTime) {
  constexpr uint32_t kMany = 100'000;
  Records records;
  for (uint32_t i = 0; i < kMany; ++i) {
    switch (GetParam()) {
      case 0: records.Add(Kind::kLoad, i, i + 1, 0x1000, 0x1000 + i); break;                   // one place
      case 1: records.Add(Kind::kRundownEnd, i, i + 1, 0x1000 + i, 4 * kMany - 2 * i); break;  // nested
      case 2: records.Add(Kind::kLoad, i, 1, 0x1000 + 16 * i, 16); break;                      // one id
      case 3: records.Add(Kind::kUnload, i, i + 1, 0x1000 + i, kMany); break;                  // staggered
      case 4:                                                                                  // many under large ones
        if (i % 2 == 0) records.Add(Kind::kUnload, i / 2, i + 1, 0x1000 + 16 * i, 16);
        if (i % 2 == 1) records.Add(Kind::kRundownEnd, kMany + i, i + 1, 0x1000, 16 * kMany + i);
        break;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto table = records.Build();
  uint64_t found = 0;
  for (uint32_t i = 0; i < kMany; ++i) {
    found += table.FindAddress(kPid, 0x1000 + i, i).method != nullptr;
    found += table.FindId(kPid, 9, 1 + i % 7, i).method != nullptr;
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GT(found, kMany / 8);
  EXPECT_LT(seconds, 20) << "about a second even under a sanitizer";
}
INSTANTIATE_TEST_SUITE_P(Shapes, ManyOverlaps, testing::Range(0, 5));

TEST(MethodTable, MemoryOfAMethod) {
  constexpr uint32_t kMethods = 100'000;
  Records records;
  for (uint32_t i = 0; i < kMethods; ++i) {
    auto& record = records.Add(Kind::kLoad, i, 0x7FF000000000 + i * 32, 0x7FFA00000000 + i * 256, 200);
    record.names = records.Names("MethodNumber" + std::to_string(i % (kMethods / 2)));
  }
  EXPECT_LE(records.Build().memory(), uint64_t{400} * kMethods);
}

}  // namespace
}  // namespace etwpipe::facts

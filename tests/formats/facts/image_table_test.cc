// Lives of images: rundowns at both ends, lost loads and unloads, reuse of addresses and pids, the kernel's half,
// symbols, records in any order and hostile ones.
#include "formats/facts/image_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

namespace etwpipe::facts {
namespace {

using Kind = ImageRecord::Kind;
constexpr int64_t kBefore = ProcessInstance::kBeforeTrace;
constexpr int64_t kAfter = ProcessInstance::kAfterTrace;
constexpr uint64_t kLastAddress = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kPid = 8;

ImageRecord Record(Kind kind, int64_t time, uint64_t base, uint64_t size, std::string_view name, uint32_t pid = kPid) {
  ImageRecord record;
  record.kind = kind;
  record.timestamp = time;
  record.id = static_cast<EventInstanceId>(time);
  record.pid = pid;
  record.base = base;
  record.size = size;
  record.file_name = name;
  return record;
}

ImageTable Build(std::vector<ImageRecord> records, const ProcessTable* processes = nullptr) {
  ImageTable::BuildArgs args;
  args.records = std::move(records);
  args.processes = processes;
  args.tolerance = 5;
  return ImageTable::Build(std::move(args));
}

std::string NameAt(const ImageTable& table, uint64_t address, int64_t time, uint32_t pid = kPid) {
  const ImageInstance* image = table.FindAddress(pid, address, time);
  return image == nullptr ? "" : std::string(image->name);
}

TEST(ImageTable, ALoadLivesFromItsTimeToItsUnload) {
  const auto table =
      Build({Record(Kind::kLoad, 10, 0x1000, 0x100, R"(\x\a.dll)"), Record(Kind::kUnload, 20, 0x1000, 0x100, "")});
  ASSERT_EQ(table.all().size(), 1u);
  EXPECT_EQ(NameAt(table, 0x1000, 9), "");
  EXPECT_EQ(NameAt(table, 0x1000, 10), "a.dll");
  EXPECT_EQ(NameAt(table, 0x10FF, 19), "a.dll");
  EXPECT_EQ(NameAt(table, 0x10FF, 20), "");
  EXPECT_EQ(NameAt(table, 0x0FFF, 15), "");
  EXPECT_EQ(NameAt(table, 0x1100, 15), "");
  EXPECT_EQ(NameAt(table, 0x1000, 15, kPid + 4), "");
}

TEST(ImageTable, ARundownAloneMeansTheWholeTrace) {
  const auto table = Build({Record(Kind::kRundown, 50, 0x1000, 0x100, "a.dll")});
  ASSERT_EQ(table.all().size(), 1u);
  EXPECT_EQ(table.all()[0].load, kBefore);
  EXPECT_EQ(table.all()[0].unload, kAfter);
}

TEST(ImageTable, RundownsAndLoadsOfOneImageAreOne) {
  const auto table =
      Build({Record(Kind::kRundown, 5, 0x1000, 0x100, R"(\SystemRoot\System32\a.dll)"),
             Record(Kind::kLoad, 10, 0x2000, 0x100, R"(\Windows\b.dll)"),
             Record(Kind::kLoad, 11, 0x2000, 0x100, R"(\Device\HarddiskVolume1\Windows\B.dll)"),
             Record(Kind::kRundown, 90, 0x1000, 0x100, R"(\Device\HarddiskVolume1\Windows\System32\a.dll)"),
             Record(Kind::kRundown, 90, 0x2000, 0x100, R"(\Windows\b.dll)")});
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.all()[1].load, 10);
}

TEST(ImageTable, AnUnloadAloneOpensBackwardsToWhatLayThereBefore) {
  const auto table =
      Build({Record(Kind::kLoad, 10, 0x1000, 0x100, "a.dll"), Record(Kind::kUnload, 20, 0x1000, 0x100, "a.dll"),
             Record(Kind::kUnload, 60, 0x1080, 0x100, "b.dll"), Record(Kind::kUnload, 61, 0x8000, 0x100, "c.dll")});
  ASSERT_EQ(table.all().size(), 3u);
  EXPECT_EQ(NameAt(table, 0x1090, 19), "a.dll");
  EXPECT_EQ(NameAt(table, 0x1090, 20), "b.dll");
  EXPECT_EQ(NameAt(table, 0x1090, 59), "b.dll");
  EXPECT_EQ(NameAt(table, 0x1090, 60), "");
  EXPECT_EQ(NameAt(table, 0x8000, 0), "c.dll");
}

TEST(ImageTable, TwoProvidersWriteOneUnload) {
  const auto table =
      Build({Record(Kind::kLoad, 10, 0x1000, 0x100, "a.dll"), Record(Kind::kUnload, 20, 0x1000, 0x100, "a.dll"),
             Record(Kind::kUnload, 25, 0x1000, 0x100, "a.dll"), Record(Kind::kUnload, 26, 0x1000, 0x100, "a.dll")});
  ASSERT_EQ(table.all().size(), 2u);
  EXPECT_EQ(table.all()[1].load, 20) << "farther apart than the tolerance: another image, whose load is lost";
}

TEST(ImageTable, ALoadEndsWhatItOverlaps) {
  const auto table =
      Build({Record(Kind::kLoad, 10, 0x1000, 0x1000, "a.dll"), Record(Kind::kRundown, 15, 0x2000, 0x1000, "b.dll"),
             Record(Kind::kLoad, 20, 0x1FFF, 2, "c.dll"), Record(Kind::kLoad, 30, 0x1000, 0x800, "d.dll")});
  EXPECT_EQ(NameAt(table, 0x1000, 19), "a.dll");
  EXPECT_EQ(NameAt(table, 0x1000, 20), "");
  EXPECT_EQ(NameAt(table, 0x2000, 19), "b.dll");
  EXPECT_EQ(NameAt(table, 0x2FFF, 20), "");
  EXPECT_EQ(NameAt(table, 0x2000, 20), "c.dll");
  EXPECT_EQ(NameAt(table, 0x17FF, 30), "d.dll");
  EXPECT_EQ(NameAt(table, 0x1FFF, 30), "c.dll");
}

TEST(ImageTable, APidUsedAgainHasImagesOfItsOwn) {
  const auto process = [](ProcessRecord::Kind kind, int64_t time) {
    ProcessRecord record;
    record.kind = kind;
    record.timestamp = time;
    record.id = static_cast<EventInstanceId>(time);
    record.pid = kPid;
    return record;
  };
  const auto processes =
      ProcessTable::Build({process(ProcessRecord::Kind::kRundownStart, 1), process(ProcessRecord::Kind::kStart, 50),
                           process(ProcessRecord::Kind::kStop, 80)},
                          5);
  const auto table =
      Build({Record(Kind::kRundown, 1, 0x1000, 0x100, "a.dll"), Record(Kind::kLoad, 51, 0x3000, 0x100, "b.dll"),
             Record(Kind::kUnload, 70, 0x2000, 0x100, "c.dll")},
            &processes);
  EXPECT_EQ(NameAt(table, 0x1000, 49), "a.dll");
  EXPECT_EQ(NameAt(table, 0x1000, 50), "") << "its unload is lost";
  EXPECT_EQ(NameAt(table, 0x3000, 51), "b.dll");
  EXPECT_EQ(NameAt(table, 0x2000, 49), "");
  EXPECT_EQ(NameAt(table, 0x2000, 50), "c.dll");
}

TEST(ImageTable, ImagesOfTheKernelAreFoundForEveryPid) {
  const uint64_t kernel = 0xFFFFF80000000000u;
  const auto table = Build({Record(Kind::kRundown, 1, kernel, 0x100, "ntoskrnl.exe", 0),
                            Record(Kind::kLoad, 10, kernel + 0x1000, 0x100, "driver.sys", 4),
                            Record(Kind::kRundown, 1, 0x1000, 0x100, "ntdll.dll", 4),
                            Record(Kind::kRundown, 1, kernel + 0x5000, 0x100, "strange.dll", kPid)});
  for (const uint32_t pid : {0u, 4u, kPid, 9999u}) {
    EXPECT_EQ(NameAt(table, kernel, 5, pid), "ntoskrnl.exe");
    EXPECT_EQ(NameAt(table, kernel + 0x1000, 10, pid), "driver.sys");
    EXPECT_EQ(NameAt(table, 0x1000, 5, pid), pid == 4 ? "ntdll.dll" : "");
    EXPECT_EQ(NameAt(table, kernel + 0x5000, 5, pid), pid == kPid ? "strange.dll" : "");
  }
  EXPECT_TRUE(table.FindAddress(kPid, kernel, 5)->kernel);
  EXPECT_FALSE(table.FindAddress(4, 0x1000, 5)->kernel);
}

TEST(ImageTable, AddressesOf32BitProcessesMayBeSignExtended) {
  const auto table = Build({Record(Kind::kRundown, 1, 0x80001000, 0x100, "large.dll"),
                            Record(Kind::kRundown, 1, 0x70001000, 0x100, "small.dll")});
  EXPECT_EQ(NameAt(table, 0x80001010, 5), "large.dll");
  EXPECT_EQ(NameAt(table, 0xFFFFFFFF80001010u, 5), "large.dll");
  EXPECT_EQ(NameAt(table, 0xFFFFFFFF70001010u, 5), "") << "no sign";
}

TEST(ImageTable, The32BitKernelBeginsAt2GB) {
  ImageTable::BuildArgs args;
  args.records = {Record(Kind::kRundown, 1, 0x80001000, 0x100, "ntoskrnl.exe", 0)};
  args.pointer_size = 4;
  const auto table = ImageTable::Build(std::move(args));
  EXPECT_EQ(NameAt(table, 0x80001010, 5, 77), "ntoskrnl.exe");
}

TEST(ImageTable, NamesAreMappedAndKept) {
  ImageTable::BuildArgs args;
  {
    const std::string name = R"(\Device\HarddiskVolume2\Windows\mscorlib.ni.dll)";
    args.records = {Record(Kind::kRundown, 1, 0x1000, 0x100, args.names.Intern(name))};
  }
  args.volumes.Add(R"(\Device\HarddiskVolume2\)", R"(C:\)");
  const auto table = ImageTable::Build(std::move(args));
  const ImageInstance* image = table.FindAddress(kPid, 0x1000, 1);
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->file_name, R"(\Device\HarddiskVolume2\Windows\mscorlib.ni.dll)");
  EXPECT_EQ(image->dos_path, R"(C:\Windows\mscorlib.ni.dll)");
  EXPECT_EQ(image->name, "mscorlib.ni.dll");
  EXPECT_TRUE(image->native);
}

TEST(ImageTable, SymbolsGoByPidBaseAndTime) {
  const auto pdb = [](int64_t time, uint32_t pid, uint64_t base, uint32_t age) {
    PdbRecord record;
    record.timestamp = time;
    record.pid = pid;
    record.base = base;
    record.pdb.age = age;
    record.pdb.name = "x.pdb";
    return record;
  };
  ImageTable::BuildArgs args;
  args.records = {Record(Kind::kLoad, 10, 0x1000, 0x100, "a.dll"), Record(Kind::kLoad, 20, 0x2000, 0x100, "b.dll"),
                  Record(Kind::kRundown, 90, 0x2000, 0x100, "b.dll"), Record(Kind::kLoad, 30, 0x3000, 0x100, "c.dll"),
                  Record(Kind::kLoad, 40, 0x4000, 0x100, "d.dll")};
  args.pdbs = {pdb(10, kPid, 0x1000, 1), pdb(10, kPid + 4, 0x1000, 2), pdb(90, kPid, 0x2000, 3),
               pdb(31, kPid, 0x3000, 4), pdb(40, 0, 0x4000, 5)};
  const auto table = ImageTable::Build(std::move(args));
  EXPECT_EQ(table.FindAddress(kPid, 0x1000, 50)->pdb.age, 1u);
  EXPECT_EQ(table.FindAddress(kPid, 0x2000, 50)->pdb.age, 3u) << "told with the rundown only";
  EXPECT_FALSE(table.FindAddress(kPid, 0x3000, 50)->pdb.known()) << "another time";
  EXPECT_EQ(table.FindAddress(kPid, 0x4000, 50)->pdb.age, 5u) << "written without its pid";
}

TEST(ImageTable, PathsOfProcessesAreThoseOfTheirImages) {
  ProcessRecord record;
  record.kind = ProcessRecord::Kind::kRundownStart;
  record.pid = kPid;
  record.image = "App.exe";
  const auto processes = ProcessTable::Build({record}, 5);
  ImageTable::BuildArgs args;
  args.processes = &processes;
  args.volumes.Add(R"(\Device\V1\)", R"(C:\)");
  args.records = {Record(Kind::kRundown, 1, 0x1000, 0x100, R"(\Device\V1\other.dll)"),
                  Record(Kind::kRundown, 1, 0x2000, 0x100, R"(\Device\V1\bin\app.exe)"),
                  Record(Kind::kRundown, 1, 0x3000, 0x100, R"(\Device\V1\data\app.exe)")};
  const auto images = ImageTable::Build(std::move(args));
  EXPECT_EQ(WithImagePaths(processes, images).all()[0].image_path, R"(C:\bin\app.exe)");
}

TEST(ImageTable, OddSizes) {
  const auto table =
      Build({Record(Kind::kLoad, 1, 0x1000, 0, "empty.dll"), Record(Kind::kLoad, 2, 0x2000, kLastAddress, "wraps.dll"),
             Record(Kind::kLoad, 3, 0, 0x10, "first.dll")});
  EXPECT_EQ(NameAt(table, 0x1000, 5), "");
  EXPECT_EQ(NameAt(table, kLastAddress, 5), "wraps.dll");
  EXPECT_EQ(NameAt(table, 0, 5), "first.dll");
  const auto all = Build({Record(Kind::kLoad, 1, 0, kLastAddress, "all.dll"), Record(Kind::kUnload, 9, 0, 1, "")});
  EXPECT_EQ(NameAt(all, kLastAddress - 1, 5), "all.dll");
  EXPECT_EQ(NameAt(all, kLastAddress - 1, 9), "");
}

// Loads and unloads as a machine would write them, against a list that is searched from end to end.
TEST(ImageTable, LooksUpWhatALinearScanFinds) {
  std::mt19937 random(11);
  const auto below = [&](uint64_t bound) { return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random); };
  struct Life {
    uint64_t first;
    uint64_t last;
    int64_t from;
    int64_t to;
    size_t name;
  };
  std::vector<std::string> names;
  for (int i = 0; i < 4000; ++i) names.push_back(std::to_string(i) + ".dll");
  std::vector<Life> lives;
  std::vector<ImageRecord> records;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto time = static_cast<int64_t>(10 * i + 10);
    const uint64_t base = below(200) * 16;
    const uint64_t size = 1 + below(200);
    for (Life& life : lives) {
      if (life.to == kAfter && life.first < base + size && base <= life.last) life.to = time;
    }
    lives.push_back({base, base + size - 1, time, kAfter, i});
    records.push_back(Record(Kind::kLoad, time, base, size, names[i]));
    Life& ends = lives[below(lives.size())];
    if (ends.to != kAfter) continue;
    ends.to = time + 5;
    records.push_back(Record(Kind::kUnload, time + 5, ends.first, ends.last - ends.first + 1, names[ends.name]));
  }
  std::shuffle(records.begin(), records.end(), random);
  const auto table = Build(records);
  EXPECT_EQ(table.all().size(), lives.size());
  for (int i = 0; i < 20000; ++i) {
    const uint64_t address = below(3600);
    const auto time = static_cast<int64_t>(below(41000));
    std::string expected;
    for (const Life& life : lives) {
      if (life.first <= address && address <= life.last && life.from <= time && time < life.to) {
        ASSERT_EQ(expected, "");
        expected = names[life.name];
      }
    }
    ASSERT_EQ(NameAt(table, address, time), expected) << address << ' ' << time;
  }
}

// Quadratic time would take minutes here.
TEST(ImageTable, ManyOverlappingImagesTakeNoLongTime) {
  constexpr uint64_t kCount = 100000;
  const auto start = std::chrono::steady_clock::now();
  std::vector<ImageRecord> nested;
  std::vector<ImageRecord> tiny_then_wide;
  for (uint64_t i = 0; i < kCount; ++i) {
    nested.push_back(Record(Kind::kRundown, static_cast<int64_t>(i), kCount - i, 2 * i + 1, "a.dll"));
    tiny_then_wide.push_back(Record(Kind::kLoad, 1, i * 4, 1, "a.dll"));
    tiny_then_wide.push_back(Record(Kind::kUnload, 2, i * 4, 1, "a.dll"));
    tiny_then_wide.push_back(Record(Kind::kUnload, 2, i * 4 + 1, 4 * kCount, "b.dll"));
  }
  EXPECT_NE(Build(nested).FindAddress(kPid, kCount, kCount - 1), nullptr);
  Build(tiny_then_wide);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace etwpipe::facts

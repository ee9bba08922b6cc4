// Processes, threads and images of real recordings: what the tables say equals what their records say one by one, and
// what PerfView and other readers show (expected/*.json).
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "formats/facts/image_table.h"
#include "formats/facts/record_owner.h"
#include "formats/facts/surveyors.h"
#include "formats/facts/thread_table.h"
#include "formats/open.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::facts {
namespace {

using test::CollectedEvent;

constexpr std::string_view kImageClass = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
constexpr std::string_view kImageIdClass = "b3e675d7-2554-4f18-830b-2762732560de";
constexpr std::string_view kThreadClass = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr std::string_view kPerfInfoClass = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";

// All events of a recording, and what a survey found in it.
struct Sample {
  explicit Sample(const std::string& name) {
    Diagnostics diagnostics;
    OpenOptions options;
    options.diagnostics = &diagnostics;
    auto opened = OpenSource(test::SamplePath(name + ".etl").string(), options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    source = std::move(*opened);
    auto surveyors = MakeSurveyors({});
    EXPECT_TRUE(surveyors.ok()) << surveyors.status().message();
    Plan plan;
    plan.facts = kProcesses | kThreads | kImages | kCpuState;
    ExecuteArgs args{*source, plan, sink};
    args.threads = 2;
    args.diagnostics = &diagnostics;
    args.surveyors = surveyors->factory;
    const auto summary = Execute(args);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
  }

  const TraceContext& trace() const { return source->context(); }
  template <typename Table>
  const Table& Get() const {
    return *trace().facts->Get<Table>();
  }

  std::unique_ptr<Source> source;
  test::CollectSink sink;
};

EventHeader RowOf(const CollectedEvent& event) {
  EventHeader row = event.header;
  row.record = event.bytes.data();
  return row;
}

template <typename T>
T At(const EventHeader& row, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= row.payload().size()) std::memcpy(&value, row.payload().data() + offset, sizeof(T));
  return value;
}

// ASCII of a UTF-16 text; other characters as '?'.
std::string Utf16At(const EventHeader& row, size_t offset) {
  std::string text;
  for (; offset + 2 <= row.payload().size(); offset += 2) {
    const auto unit = At<uint16_t>(row, offset);
    if (unit == 0) break;
    text.push_back(unit < 128 ? static_cast<char>(unit) : '?');
  }
  return text;
}

std::string Hex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return hex;
}

class FactsSamples : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto missing = test::MissingData(test::SamplePath(std::string(GetParam()) + ".etl"));
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

// etl-format.md 8.3, version 2 and later on 64-bit machines: base at 0, size at 8, pid at 16, name at 56.
TEST_P(FactsSamples, EveryImageRecordIsFoundAgain) {
  const Sample sample(GetParam());
  const auto& images = sample.Get<ImageTable>();
  size_t records = 0;
  for (const CollectedEvent& event : sample.sink.events) {
    const EventHeader row = RowOf(event);
    const bool image = row.opcode == 10 || (row.opcode >= 2 && row.opcode <= 4);
    if (event.provider != GuidOf(kImageClass) || !image) continue;
    ASSERT_GE(row.version, 2);
    ASSERT_EQ(row.pointer_size(), 8u);
    ++records;
    const bool unload = row.opcode == 2;
    const auto base = At<uint64_t>(row, 0);
    const auto size = At<uint64_t>(row, 8);
    const auto pid = At<uint32_t>(row, 16);
    for (const uint64_t address : {base, base + size / 2, base + size - 1}) {
      const ImageInstance* found = images.FindAddress(pid, address, unload ? row.timestamp - 1 : row.timestamp);
      ASSERT_NE(found, nullptr) << row.timestamp << ' ' << pid << ' ' << Utf16At(row, 56);
      EXPECT_EQ(found->base, base);
      EXPECT_EQ(found->size, size);
      const auto stamp = At<uint32_t>(row, 24);  // 0 in some rundowns
      EXPECT_TRUE(stamp == 0 || found->time_date_stamp == stamp);
      EXPECT_TRUE(EqualNames(found->name, LastPart(Utf16At(row, 56))) ||
                  Utf16At(row, 56).find('?') != std::string::npos)
          << found->name << ' ' << Utf16At(row, 56);
    }
    if (unload) {
      const ImageInstance* found = images.FindAddress(pid, base, row.timestamp);
      EXPECT_TRUE(found == nullptr || found->load == row.timestamp);
    }
  }
  RecordProperty("images", static_cast<int>(records));
}

// etl-format.md 4.4: base at 0, pid at 8, GUID at 12, age at 28, name at 32.
TEST_P(FactsSamples, EveryImageHasTheSymbolsToldBesideIt) {
  const Sample sample(GetParam());
  const auto& images = sample.Get<ImageTable>();
  if (images.all().empty()) GTEST_SKIP() << "SKIPPED: no images in " << GetParam();
  for (const CollectedEvent& event : sample.sink.events) {
    const EventHeader row = RowOf(event);
    if (event.provider != GuidOf(kImageIdClass) || (row.opcode != 36 && row.opcode != 37)) continue;
    const auto base = At<uint64_t>(row, 0);
    const auto pid = At<uint32_t>(row, 8);
    const ImageInstance* found = images.FindAddress(pid, base, row.timestamp);
    if (found == nullptr) found = images.FindAddress(pid, base, row.timestamp - 1);
    ASSERT_NE(found, nullptr) << row.timestamp << ' ' << pid;
    EXPECT_EQ(found->base, base);
    EXPECT_EQ(std::memcmp(found->pdb.guid.bytes.data(), row.payload().data() + 12, 16), 0);
    EXPECT_EQ(found->pdb.age, At<uint32_t>(row, 28));
    EXPECT_EQ(found->pdb.il, row.opcode == 37);
    EXPECT_EQ(found->pdb.name, reinterpret_cast<const char*>(row.payload().data() + 32));
  }
}

// etl-format.md 8.2: pid at 0, tid at 4; version 3 on 64-bit machines has the name at 72.
TEST_P(FactsSamples, EveryThreadRecordIsFoundAgain) {
  const Sample sample(GetParam());
  const auto& threads = sample.Get<ThreadTable>();
  for (const CollectedEvent& event : sample.sink.events) {
    const EventHeader row = RowOf(event);
    if (event.provider != GuidOf(kThreadClass)) continue;
    const bool named = row.opcode == 72;
    if (!named && (row.opcode < 1 || row.opcode > 4)) continue;
    const auto tid = At<uint32_t>(row, 4);
    const ThreadInstance* found = threads.Find(tid, row.opcode == 2 ? row.timestamp - 1 : row.timestamp);
    ASSERT_NE(found, nullptr) << tid;
    EXPECT_EQ(found->pid, At<uint32_t>(row, 0)) << tid << ' ' << row.timestamp;
    EXPECT_TRUE(row.opcode != 1 || found->start == row.timestamp);
    EXPECT_TRUE(row.opcode != 2 || found->end == row.timestamp);
    EXPECT_TRUE(Utf16At(row, named ? 8 : 72).empty() || !found->name.empty());
  }
}

TEST_P(FactsSamples, NamesAndCommandLinesAreThoseOtherReadersShow) {
  const auto strings = test::ReadJson(test::TestDataDir() / "expected/strings.json");
  if (!strings.HasMember(GetParam())) GTEST_SKIP() << "SKIPPED: no expected strings for " << GetParam();
  const Sample sample(GetParam());
  const auto& processes = sample.Get<ProcessTable>();
  const auto& threads = sample.Get<ThreadTable>();
  const auto& images = sample.Get<ImageTable>();
  for (const auto& entry : strings[GetParam()].GetArray()) {
    std::map<std::string, std::string> fields;
    if (std::string_view(entry["basis"].GetString()) != "kernel") continue;
    for (const auto& field : entry["fields"].GetArray()) {
      if (field["value"].IsString()) fields[field["name"].GetString()] = field["value"].GetString();
    }
    const int64_t time = entry["ts"].GetInt64();
    const int64_t alive = entry["opcode"].GetInt() == 2 ? time - 1 : time;
    const std::string provider = entry["provider"].GetString();
    const auto id = [&](const char* name) { return static_cast<uint32_t>(std::stoul(fields[name], nullptr, 0)); };
    if (provider == "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c" && fields.count("CommandLine") != 0) {
      const ProcessInstance* process = processes.Find(id("ProcessId"), alive);
      ASSERT_NE(process, nullptr);
      EXPECT_EQ(process->image, fields["ImageFileName"]);
      // The kernel may write another command line at the end than at the start; the first one stays.
      const bool first = entry["opcode"].GetInt() != 2 || process->start == ProcessInstance::kBeforeTrace;
      EXPECT_TRUE(!first || process->command_line == fields["CommandLine"]) << process->command_line;
      EXPECT_EQ(process->parent, id("ParentId"));
    } else if (provider == kThreadClass && fields.count("ThreadName") != 0) {
      const ThreadInstance* thread = threads.Find(id(fields.count("TThreadId") != 0 ? "TThreadId" : "ThreadId"), alive);
      ASSERT_NE(thread, nullptr);
      EXPECT_EQ(thread->name, fields["ThreadName"]);
      EXPECT_EQ(thread->pid, id("ProcessId"));
    } else if (provider == kImageClass && fields.count("FileName") != 0) {
      const uint64_t base = std::stoull(fields["ImageBase"], nullptr, 0);
      const ImageInstance* image = images.FindAddress(id("ProcessId"), base, alive);
      ASSERT_NE(image, nullptr);
      EXPECT_TRUE(EqualNames(image->name, LastPart(fields["FileName"]))) << image->name;
    }
  }
}

TEST_P(FactsSamples, RecordsBelongToThoseThatPerfViewShows) {
  const auto expected = test::ReadJson(test::TestDataDir() / "expected/perfview-fields.json");
  const Sample sample(GetParam());
  std::multimap<int64_t, const CollectedEvent*> events;
  for (const CollectedEvent& event : sample.sink.events) events.emplace(event.header.timestamp, &event);
  OwnerScratch scratch(sample.trace(), true);
  for (const auto& entry : expected["entries"].GetArray()) {
    if (std::string_view(entry["sample"].GetString()) != GetParam()) continue;
    const auto [begin, end] = events.equal_range(entry["ts"].GetInt64());
    size_t found = 0;
    for (auto at = begin; at != end; ++at) {
      const EventHeader row = RowOf(*at->second);
      if (row.opcode != entry["opcode"].GetInt() || row.id != entry["id"].GetInt()) continue;
      if (row.cpu != entry["cpu"].GetInt() || Hex(row.payload()) != entry["payload_hex"].GetString()) continue;
      if (ToString(at->second->provider) != entry["provider"].GetString()) continue;
      ++found;
      const RecordOwner owner = OwnerOf(row, sample.trace(), scratch).value_or(RecordOwner{});
      EXPECT_EQ(static_cast<int32_t>(owner.pid), entry["perfview_pid"].GetInt()) << entry["perfview_name"].GetString();
      EXPECT_EQ(static_cast<int32_t>(owner.tid), entry["perfview_tid"].GetInt()) << entry["perfview_name"].GetString();
    }
    EXPECT_GE(found, 1u) << entry["perfview_name"].GetString() << ' ' << entry["ts"].GetInt64();
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, FactsSamples,
                         testing::Values("net.4.5.2.x64", "diaghub.kernel.1", "ShutdownPerfDiagLogger", "DynamicEvents",
                                         "gcevents", "primitive-types"));

// 56 % of the recording are PERFINFO records. What stays without an owner are definitions of stacks, names of files,
// marks of the session and the two KernelBase records (counts.json); none of them belongs to a process.
TEST(RecordOwnerSamples, HowManyRecordsOfNetGetAnOwner) {
  const auto missing = test::MissingData(test::SamplePath("net.4.5.2.x64.etl"));
  if (!missing.empty()) GTEST_SKIP() << missing;
  const Sample sample("net.4.5.2.x64");
  OwnerScratch scratch(sample.trace(), true);
  size_t without_ids = 0;
  std::map<std::pair<std::string, int>, size_t> nobody;
  size_t samples = 0;
  for (const CollectedEvent& event : sample.sink.events) {
    const EventHeader row = RowOf(event);
    if (row.has(kHasPid)) continue;
    ++without_ids;
    const auto owner = OwnerOf(row, sample.trace(), scratch);
    if (!owner || owner->pid == kNoId) ++nobody[{ToString(event.provider), row.opcode}];
    if (owner && event.provider == GuidOf(kPerfInfoClass) && row.opcode == 46) ++samples;
  }
  EXPECT_EQ(samples, 79528u);
  const std::string stacks = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";
  const std::string files = "90cbdc39-4a3e-11d1-84f4-0000f80464e3";
  const std::string trace = "68fdd900-4a3e-11d1-84f4-0000f80464e3";
  const std::map<std::pair<std::string, int>, size_t> expected = {
      {{stacks, 35}, 1909},
      {{stacks, 36}, 1012},
      {{files, 32}, 16},
      {{files, 35}, 14},
      {{files, 36}, 3054},
      {{trace, 5}, 2},
      {{trace, 8}, 2},
      {{trace, 32}, 2},
      {{"01853a65-418f-4f36-aefc-dc0f1d2fd235", 17}, 1},
      {{std::string(kImageClass), 33}, 1},
      {{std::string(kImageClass), 34}, 1},
  };
  EXPECT_EQ(nobody, expected);
  size_t left = 0;
  for (const auto& [kind, count] : nobody) left += count;
  EXPECT_EQ(without_ids, 100157u);
  EXPECT_EQ(left, 6014u);
}

TEST(ImageSamples, PathsAreDosPaths) {
  const auto missing = test::MissingData(test::SamplePath("net.4.5.2.x64.etl"));
  if (!missing.empty()) GTEST_SKIP() << missing;
  const Sample sample("net.4.5.2.x64");
  size_t mapped = 0;
  for (const ImageInstance& image : sample.Get<ImageTable>().all()) {
    const bool dos = image.dos_path.substr(1, 2) == R"(:\)" || image.dos_path.substr(0, 2) == R"(\\)";
    EXPECT_TRUE(dos) << image.file_name << " -> " << image.dos_path;
    ++mapped;
  }
  EXPECT_GT(mapped, 1000u);
  const ProcessInstance* test = sample.Get<ProcessTable>().Find(3676, ProcessInstance::kAfterTrace);
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(test->image_path, R"(\\clrmain\public\PerfInvestigations\20-07-28.TestTraces\Test.x64.exe)");
}

}  // namespace
}  // namespace etwpipe::facts

// Surveyors over records of every version, built from the documented layouts; samples hold the newest ones only.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "formats/facts/cpu_state.h"
#include "formats/facts/cpu_survey.h"
#include "formats/facts/image_survey.h"
#include "formats/facts/image_table.h"
#include "formats/facts/process_survey.h"
#include "formats/facts/surveyors.h"
#include "formats/facts/thread_survey.h"
#include "formats/facts/thread_table.h"
#include "formats/facts/type_survey.h"
#include "formats/facts/volume_map.h"

namespace etwpipe::facts {
namespace {

constexpr const char* kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kProcess = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kImage = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
constexpr const char* kImageId = "b3e675d7-2554-4f18-830b-2762732560de";
constexpr const char* kSystemConfigEx = "9b79ee91-b5fd-41c0-a243-4248e266e9d0";
constexpr const char* kKernelProcess = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716";
constexpr const char* kStackWalk = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";

// A payload field by field.
class Bytes {
 public:
  template <typename T>
  Bytes& Add(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  Bytes& U32(uint32_t value) { return Add(value); }
  Bytes& U64(uint64_t value) { return Add(value); }
  Bytes& Zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  Bytes& Wide(std::string_view text) {
    for (const char c : text) Add(static_cast<uint16_t>(c));
    return Add(uint16_t{0});
  }
  Bytes& Narrow(std::string_view text) {
    for (const char c : text) Add(c);
    return Add('\0');
  }
  operator std::vector<std::byte>() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class SurveysTest : public testing::Test {
 protected:
  EventHeader& Row(const char* provider, int64_t time, std::vector<std::byte> payload) {
    payloads_.push_back(std::move(payload));
    EventHeader& row = batch_.rows.emplace_back();
    row.kind = HeaderKind::kPerfInfo64;
    row.flags = kHasTimestamp | kHasProvider | kPointer64;
    row.provider = *trace_.providers->Intern(GuidOf(provider));
    row.timestamp = time;
    row.instance_id = batch_.rows.size();
    row.record = payloads_.back().data();
    row.record_size = static_cast<uint16_t>(payloads_.back().size());
    return row;
  }
  void Classic(const char* provider, uint8_t opcode, uint16_t version, int64_t time, std::vector<std::byte> payload) {
    EventHeader& row = Row(provider, time, std::move(payload));
    row.opcode = opcode;
    row.version = version;
  }
  void Manifest(uint16_t id, int64_t time, std::vector<std::byte> payload) {
    EventHeader& row = Row(kKernelProcess, time, std::move(payload));
    row.kind = HeaderKind::kEvent64;
    row.id = id;
  }
  // One surveyor over all rows.
  void Observe(std::unique_ptr<Surveyor> surveyor) {
    ASSERT_TRUE(surveyor->Observe(batch_, trace_).ok());
    ASSERT_TRUE(surveyor->Finish(trace_, &diagnostics_).ok());
  }
  uint64_t Bad() const { return diagnostics_.count(DiagnosticId::kFactBad); }
  uint64_t Dropped() const { return diagnostics_.count(DiagnosticId::kFactsDropped); }
  void Survey(FactSet facts) {
    auto surveyors = MakeSurveyors({});
    ASSERT_TRUE(surveyors.ok());
    for (const auto& surveyor : surveyors->factory(facts)) {
      ASSERT_TRUE(surveyor->Observe(batch_, trace_).ok());
      ASSERT_TRUE(surveyor->Finish(trace_, &diagnostics_).ok());
    }
  }
  uint32_t PidOf(uint32_t tid, int64_t time = 50) {
    const auto* thread = trace_.facts->Get<ThreadTable>()->Find(tid, time);
    return thread == nullptr ? kNoId : thread->pid;
  }
  std::string ImageAt(uint32_t pid, uint64_t address, int64_t time = 50) {
    const auto* image = trace_.facts->Get<ImageTable>()->FindAddress(pid, address, time);
    return image == nullptr ? "" : std::string(image->dos_path);
  }

  TraceContext trace_;
  Diagnostics diagnostics_;
  EventBatch batch_;
  std::deque<std::vector<std::byte>> payloads_;
};

TEST_F(SurveysTest, ThreadsOfEveryVersion) {
  Classic(kThread, 3, 0, 1, Bytes().U32(10).U32(7));
  Classic(kThread, 1, 1, 1, Bytes().U32(7).U32(11).Zeros(49));
  Classic(kThread, 4, 1, 90, Bytes().U32(7).U32(12));
  Classic(kThread, 1, 2, 1, Bytes().U32(7).U32(13).Zeros(60));
  Classic(kThread, 2, 3, 60, Bytes().U32(7).U32(14).Zeros(64).Wide("ends"));
  Classic(kThread, 3, 5, 1, Bytes().U32(7).U32(15).Zeros(64).Wide("new").U32(1));
  Classic(kThread, 72, 2, 5, Bytes().U32(7).U32(16).Wide("named"));
  Manifest(3, 1, Bytes().U32(7).U32(17).Zeros(56));
  Manifest(4, 60, Bytes().U32(7).U32(18).Zeros(56));
  Classic(kThread, 3, 3, 1, Bytes().U32(7));  // cut off
  Survey(kThreads);
  EXPECT_EQ(Bad(), 1u) << "the one cut off";
  for (uint32_t tid = 10; tid <= 18; ++tid) EXPECT_EQ(PidOf(tid), 7u) << tid;
  const auto& threads = *trace_.facts->Get<ThreadTable>();
  EXPECT_EQ(threads.all().size(), 9u);
  EXPECT_EQ(threads.Find(14, 50)->name, "ends");
  EXPECT_EQ(threads.Find(15, 50)->name, "new");
  EXPECT_EQ(threads.Find(16, 50)->name, "named");
  EXPECT_EQ(threads.Find(18, 50)->end, 60);
}

TEST_F(SurveysTest, ThreadsKnownByTheirUseOnly) {
  EventHeader& row = Row(kKernelProcess, 10, {});
  row.kind = HeaderKind::kEvent64;
  row.flags |= kHasPid;
  row.pid = 7;
  row.tid = 10;
  Classic(kStackWalk, 32, 2, 10, Bytes().U64(9).U32(8).U32(20));
  Survey(kThreads);
  EXPECT_EQ(PidOf(10), 7u);
  EXPECT_EQ(PidOf(20), 8u);
}

TEST_F(SurveysTest, ImagesOfEveryVersion) {
  EventHeader& old = Row(kImage, 1, Bytes().U64(0x1000).U32(0x100).Wide("\\v0.dll"));
  old.opcode = 10;
  old.kind = HeaderKind::kSystem64;
  old.flags |= kHasPid;
  old.pid = 7;
  old.tid = 1;
  Classic(kImage, 3, 1, 1, Bytes().U64(0x2000).U64(0x100).U32(7).Wide("\\v1.dll"));
  Classic(kImage, 4, 2, 90, Bytes().U64(0x3000).U64(0x100).U32(7).U32(0).U32(99).Zeros(28).Wide("\\v2.dll"));
  Classic(kImage, 2, 3, 60, Bytes().U64(0x4000).U64(0x100).U32(7).Zeros(36).Wide("\\v3.dll"));
  Manifest(5, 1, Bytes().U64(0x5000).U64(0x100).U32(7).U32(0).U32(0).U64(0).Wide("\\load.dll"));
  Manifest(6, 60, Bytes().U64(0x6000).U64(0x100).U32(7).U32(0).U32(0).U64(0).Wide("\\unload.dll"));
  EventHeader& narrow = Row(kImage, 1, Bytes().U32(0x7000).U32(0x100).U32(7).Zeros(32).Wide("\\x86.dll"));
  narrow.opcode = 3;
  narrow.version = 2;
  narrow.kind = HeaderKind::kPerfInfo32;
  narrow.flags = kHasTimestamp | kHasProvider;
  Classic(kImage, 3, 2, 1, Bytes().U64(0x8000));  // cut off
  Survey(kImages);
  EXPECT_EQ(Bad(), 1u) << "the one cut off";
  EXPECT_EQ(ImageAt(7, 0x1050), "\\v0.dll");
  EXPECT_EQ(ImageAt(7, 0x2050), "\\v1.dll");
  EXPECT_EQ(ImageAt(7, 0x3050), "\\v2.dll");
  EXPECT_EQ(ImageAt(7, 0x4050), "\\v3.dll");
  EXPECT_EQ(ImageAt(7, 0x5050), "\\load.dll");
  EXPECT_EQ(ImageAt(7, 0x6050), "\\unload.dll");
  EXPECT_EQ(ImageAt(7, 0x7050), "\\x86.dll");
  EXPECT_EQ(trace_.facts->Get<ImageTable>()->all().size(), 7u);
  EXPECT_EQ(trace_.facts->Get<ImageTable>()->FindAddress(7, 0x3000, 50)->time_date_stamp, 99u);
}

TEST_F(SurveysTest, PathsAndSymbolsOfAMerge) {
  Classic(kSystemConfigEx, 33, 0, 0, Bytes().Wide("C:\\Windows\\system32").Wide("C:\\Windows\\"));
  Classic(kSystemConfigEx, 35, 0, 0, Bytes().Wide("\\Device\\V1\\").Wide("D:\\"));
  const Guid guid = GuidOf("00112233-4455-6677-8899-aabbccddeeff");
  Classic(kImageId, 36, 2, 5, Bytes().U64(0x1000).U32(7).Add(guid).U32(3).Narrow("a.pdb"));
  Classic(kImageId, 37, 2, 5, Bytes().U64(0x2000).U32(7).Add(guid).U32(4).Narrow("b.pdb"));
  Classic(kImage, 3, 1, 5, Bytes().U64(0x1000).U64(0x100).U32(7).Wide("\\Device\\V1\\a.dll"));
  Classic(kImage, 3, 1, 5, Bytes().U64(0x2000).U64(0x100).U32(7).Wide("\\SystemRoot\\b.dll"));
  Survey(kImages);
  EXPECT_EQ(ImageAt(7, 0x1000), "D:\\a.dll");
  EXPECT_EQ(ImageAt(7, 0x2000), "C:\\Windows\\b.dll");
  const auto& images = *trace_.facts->Get<ImageTable>();
  const PdbIdentity& pdb = images.FindAddress(7, 0x1000, 50)->pdb;
  EXPECT_EQ(pdb.guid, guid);
  EXPECT_EQ(pdb.age, 3u);
  EXPECT_EQ(pdb.name, "a.pdb");
  EXPECT_FALSE(pdb.il);
  EXPECT_TRUE(images.FindAddress(7, 0x2000, 50)->pdb.il);
}

TEST_F(SurveysTest, SwitchesOfEveryVersion) {
  for (const uint16_t version : {uint16_t{1}, uint16_t{4}}) {
    Classic(kThread, 36, version, 10 * version, Bytes().U32(100u + version).U32(200).Zeros(12));
    batch_.rows.back().cpu = version;
  }
  Classic(kThread, 36, 2, 1, Bytes().U32(1));  // cut off
  Survey(kCpuState);
  EXPECT_EQ(Bad(), 1u) << "the one cut off";
  const auto& state = *trace_.facts->Get<CpuState>();
  EXPECT_EQ(state.Find(1, 10), 101u);
  EXPECT_EQ(state.Find(4, 40), 104u);
  EXPECT_EQ(state.Find(4, 39), 200u);
  EXPECT_EQ(state.Find(0, 1), std::nullopt);
}

TEST_F(SurveysTest, ProcessesBeyondTheBoundOrCutOffAreCounted) {
  for (uint32_t pid = 1; pid <= 10; ++pid) {
    Classic(kProcess, 3, 4, 1, Bytes().U64(pid).U32(pid).U32(0).Zeros(32).Narrow("a.exe").Wide(""));
  }
  Classic(kProcess, 1, 4, 1, Bytes().U64(1));
  Observe(MakeProcessSurveyor(6));
  EXPECT_EQ(Dropped(), 5u) << "those beyond, the one cut off among them";
  EXPECT_EQ(Bad(), 0u);
  Observe(MakeProcessSurveyor());
  EXPECT_EQ(Bad(), 1u);
  EXPECT_EQ(Dropped(), 5u) << "no more";
}

TEST_F(SurveysTest, ThreadsBeyondTheBoundAreCounted) {
  for (uint32_t tid = 10; tid < 20; ++tid)
    Classic(kThread, 3, 5, 1, Bytes().U32(7).U32(tid).Zeros(64).Wide("n").U32(1));
  for (uint32_t tid = 50; tid < 57; ++tid) {
    EventHeader& row = Row(kKernelProcess, 10, {});
    row.kind = HeaderKind::kEvent64;
    row.flags |= kHasPid;
    row.pid = 7;
    row.tid = tid;
  }
  Observe(MakeThreadSurveyor({.records = 8, .uses = 4}));
  EXPECT_EQ(Dropped(), 2u + 3u);
  EXPECT_EQ(trace_.facts->Get<ThreadTable>()->all().size(), 12u);
}

TEST_F(SurveysTest, ImagesSymbolsNamesAndVolumesBeyondTheBoundAreCounted) {
  const Guid guid = GuidOf("00112233-4455-6677-8899-aabbccddeeff");
  for (uint32_t i = 0; i < 10; ++i) {
    Classic(kImage, 3, 1, 5, Bytes().U64(0x1000 * (i + 1)).U64(0x100).U32(7).Wide("\\" + std::to_string(i) + ".dll"));
    Classic(kImageId, 36, 2, 5, Bytes().U64(0x1000 * (i + 1)).U32(7).Add(guid).U32(3).Narrow("a.pdb"));
  }
  for (size_t i = 0; i < VolumeMap::kMaxMappings + 2; ++i) {
    Classic(kSystemConfigEx, 35, 0, 0, Bytes().Wide("\\Device\\V" + std::to_string(i) + "\\").Wide("D:\\"));
  }
  Observe(MakeImageSurveyor({.records = 7, .name_bytes = 1 << 20}));
  EXPECT_EQ(Dropped(), 3u + 3u + 2u);
  Observe(MakeImageSurveyor({.records = 100, .name_bytes = 0}));
  EXPECT_GT(Dropped(), 8u + 2u) << "names without room";
  EXPECT_EQ(trace_.facts->Get<ImageTable>()->all().size(), 10u) << "an image without a name is one";
}

TEST_F(SurveysTest, CutSymbolsAndVolumesAreCounted) {
  Classic(kImageId, 36, 2, 5, Bytes().U64(0x1000).U32(7));
  Classic(kSystemConfigEx, 35, 0, 0, {});
  Survey(kImages);
  EXPECT_EQ(Bad(), 2u);
}

TEST_F(SurveysTest, SwitchesBeyondTheBoundAreCounted) {
  for (uint32_t i = 0; i < 10; ++i) Classic(kThread, 36, 2, i, Bytes().U32(i).U32(200).Zeros(12));
  Observe(MakeCpuSurveyor(4));
  EXPECT_EQ(Dropped(), 6u);
  EXPECT_EQ(trace_.facts->Get<CpuState>()->Find(0, 3), 3u);
  EXPECT_EQ(trace_.facts->Get<CpuState>()->Find(0, 4), std::nullopt);
}

TEST_F(SurveysTest, TypesBeyondTheBoundAreCounted) {
  Bytes types;
  types.U32(5).Add(uint16_t{9});
  for (uint64_t type = 1; type <= 5; ++type) {
    types.U64(type).U64(0).U32(0).U32(0).Add(uint8_t{0}).Wide("N.Type").U32(0);
  }
  EventHeader& row = Row("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 1, types);
  row.kind = HeaderKind::kEvent64;
  row.flags |= kHasPid;
  row.pid = 7;
  row.id = 15;
  Observe(MakeTypeSurveyor({.records = 3, .bytes = 1000}));
  EXPECT_EQ(Dropped(), 2u);
  Observe(MakeTypeSurveyor({.records = 10, .bytes = 1}));
  EXPECT_EQ(Dropped(), 2u + 4u) << "the first is more than there is room for";
}

}  // namespace
}  // namespace etwpipe::facts

// Whose a record is: payloads built from the documented layouts, with and without ids in the header.
#include "formats/facts/record_owner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>

#include "formats/facts/cpu_state.h"
#include "formats/facts/thread_table.h"

namespace etwpipe::facts {
namespace {

constexpr const char* kProcess = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kPageFault = "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kDiskIo = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kImage = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
constexpr const char* kPerfInfo = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
constexpr const char* kStackWalk = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";
constexpr const char* kTcpIp = "9a280ac0-c8e0-11d1-84e2-00c04fb998a2";
constexpr const char* kUdpIp = "bf3a50c5-a9c9-4988-a005-2df0b7c80f80";
constexpr const char* kFileIo = "90cbdc39-4a3e-11d1-84f4-0000f80464e3";
constexpr const char* kOther = "11111111-2222-3333-4444-555555555555";

using Source = RecordOwner::Source;

// Zeros with ids at their documented offsets.
struct Id {
  size_t offset;
  uint32_t value;
};
std::vector<std::byte> Payload(size_t size, std::initializer_list<Id> ids) {
  std::vector<std::byte> bytes(size);
  for (const Id& id : ids) std::memcpy(bytes.data() + id.offset, &id.value, sizeof(id.value));
  return bytes;
}

class RecordOwnerTest : public testing::Test {
 protected:
  RecordOwnerTest() {
    ThreadRecord thread;
    thread.kind = ThreadRecord::Kind::kRundown;
    thread.tid = 44;
    thread.pid = 4;
    trace_.facts->Set(std::make_shared<const ThreadTable>(ThreadTable::Build({thread}, 0)));
    auto cpu = std::make_shared<CpuState>();
    cpu->Add(3, 10, 44, 0);
    cpu->Finish();
    trace_.facts->Set(std::shared_ptr<const CpuState>(std::move(cpu)));
  }

  // A record of 64-bit Windows without ids.
  EventHeader Bare(const char* provider, uint8_t opcode, uint16_t version, std::vector<std::byte> payload) {
    payloads_.push_back(std::move(payload));
    EventHeader row;
    row.kind = HeaderKind::kPerfInfo64;
    row.flags = kHasTimestamp | kHasProvider | kPointer64;
    row.provider = *trace_.providers->Intern(GuidOf(provider));
    row.opcode = opcode;
    row.version = version;
    row.timestamp = 5;
    row.record = payloads_.back().data();
    row.record_size = static_cast<uint16_t>(payloads_.back().size());
    return row;
  }
  // The same with ids in its header.
  EventHeader WithIds(EventHeader row, uint32_t pid, uint32_t tid) {
    row.kind = HeaderKind::kSystem64;
    row.flags |= kHasPid;
    row.pid = pid;
    row.tid = tid;
    return row;
  }

  std::string Owner(const EventHeader& row, bool processors = true) {
    OwnerScratch scratch(trace_, processors);
    const auto owner = OwnerOf(row, trace_, scratch);
    if (!owner) return "nobody";
    const auto text = [](uint32_t id) { return id == kNoId ? std::string("-") : std::to_string(id); };
    const char* sources[] = {"header", "payload", "processor"};
    return text(owner->pid) + "/" + text(owner->tid) + " " + sources[static_cast<size_t>(owner->source)];
  }

  TraceContext trace_;
  std::deque<std::vector<std::byte>> payloads_;
};

// Offsets are those of etl-format.md section 8 for 64-bit records.
TEST_F(RecordOwnerTest, RecordsWithoutIdsInTheirHeader) {
  const struct {
    const char* provider;
    uint8_t opcode;
    uint16_t version;
    std::vector<std::byte> payload;
    const char* owner;
  } cases[] = {
      {kProcess, 1, 0, Payload(25, {{0, 7}}), "7/- payload"},
      {kProcess, 3, 1, Payload(33, {{8, 7}}), "7/- payload"},
      {kProcess, 3, 4, Payload(60, {{8, 7}}), "7/- payload"},
      {kProcess, 11, 2, Payload(4, {{0, 7}}), "7/- payload"},
      {kProcess, 33, 2, Payload(104, {{0, 7}}), "7/- payload"},
      {kThread, 3, 0, Payload(8, {{0, 9}, {4, 7}}), "7/9 payload"},
      {kThread, 3, 1, Payload(57, {{0, 7}, {4, 9}}), "7/9 payload"},
      {kThread, 2, 3, Payload(72, {{0, 7}, {4, 9}}), "7/9 payload"},
      {kThread, 72, 2, Payload(10, {{0, 7}, {4, 9}}), "7/9 payload"},
      {kThread, 36, 2, Payload(24, {{0, 44}, {4, 9}}), "4/44 payload"},
      {kThread, 48, 3, Payload(8, {{0, 44}}), "4/44 payload"},
      {kImage, 3, 1, Payload(22, {{16, 7}}), "7/- payload"},
      {kImage, 4, 3, Payload(58, {{16, 7}}), "7/- payload"},
      {kPerfInfo, 46, 2, Payload(16, {{8, 44}}), "4/44 payload"},
      {kPerfInfo, 46, 2, Payload(16, {{8, 0}}), "0/0 payload"},
      {kPerfInfo, 46, 2, Payload(16, {{8, 48}}), "-/48 payload"},
      {kPerfInfo, 47, 2, Payload(16, {{8, 44}}), "4/44 payload"},
      {kStackWalk, 32, 2, Payload(24, {{8, 7}, {12, 9}}), "7/9 payload"},
      {kStackWalk, 37, 2, Payload(24, {{8, 7}, {12, 9}}), "7/9 payload"},
      {kStackWalk, 38, 2, Payload(24, {{8, 7}, {12, 9}}), "7/9 payload"},
      {kDiskIo, 10, 3, Payload(52, {{48, 44}}), "4/44 payload"},
      {kDiskIo, 12, 3, Payload(12, {{8, 44}}), "4/44 payload"},
      {kDiskIo, 14, 3, Payload(28, {{24, 44}}), "4/44 payload"},
      {kPageFault, 32, 2, Payload(40, {{32, 44}}), "4/44 payload"},
      {kPageFault, 98, 2, Payload(24, {{16, 7}}), "7/- payload"},
      {kTcpIp, 10, 2, Payload(40, {{0, 7}}), "7/- payload"},
      {kTcpIp, 27, 2, Payload(56, {{0, 7}}), "7/- payload"},
      {kUdpIp, 11, 2, Payload(32, {{0, 7}}), "7/- payload"},
      {kFileIo, 64, 3, Payload(34, {{16, 44}}), "4/44 payload"},
      {kFileIo, 67, 3, Payload(48, {{32, 44}}), "4/44 payload"},
      // Neither says whose it is: the version lacks the field, the payload ends early, or the kind has none.
      {kDiskIo, 10, 2, Payload(48, {}), "4/44 processor"},
      {kPerfInfo, 46, 2, Payload(11, {}), "4/44 processor"},
      {kImage, 3, 2, Payload(0, {}), "4/44 processor"},
      {kPerfInfo, 51, 2, Payload(8, {}), "4/44 processor"},
      {kThread, 50, 2, Payload(8, {{0, 9}}), "4/44 processor"},
      {kOther, 1, 0, Payload(8, {}), "4/44 processor"},
  };
  for (const auto& expected : cases) {
    auto row = Bare(expected.provider, expected.opcode, expected.version, expected.payload);
    row.cpu = 3;
    EXPECT_EQ(Owner(row), expected.owner) << expected.provider << ' ' << int{expected.opcode};
  }
}

TEST_F(RecordOwnerTest, TheProcessorAnswersWhereItIsAsked) {
  auto row = Bare(kPerfInfo, 51, 2, Payload(8, {}));
  row.cpu = 3;
  EXPECT_EQ(Owner(row), "4/44 processor");
  EXPECT_EQ(Owner(row, false), "nobody");
  row.timestamp = 10;
  EXPECT_EQ(Owner(row), "0/0 processor");
  row.cpu = 2;
  EXPECT_EQ(Owner(row), "nobody");
}

TEST_F(RecordOwnerTest, RecordsAboutSomebodyElseThanTheirWriter) {
  const auto start = Bare(kThread, 1, 3, Payload(72, {{0, 7}, {4, 9}}));
  EXPECT_EQ(Owner(WithIds(start, 100, 200)), "7/9 payload");
  const auto process = Bare(kProcess, 1, 4, Payload(60, {{8, 7}}));
  EXPECT_EQ(Owner(WithIds(process, 100, 200)), "7/- payload");
  const auto load = Bare(kImage, 10, 2, Payload(58, {{16, 7}}));
  EXPECT_EQ(Owner(WithIds(load, 7, 200)), "7/200 payload");
  EXPECT_EQ(Owner(WithIds(load, 100, 200)), "7/- payload");
  const auto unload = Bare(kImage, 2, 2, Payload(58, {{16, 7}}));
  EXPECT_EQ(Owner(WithIds(unload, 7, 200)), "7/- payload");
  const auto disk = Bare(kDiskIo, 10, 3, Payload(52, {{48, 44}}));
  EXPECT_EQ(Owner(WithIds(disk, 100, 200)), "4/44 payload");
}

TEST_F(RecordOwnerTest, OtherRecordsGoByTheirHeader) {
  const auto fault = Bare(kPageFault, 32, 2, Payload(40, {{32, 44}}));
  EXPECT_EQ(Owner(WithIds(fault, 100, 200)), "100/200 header");
  EXPECT_EQ(Owner(WithIds(fault, kNoId, kNoId)), "4/44 payload") << "a header that holds no ids";
  EXPECT_EQ(Owner(WithIds(Bare(kOther, 1, 0, {}), 100, 200)), "100/200 header");
  // An event that is told apart by its id may have any opcode.
  auto event = WithIds(Bare(kThread, 1, 3, Payload(72, {{0, 7}, {4, 9}})), 100, 200);
  event.kind = HeaderKind::kEvent64;
  EXPECT_EQ(Owner(event), "100/200 header");
}

TEST_F(RecordOwnerTest, OldRecordsHoldIdsAsPointers) {
  auto row = Bare(kProcess, 1, 0, Payload(13, {{0, 7}, {4, 8}}));
  row.kind = HeaderKind::kPerfInfo32;
  row.flags = kHasTimestamp | kHasProvider;
  EXPECT_EQ(Owner(row), "7/- payload");
}

TEST_F(RecordOwnerTest, WithoutFactsATidStandsAlone) {
  trace_.facts = std::make_shared<Facts>();
  EXPECT_EQ(Owner(Bare(kPerfInfo, 46, 2, Payload(16, {{8, 44}}))), "-/44 payload");
}

}  // namespace
}  // namespace etwpipe::facts

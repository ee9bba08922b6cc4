// Operating-system events: payloads built from the documented layouts.
#include "formats/activities/os_events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "formats/facts/thread_table.h"
#include "tests/formats/facts/fact_rows.h"

namespace etwpipe::activities {
namespace {

constexpr const char* kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kPageFault = "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kDiskIo = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
constexpr const char* kFileIo = "90cbdc39-4a3e-11d1-84f4-0000f80464e3";
constexpr uint64_t kIrp = 0xFFFFA00012345678;

OsEffect Touched(uint32_t tid) { return {tid, kNoId, kNoId}; }
OsEffect Switched(uint32_t out, uint32_t in) { return {kNoId, out, in}; }

class OsEventsTest : public testing::Test {
 protected:
  OsEventsTest() {
    std::vector<facts::ThreadRecord> records;
    for (const auto& [tid, pid] : {std::pair{11u, 1u}, {12u, 1u}, {21u, 2u}}) {
      facts::ThreadRecord& record = records.emplace_back();
      record.kind = facts::ThreadRecord::Kind::kRundown;
      record.tid = tid;
      record.pid = pid;
    }
    trace_.facts->Set(std::make_shared<const facts::ThreadTable>(facts::ThreadTable::Build(records, 0)));
  }

  struct Field {
    size_t offset;
    size_t size;
    uint64_t value;
  };
  const EventHeader& Record(const char* provider, uint8_t opcode, uint16_t version, size_t size,
                            std::initializer_list<Field> fields) {
    std::vector<std::byte> payload(size);
    for (const Field& field : fields) std::memcpy(payload.data() + field.offset, &field.value, field.size);
    EventHeader& row = rows_.Add(HeaderKind::kPerfInfo64, provider, 5, 0, payload);
    row.opcode = opcode;
    row.version = version;
    return row;
  }
  const EventHeader& Switch(uint32_t new_tid, uint32_t old_tid) {
    return Record(kThread, 36, 4, 24, {{0, 4, new_tid}, {4, 4, old_tid}});
  }
  static EventHeader WithHeaderThread(EventHeader row, uint32_t tid) {
    row.kind = HeaderKind::kSystem64;
    row.flags |= kHasPid;
    row.pid = 1;
    row.tid = tid;
    return row;
  }
  static EventHeader Cut(EventHeader row, size_t size) {
    row.record_size = static_cast<uint16_t>(row.payload_begin + size);
    return row;
  }

  TraceContext trace_;
  facts::FactRows rows_{trace_};
};

TEST_F(OsEventsTest, Policies) {
  EXPECT_EQ(OsPolicyOf("vs"), OsPolicy::kVs);
  EXPECT_EQ(OsPolicyOf("default"), OsPolicy::kDefault);
  EXPECT_EQ(OsPolicyOf("VS"), std::nullopt);
  EXPECT_STREQ(ToString(OsPolicy::kVs), "vs");
}

TEST_F(OsEventsTest, SwitchesByPolicy) {
  OsEvents any(trace_, OsPolicy::kDefault);
  EXPECT_EQ(any.EffectOf(Switch(12, 11)), Switched(11, 12));
  EXPECT_EQ(any.EffectOf(Switch(21, 11)), Switched(11, 21));
  EXPECT_EQ(any.EffectOf(Switch(0, 11)), Switched(11, kNoId));
  EXPECT_EQ(any.EffectOf(Switch(11, 0)), Switched(kNoId, 11));
  EXPECT_EQ(any.counts().unknown_processes, 0u);

  OsEvents vs(trace_, OsPolicy::kVs);
  EXPECT_EQ(vs.EffectOf(Switch(12, 11)), Switched(kNoId, 12)) << "same process";
  EXPECT_EQ(vs.EffectOf(Switch(21, 11)), Switched(11, 21));
  EXPECT_EQ(vs.EffectOf(Switch(0, 11)), Switched(11, kNoId)) << "idle is a process of its own";
  EXPECT_EQ(vs.EffectOf(Switch(99, 11)), Switched(11, 99));
  EXPECT_EQ(vs.EffectOf(Switch(11, 99)), Switched(99, 11));
  EXPECT_EQ(vs.counts().unknown_processes, 2u);
  EXPECT_EQ(vs.counts().switches, 5u);
}

TEST_F(OsEventsTest, DiskTransfersTouchTheIssuingThread) {
  for (const OsPolicy policy : {OsPolicy::kDefault, OsPolicy::kVs}) {
    OsEvents events(trace_, policy);
    for (const uint8_t opcode : {uint8_t{10}, uint8_t{11}}) {
      EXPECT_EQ(events.EffectOf(WithHeaderThread(Record(kDiskIo, opcode, 3, 52, {{32, 8, kIrp}, {48, 4, 11}}), 77)),
                Touched(11));
    }
    EXPECT_EQ(events.EffectOf(Record(kDiskIo, 14, 3, 28, {{16, 8, kIrp}, {24, 4, 12}})), Touched(12));
    for (const uint8_t opcode : {uint8_t{12}, uint8_t{13}, uint8_t{15}}) {
      EXPECT_EQ(events.EffectOf(Record(kDiskIo, opcode, 3, 12, {{0, 8, kIrp}, {8, 4, 21}})), Touched(21));
    }
    EXPECT_EQ(events.EffectOf(Record(kDiskIo, 35, 3, 12, {{0, 8, kIrp}})), OsEffect()) << "driver calls are none";
    EXPECT_EQ(events.counts().disk, 6u);
    EXPECT_EQ(events.counts().unattributed, 0u);
  }
}

TEST_F(OsEventsTest, OldDiskTransfersAreThoseOfTheRequest) {
  OsEvents events(trace_, OsPolicy::kVs);
  EXPECT_EQ(events.EffectOf(WithHeaderThread(Record(kDiskIo, 12, 2, 8, {{0, 8, kIrp}}), 11)), Touched(11));
  EXPECT_EQ(events.EffectOf(WithHeaderThread(Record(kDiskIo, 13, 2, 8, {{0, 8, kIrp + 8}}), 12)), Touched(12));
  const EventHeader read = WithHeaderThread(Record(kDiskIo, 10, 2, 48, {{32, 8, kIrp}}), 77);
  EXPECT_EQ(events.EffectOf(read), Touched(11));
  EXPECT_EQ(events.EffectOf(read), OsEffect()) << "that request has been completed";
  EXPECT_EQ(events.EffectOf(Record(kDiskIo, 11, 2, 48, {{32, 8, kIrp + 8}})), Touched(12));
  EXPECT_EQ(events.EffectOf(Record(kDiskIo, 10, 0, 32, {})), OsEffect()) << "has no IRP";
  EXPECT_EQ(events.EffectOf(Record(kDiskIo, 12, 2, 8, {{0, 8, kIrp}})), OsEffect()) << "nobody's request";
  EXPECT_EQ(events.counts().unattributed, 3u);
  // The issuing thread is unknown to the record, not to the request.
  events.EffectOf(Record(kDiskIo, 12, 3, 12, {{0, 8, kIrp}, {8, 4, 21}}));
  EXPECT_EQ(events.EffectOf(Record(kDiskIo, 10, 3, 52, {{32, 8, kIrp}, {48, 4, kNoId}})), Touched(21));
}

TEST_F(OsEventsTest, FilesAndFaultsBelongToTheDefaultOnly) {
  const auto& read = Record(kFileIo, 67, 3, 48, {{8, 8, kIrp}, {32, 4, 11}});
  const auto& write = Record(kFileIo, 68, 3, 48, {{8, 8, kIrp + 8}, {32, 4, 12}});
  const auto& flush = Record(kFileIo, 73, 3, 28, {{0, 8, kIrp + 16}, {24, 4, 21}});
  const auto& old_read = Record(kFileIo, 67, 2, 48, {{8, 8, kIrp + 24}, {16, 8, 11}});
  const auto& end = Record(kFileIo, 76, 2, 20, {{0, 8, kIrp + 8}});
  const auto& create = Record(kFileIo, 64, 3, 40, {});
  const auto& hard = Record(kPageFault, 32, 2, 40, {{32, 4, 12}});
  const auto& soft = Record(kPageFault, 10, 2, 16, {});
  OsEvents vs(trace_, OsPolicy::kVs);
  for (const auto* row : {&read, &write, &flush, &old_read, &end, &create, &hard, &soft}) {
    EXPECT_EQ(vs.EffectOf(*row), OsEffect());
  }
  OsEvents any(trace_, OsPolicy::kDefault);
  EXPECT_EQ(any.EffectOf(read), Touched(11));
  EXPECT_EQ(any.EffectOf(end), OsEffect()) << "of an operation that is not counted";
  EXPECT_EQ(any.EffectOf(write), Touched(12));
  EXPECT_EQ(any.EffectOf(flush), Touched(21));
  EXPECT_EQ(any.EffectOf(old_read), Touched(11));
  EXPECT_EQ(any.EffectOf(WithHeaderThread(end, 77)), Touched(12)) << "ends on any thread";
  EXPECT_EQ(any.EffectOf(end), OsEffect());
  EXPECT_EQ(any.EffectOf(create), OsEffect());
  EXPECT_EQ(any.EffectOf(hard), Touched(12));
  EXPECT_EQ(any.EffectOf(soft), OsEffect());
  EXPECT_EQ(any.counts().files, 5u);
  EXPECT_EQ(any.counts().faults, 1u);
  EXPECT_EQ(any.counts().unattributed, 0u);
}

TEST_F(OsEventsTest, PointersOf32Bits) {
  OsEvents events(trace_, OsPolicy::kDefault);
  // 4 u32, u64, two pointers, u64: the thread is at 40.
  EventHeader request = Record(kDiskIo, 12, 3, 8, {{0, 4, 0x81234567}, {4, 4, 11}});
  request.flags = static_cast<uint8_t>(request.flags & ~kPointer64);
  EXPECT_EQ(events.EffectOf(request), Touched(11));
  EventHeader completion = Record(kDiskIo, 10, 3, 44, {{28, 4, 0x81234567}, {40, 4, 12}});
  completion.flags = request.flags;
  EXPECT_EQ(events.EffectOf(completion), Touched(12));
}

// At every length a record says all or nothing, and nothing reads beyond it.
TEST_F(OsEventsTest, PayloadsThatEndEarly) {
  struct Case {
    const EventHeader& row;
    size_t needed;
  };
  const Case cases[] = {
      {Switch(21, 11), 8},
      {Record(kDiskIo, 10, 3, 52, {{48, 4, 11}}), 52},
      {Record(kFileIo, 67, 3, 48, {{32, 4, 11}}), 36},
      {Record(kPageFault, 32, 2, 40, {{32, 4, 12}}), 36},
  };
  for (const Case& test : cases) {
    for (size_t size = 0; size <= test.row.payload().size(); ++size) {
      OsEvents events(trace_, OsPolicy::kDefault);
      EXPECT_EQ(events.EffectOf(Cut(test.row, size)) != OsEffect(), size >= test.needed) << size;
      EXPECT_EQ(events.counts().unattributed, size >= test.needed ? 0u : 1u) << size;
    }
  }
}

TEST_F(OsEventsTest, EventsOfOthersAreNone) {
  OsEvents events(trace_, OsPolicy::kDefault);
  EventHeader manifest = Switch(21, 11);
  manifest.kind = HeaderKind::kEvent64;
  EXPECT_EQ(events.EffectOf(manifest), OsEffect()) << "opcodes of manifest providers mean something else";
  EXPECT_EQ(events.EffectOf(Record("11111111-2222-3333-4444-555555555555", 36, 4, 24, {})), OsEffect());
  EXPECT_EQ(events.counts().switches, 0u);
}

TEST_F(OsEventsTest, RequestsThatNeverEndAreBounded) {
  OsEvents events(trace_, OsPolicy::kDefault);
  std::vector<std::byte> payload(12);
  EventHeader row = Record(kDiskIo, 12, 3, 12, {{8, 4, 11}});
  row.record = payload.data();
  payload[8] = std::byte{11};
  for (uint64_t irp = 0; irp < (1 << 18) + 5; ++irp) {
    std::memcpy(payload.data(), &irp, sizeof irp);
    events.EffectOf(row);
  }
  EXPECT_EQ(events.counts().forgotten, uint64_t{1} << 18);
}

TEST_F(OsEventsTest, EffectsReachTheCalls) {
  CallTimes times;
  times.Enter({11, 1, 0, 0, 0});
  OsEvents events(trace_, OsPolicy::kVs);
  events.EffectOf(Switch(21, 11)).ApplyTo(times, 5);
  times.Enter({11, 1, 1, 0, 10});  // stamped while off
  events.EffectOf(Switch(11, 21)).ApplyTo(times, 15);
  times.LeaveTop(11, 1, 20);
  times.LeaveTop(11, 1, 30);
  times.Finish(30);
  EXPECT_EQ(times.session(), (CallValues{2, 30, 30, 10, 10}));
}

}  // namespace
}  // namespace etwpipe::activities

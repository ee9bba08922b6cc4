// Records of calls, made by hand.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/formats/facts/fact_rows.h"

namespace etwpipe::activities {

inline constexpr std::string_view kProfilerGuid = "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc";
inline constexpr uint16_t kEnterId = 1, kLeaveId = 2, kTailcallId = 3;

/// Enter, Leave or Tailcall of etwpipe.profiler.
inline EventHeader& AddCall(facts::FactRows& rows, uint16_t id, uint64_t function, int64_t time, uint32_t pid,
                            uint32_t tid) {
  EventHeader& row =
      rows.Add(HeaderKind::kEvent64, kProfilerGuid, time, 0, pid, tid, facts::Bytes().Add(function).bytes);
  row.id = id;
  return row;
}

/// A CSwitch.
inline EventHeader& AddSwitch(facts::FactRows& rows, uint32_t new_tid, uint32_t old_tid, int64_t time) {
  EventHeader& row = rows.Add(HeaderKind::kPerfInfo64, "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", time, 0,
                              facts::Bytes().Add(new_tid).Add(old_tid).Add(uint64_t{0}).Add(uint64_t{0}).bytes);
  row.opcode = 36;
  row.version = 4;
  return row;
}

/// The completion of a disk read, logged by whatever thread.
inline EventHeader& AddDiskRead(facts::FactRows& rows, uint32_t issuing_tid, int64_t time) {
  facts::Bytes payload;
  for (int i = 0; i < 6; ++i) payload.Add(uint64_t{0});
  EventHeader& row = rows.Add(HeaderKind::kPerfInfo64, "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c", time, 0,
                              payload.Add(issuing_tid).bytes);
  row.opcode = 10;
  row.version = 3;
  return row;
}

/// The worked example of semantics.md 5.2: main 0x10, A 0xA, B 0xB.
inline void AddWorkedExample(facts::FactRows& rows, uint32_t pid, uint32_t tid) {
  AddCall(rows, kEnterId, 0x10, 0, pid, tid);
  AddCall(rows, kEnterId, 0xA, 10, pid, tid);
  AddCall(rows, kEnterId, 0xB, 30, pid, tid);
  AddSwitch(rows, 0, tid, 31);
  AddSwitch(rows, tid, 0, 44);
  AddCall(rows, kLeaveId, 0xB, 45, pid, tid);
  AddCall(rows, kLeaveId, 0xA, 60, pid, tid);
  AddCall(rows, kEnterId, 0xA, 70, pid, tid);
  AddCall(rows, kEnterId, 0xA, 75, pid, tid);
  AddDiskRead(rows, tid, 90);
  AddCall(rows, kLeaveId, 0xA, 95, pid, tid);
  AddCall(rows, kLeaveId, 0xA, 100, pid, tid);
  AddCall(rows, kLeaveId, 0x10, 110, pid, tid);
}

inline EventBatch BatchOf(const facts::FactRows& rows) {
  EventBatch batch;
  batch.rows.assign(rows.rows.begin(), rows.rows.end());
  batch.SelectAll();
  return batch;
}

}  // namespace etwpipe::activities

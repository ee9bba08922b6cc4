// Rules that writing and reading of a block share (FORMAT.md, "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "formats/etwp/prediction.h"
#include "pipeline/event.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

constexpr size_t kGuidSize = 16;

/// Columns that hold one u32 of a record header each.
struct NumberSlot {
  v1::Slot::Field field;
  uint32_t column;
};
constexpr NumberSlot kNumberSlots[] = {
    {v1::Slot::FIELD_KERNEL_TIME, v1::COLUMN_KERNEL_TIME}, {v1::Slot::FIELD_USER_TIME, v1::COLUMN_USER_TIME},
    {v1::Slot::FIELD_INSTANCE, v1::COLUMN_INSTANCE},       {v1::Slot::FIELD_PARENT, v1::COLUMN_PARENT},
    {v1::Slot::FIELD_SEQUENCE, v1::COLUMN_SEQUENCE},
};
constexpr size_t kNumberSlotCount = std::size(kNumberSlots);

/// ColumnDirectory.prediction of these columns: the difference to the last value of the event's thread.
constexpr uint32_t kSinceThread = 1;
constexpr size_t kNumberSlotWidth = 4;

/// The last values of threads, by CpuState.thread.
class ThreadValues {
 public:
  uint64_t& operator[](uint64_t thread) {
    if (thread >= values_.size()) values_.resize(thread + 1);
    return values_[thread];
  }

 private:
  std::vector<uint64_t> values_;
};

/// What a column predicts from, per processor. All of it starts anew with each block.
struct CpuState {
  uint64_t expected_id = 0;
  uint64_t thread = 0;  ///< 1 + pair index of its last event with a thread, 0 before the first
  HeaderFacts facts;    ///< of the event at hand
};

/// One state per processor, grown on demand.
class CpuStates {
 public:
  CpuState& operator[](uint16_t cpu) {
    if (cpu >= states_.size()) states_.resize(size_t{cpu} + 1);
    return states_[cpu];
  }
  void Clear() { states_.clear(); }

 private:
  std::vector<CpuState> states_;
};

/// The id of the record that follows one of `size` bytes in its buffer (design.md section 5).
constexpr uint64_t NextInstanceId(uint64_t id, uint16_t size) {
  return InstanceIdSource(id) == kInjectedSource ? id + 1 : id + (size_t{size} + 7) / 8;
}

}  // namespace etwpipe::etwp

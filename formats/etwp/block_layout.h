// Rules that writing and reading of a block share (FORMAT.md, "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
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

/// ColumnDirectory.prediction of COLUMN_TIMESTAMP: what the difference is to.
enum TimestampBase : uint32_t {
  kSinceEvent = 0,      ///< the event before
  kSinceCpu = 1,        ///< the event before on the processor, or else the one before
  kSinceKindOnCpu = 2,  ///< the event before of the kind on the processor, or else as kSinceCpu
};

/// The times that timestamps are told from.
class TimestampBases {
 public:
  explicit TimestampBases(uint64_t first) : event_(first) {}

  uint64_t Get(uint32_t base, uint16_t cpu, uint32_t kind) const {
    if (base == kSinceKindOnCpu) {
      if (const auto found = kinds_.find(uint64_t{cpu} << 32 | kind); found != kinds_.end()) return found->second;
    }
    return base == kSinceEvent || cpu >= cpus_.size() || !cpus_[cpu] ? event_ : *cpus_[cpu];
  }
  /// `keep_kind` where the kind may be told from kSinceKindOnCpu.
  void Set(uint16_t cpu, uint32_t kind, bool keep_kind, uint64_t timestamp) {
    event_ = timestamp;
    if (cpu >= cpus_.size()) cpus_.resize(size_t{cpu} + 1);
    cpus_[cpu] = timestamp;
    if (keep_kind) kinds_[uint64_t{cpu} << 32 | kind] = timestamp;
  }

 private:
  uint64_t event_;
  std::vector<std::optional<uint64_t>> cpus_;
  std::unordered_map<uint64_t, uint64_t> kinds_;
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

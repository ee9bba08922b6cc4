// Rules that writing and reading of a block share (FORMAT.md, "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/event.h"

namespace etwpipe::etwp {

/// What a column predicts from, per processor. All of it starts anew with each block.
struct CpuState {
  uint64_t expected_id = 0;
  uint64_t thread = 0;  ///< 1 + pair index of its last event with a thread, 0 before the first
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

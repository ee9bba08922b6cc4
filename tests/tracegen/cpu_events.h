// What processors do: context switches, timer samples, interrupts, system calls.
#pragma once

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

/// Where sampled code of a process is, for processes that run code of their own making (.NET).
class CodeMap {
 public:
  virtual ~CodeMap() = default;
  /// An address in the process's generated code, 0 if it has none.
  virtual uint64_t PickCode(ProcessIndex process) = 0;
};

class CpuEvents : public Topic {
 public:
  CpuEvents(Simulation& simulation, CodeMap& code_map);

  void Begin() override;
  void Step() override;
  /// The profile timer: one sample on every processor.
  void Sample();
  void End() override;

 private:
  uint64_t PickInstruction(uint16_t cpu);

  Simulation& sim_;
  CodeMap& code_map_;
  SystemKind sampled_profile_, collection_start_, collection_end_;
  SystemKind dpc_, isr_, syscall_enter_, syscall_exit_;
  SystemKind stack_key_kernel_, stack_key_user_, stack_definition_;
  std::vector<std::vector<uint64_t>> cached_stacks_;
};

}  // namespace etwpipe::tracegen

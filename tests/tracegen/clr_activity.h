// What .NET programs do besides compiling: garbage collections, allocations, exceptions, locks.
#pragma once

#include "tests/tracegen/clr_methods.h"

namespace etwpipe::tracegen {

class ClrActivity : public Topic {
 public:
  ClrActivity(Simulation& simulation, ClrMethods& methods);

  void Step() override;
  void Resume(uint32_t code, uint64_t a, uint64_t b) override;

 private:
  void StartCollection(ThreadIndex thread);
  void Allocate(ThreadIndex thread);
  void Throw(ThreadIndex thread);
  void StartContention(ThreadIndex thread);
  void WalkStack(uint16_t cpu, const Process& process);
  /// An event that has just been written holds a code address.
  void AddReference(std::string_view event, int64_t ticks, uint16_t cpu, uint32_t frame, uint64_t address);

  Simulation& sim_;
  ClrMethods& methods_;
  std::vector<std::u16string> type_names_;
  uint32_t next_collection_ = 1;
  std::vector<uint64_t> frames_;
  ClrKind gc_triggered_, suspend_begin_, suspend_end_, gc_start1_, gc_start2_, gc_end_, restart_begin_, restart_end_;
  ClrKind allocation_tick_, bulk_type_;
  ClrKind exception_, catch_start_, catch_stop_, exception_stop_;
  ClrKind contention_start_, contention_stop_;
  ClrKind stack_walk_;
};

}  // namespace etwpipe::tracegen

// Which thread a kernel record was written for, as far as the record itself says.
#pragma once

#include <cstdint>

#include "pipeline/event.h"
#include "pipeline/trace_context.h"

namespace etwpipe::facts {

/// Whether the record is of the kernel's groups.
constexpr bool IsKernelRecord(HeaderKind kind) {
  switch (kind) {
    case HeaderKind::kSystem32:
    case HeaderKind::kSystem64:
    case HeaderKind::kCompact32:
    case HeaderKind::kCompact64:
    case HeaderKind::kPerfInfo32:
    case HeaderKind::kPerfInfo64: return true;
    default: return false;
  }
}

/// Made for one trace; any thread may use it.
class KernelThreads {
 public:
  explicit KernelThreads(const TraceContext& trace);

  /// Whether StackWalk records speak of such a record: one of the kernel's groups that is no StackWalk record itself.
  bool TakesStack(const EventHeader& row) const { return IsKernelRecord(row.kind) && row.provider != stack_walk_; }

  /// The tid of the header, or of the payload of samples (PerfInfo 46, 47: the thread that ran), context switches
  /// (Thread 36: the new thread, whose stack is taken) and hard faults (PageFault 32) (etl-format.md 8.2, 8.4, 8.8).
  /// kNoId if the record says nothing.
  uint32_t Of(const EventHeader& row) const;

 private:
  ProviderIndex perf_info_;
  ProviderIndex thread_;
  ProviderIndex page_fault_;
  ProviderIndex stack_walk_;
};

}  // namespace etwpipe::facts

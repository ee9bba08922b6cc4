// Records of the kernel that tell of threads and processors.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/trace_context.h"

namespace etwpipe::activities {

enum class KernelEvent : uint8_t {
  kOther,
  kSwitch,    ///< CSwitch
  kSample,    ///< SampledProfile
  kInterval,  ///< of SampledProfile: collection start, change
  kThreadStart,
  kThreadEnd,
  kProcessStart,
  kProcessEnd,
};

/// Made for one trace; any thread may use it.
class KernelEvents {
 public:
  explicit KernelEvents(const TraceContext& trace);

  /// Whether records of the provider can be one of these.
  bool IsProvider(ProviderIndex provider) const {
    return provider == thread_ || provider == perf_info_ || provider == process_ || provider == manifest_;
  }
  /// Opcodes of the kernel's groups (etl-format.md 8), ids of Microsoft-Windows-Kernel-Process.
  KernelEvent ClassOf(const EventHeader& row) const;

  struct Switch {
    uint32_t new_tid = 0;
    uint32_t old_tid = 0;
  };
  /// The first two fields of a CSwitch (semantics.md 3.2); nullopt if the payload ends before.
  static std::optional<Switch> SwitchOf(const EventHeader& row);

 private:
  ProviderIndex thread_;
  ProviderIndex process_;
  ProviderIndex perf_info_;
  ProviderIndex manifest_;
};

}  // namespace etwpipe::activities

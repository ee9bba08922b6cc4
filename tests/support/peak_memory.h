// How much memory this process has had at its peak.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace etwpipe::test {

/// Largest resident set so far, in MiB.
inline int64_t PeakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace etwpipe::test

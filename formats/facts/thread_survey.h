// Fills the thread table from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/thread_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's thread records and names (all versions, etl-format.md 8.2), the starts and stops of
/// Microsoft-Windows-Kernel-Process, and, for threads of which none of these speaks, the pid and tid of record headers
/// and of StackWalk records. Sets a ThreadTable.
/// Bounds for hostile files; busy machines start some ten thousands of threads an hour. What is beyond or cut off is
/// counted (facts-dropped, fact-bad).
struct ThreadLimits {
  size_t records = 1 << 20;  ///< that tell of threads
  size_t uses = 1 << 18;     ///< events that change what is known of a thread
};
std::unique_ptr<Surveyor> MakeThreadSurveyor(const ThreadLimits& limits = {});

}  // namespace etwpipe::facts

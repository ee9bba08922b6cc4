// Fills the thread table from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/thread_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's thread records and names (all versions, etl-format.md 8.2), the starts and stops of
/// Microsoft-Windows-Kernel-Process, and, for threads of which none of these speaks, the pid and tid of record headers
/// and of StackWalk records. Sets a ThreadTable.
std::unique_ptr<Surveyor> MakeThreadSurveyor();

}  // namespace etwpipe::facts

// Fills the process table from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/process_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's process records (all versions, etl-format.md 8.1) and, for what they leave out, the starts, stops
/// and rundown of Microsoft-Windows-Kernel-Process. Sets a ProcessTable.
/// Keeps at most `max_records`, a bound for hostile files: busy machines start some thousands of processes an hour.
/// What is beyond or cut off is counted (facts-dropped, fact-bad).
std::unique_ptr<Surveyor> MakeProcessSurveyor(size_t max_records = 1 << 20);

}  // namespace etwpipe::facts

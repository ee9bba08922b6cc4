// Fills the process table from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/process_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's process records (all versions, etl-format.md 8.1) and, for what they leave out, the starts, stops
/// and rundown of Microsoft-Windows-Kernel-Process. Sets a ProcessTable.
std::unique_ptr<Surveyor> MakeProcessSurveyor();

}  // namespace etwpipe::facts

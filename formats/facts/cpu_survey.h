// Fills the state of the processors from the context switches of a trace.
#pragma once

#include <memory>

#include "formats/facts/cpu_state.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's CSwitch records (etl-format.md 8.2; not the compact ones of CTX_SWAP buffers). Sets a CpuState.
/// Switches beyond `max_switches` and records cut off are counted (facts-dropped, fact-bad).
std::unique_ptr<Surveyor> MakeCpuSurveyor(size_t max_switches = CpuState::kMaxSwitches);

}  // namespace etwpipe::facts

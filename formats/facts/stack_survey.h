// Fills the stack table from the records of a trace.
#pragma once

#include <cstddef>
#include <memory>

#include "formats/facts/stack_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Bounds for hostile and very long recordings: what is beyond is counted (stacks-dropped).
struct StackLimits {
  size_t records = size_t{1} << 24;  ///< of each kind, at most 48 bytes each while the survey runs
  size_t frames = size_t{1} << 26;   ///< of different stacks, 8 bytes each
};

/// Reads StackWalk records, CLR events with their CLRStackWalks (the four providers of semantics.md 6.1) and extended
/// items with match ids. Sets a StackTable.
std::unique_ptr<Surveyor> MakeStackSurveyor(const StackLimits& limits = {});

}  // namespace etwpipe::facts

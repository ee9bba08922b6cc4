// Fills the tables of the CLR from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/clr_table.h"
#include "formats/facts/method_table.h"
#include "formats/schema/clr_aliases.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Bounds for hostile files. A big recording has some millions of method records and some thousands of the others. What
/// is beyond is counted (facts-dropped), also names beyond StringPool::kMaxBytes.
struct MethodLimits {
  size_t methods = 1 << 24;   ///< records of methods
  size_t others = 1 << 20;    ///< of each of the others
  size_t rundowns = 1 << 16;  ///< by process, runtime and end of the session
  uint64_t name_bytes = StringPool::kMaxBytes;
};

/// Reads the runtime's and the rundown's method, loader and runtime events, manifest and classic form, all versions.
/// Sets a ClrTable and a MethodTable; uses the ProcessTable if it is there. Reports rundown that is incomplete, once
/// per process, runtime and end of the session, and counts records that make no sense (method-bad) or end too early
/// (method-bad for methods, fact-bad for the others), code that only its unload tells of (method-unload-only), and
/// loads more than 10 ms after the stop of their process (method-after-exit).
std::unique_ptr<Surveyor> MakeMethodSurveyor(schema::ClrIds ids, const MethodLimits& limits = {});

}  // namespace etwpipe::facts

// Fills the tables of the CLR from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/clr_table.h"
#include "formats/facts/method_table.h"
#include "formats/schema/clr_aliases.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the runtime's and the rundown's method, loader and runtime events, manifest and classic form, all versions.
/// Sets a ClrTable and a MethodTable; uses the ProcessTable if it is there. Reports rundown that is incomplete, once
/// per process, runtime and end of the session, and counts method records that make no sense.
std::unique_ptr<Surveyor> MakeMethodSurveyor(schema::ClrIds ids);

}  // namespace etwpipe::facts

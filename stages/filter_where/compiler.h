// Tree to program, for one trace.
#pragma once

#include "pipeline/trace_context.h"
#include "stages/filter_where/ast.h"
#include "stages/filter_where/program.h"

namespace etwpipe::where {

/// Compiles a tree that Check() accepted. Resolves providers to their numbers in `trace` and times to its ticks; the
/// program is good for rows of that trace only.
Program Compile(const Node& root, const TraceContext& trace);

}  // namespace etwpipe::where

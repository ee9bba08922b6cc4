// Names and types: what the grammar alone cannot say of an expression.
#pragma once

#include <string_view>

#include "pipeline/status.h"
#include "stages/filter_where/ast.h"

namespace etwpipe::where {

/// Resolves names, provider names, header names and times, checks that every operator has operands it can work on, and
/// folds constants: afterwards constants stand on the right of comparisons, and `a & b` used as a condition has become
/// (a & b) != 0. Errors point at the column in `source`, which `root` was parsed from.
Status Check(std::string_view source, NodePtr& root);

}  // namespace etwpipe::where

// Text to tree, by GRAMMAR.md. Knows the syntax only: names and types are the checker's.
#pragma once

#include <string_view>

#include "pipeline/status.h"
#include "stages/filter_where/ast.h"

namespace etwpipe::where {

/// Longest expression, bytes.
inline constexpr size_t kMaxExpressionBytes = 64 * 1024;
/// Deepest nesting of parentheses, `not` and unary operators.
inline constexpr int kMaxNesting = 200;

/// Parses a whole expression. Errors point at the column.
Result<NodePtr> ParseExpression(std::string_view source);

}  // namespace etwpipe::where

// Errors that point into the text of an expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/status.h"

namespace etwpipe::where {

/// An InvalidArgument that gives the column (1-based, in characters), the message, the line of `source` that byte
/// `offset` is on (cut to a window if long) and a caret below the place.
Status SourceError(std::string_view source, size_t offset, std::string_view message);

/// " (did you mean a, b or c?)", or nothing.
std::string DidYouMean(const std::vector<std::string>& names);

}  // namespace etwpipe::where

// Differences between the headers of two traces: told by `diff`, without deciding its answer.
#pragma once

#include <string>
#include <vector>

#include "pipeline/trace_context.h"

namespace etwpipe {

struct HeaderDifference {
  std::string field;
  std::string a;
  std::string b;
};

/// In a fixed order; the format (etl, etwp), file size and buffer counts are no differences.
std::vector<HeaderDifference> DiffHeaders(const TraceInfo& a, const TraceInfo& b);

/// True if some recording is a source of both.
bool ShareSource(const TraceInfo& a, const TraceInfo& b);

}  // namespace etwpipe

// Metadata of a trace in an archive.
#pragma once

#include <optional>
#include <string>

#include "pipeline/trace_context.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Writes all of `info`. Names of source files only with `keep_paths`.
void WriteTraceHeader(const TraceInfo& info, bool keep_paths, v1::TraceHeader& header);

/// Reads it back into `info`, whose format becomes "etwp" and whose file size is the caller's business. The text says
/// what makes no sense, empty if all does.
std::string ReadTraceHeader(const v1::TraceHeader& header, TraceInfo& info);

/// The body of the frame that starts a file and is repeated before the index: magic, versions, header.
void WriteHeaderFrame(const v1::TraceHeader& header, v1::Frame& frame);

}  // namespace etwpipe::etwp

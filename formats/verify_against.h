// Whether a trace holds everything of the one it was made from.
#pragma once

#include <memory>
#include <vector>

#include "formats/verify_finding.h"
#include "pipeline/platform.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"

namespace etwpipe {

/// VerifyArchive() or VerifyEtl(), by the file's content.
Result<std::vector<VerifyFinding>> VerifyStructure(const std::shared_ptr<InputFile>& file, int threads,
                                                   const CancelToken* cancel);

/// Compares `copy` with `original` and returns one finding per check, always in this order:
///
///   original-header   where events come from, and for an archive the log-file header record
///   original-events   every event: place in the order, id, timestamp, processor and all bytes of the record
///   original-buffers  every other byte of an .etl: buffer headers, pads, fill, damaged ranges
///
/// An error names the first difference. What the copy does not promise to hold (buffers, unless it is an exact archive)
/// is a note. Both files are read once or twice from end to end; memory does not grow with them. A Status only when a
/// file cannot be read at all, or on cancellation. `cancel` may be null.
Result<std::vector<VerifyFinding>> VerifyAgainst(const std::shared_ptr<InputFile>& copy,
                                                 const std::shared_ptr<InputFile>& original, int threads,
                                                 const CancelToken* cancel);

}  // namespace etwpipe

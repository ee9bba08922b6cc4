// Checks an archive from end to end.
#pragma once

#include <memory>
#include <vector>

#include "formats/etwp/archive.h"
#include "formats/verify_finding.h"
#include "pipeline/platform.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"

namespace etwpipe::etwp {

/// Reads the whole file, decodes every block, and returns one finding per check, always the same checks in the same
/// order: end, frames, header, dictionary, blocks, index, ids, counts, statistics, restore. `cancel` may be null.
/// kInput if the file is no archive or was written for newer readers. `threads` is the most that may be used.
Result<std::vector<VerifyFinding>> VerifyArchive(const std::shared_ptr<InputFile>& file, int threads,
                                                 const CancelToken* cancel);

}  // namespace etwpipe::etwp

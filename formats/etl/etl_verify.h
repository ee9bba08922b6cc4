// Structural check of an .etl file (etl-format.md sections 1, 5, 9.4).
#pragma once

#include <memory>
#include <vector>

#include "formats/verify_finding.h"
#include "pipeline/platform.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"

namespace etwpipe::etl {

/// Reads the whole file and returns one finding per check, in a fixed order. What a foreign writer may do otherwise is
/// a note, and an error in files that carry our id map; so is a step back in time, except where the recording that the
/// file was made from steps back as well. kInput if the file is no .etl at all.
Result<std::vector<VerifyFinding>> VerifyEtl(std::shared_ptr<InputFile> file, int threads, const CancelToken* cancel);

}  // namespace etwpipe::etl

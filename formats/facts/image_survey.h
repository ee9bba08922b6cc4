// Fills the image table from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/image_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's image records (all versions, etl-format.md 8.3), image loads and unloads of
/// Microsoft-Windows-Kernel-Process, and what a merge adds: ImageID, VolumeMapping, SystemPaths (4.4). Needs the
/// ProcessTable. Sets an ImageTable, and the ProcessTable anew with the paths of the processes' images.
std::unique_ptr<Surveyor> MakeImageSurveyor();

}  // namespace etwpipe::facts

// Fills the image table from the records of a trace.
#pragma once

#include <memory>

#include "formats/facts/image_table.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Reads the kernel's image records (all versions, etl-format.md 8.3), image loads and unloads of
/// Microsoft-Windows-Kernel-Process, and what a merge adds: ImageID, VolumeMapping, SystemPaths (4.4). Needs the
/// ProcessTable. Sets an ImageTable, and the ProcessTable anew with the paths of the processes' images.
/// Bounds for hostile files; a busy machine's rundown tells of some ten thousands of images. What is beyond or cut off
/// is counted (facts-dropped, fact-bad).
struct ImageLimits {
  size_t records = 1 << 20;       ///< of images; as many that name symbols
  size_t name_bytes = 256 << 20;  ///< of all names; those beyond stay empty
};
std::unique_ptr<Surveyor> MakeImageSurveyor(const ImageLimits& limits = {});

}  // namespace etwpipe::facts

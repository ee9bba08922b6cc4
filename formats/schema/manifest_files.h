// Schemas from files that the user has: --manifest FILE|DIR and the folders of ETWPIPE_MANIFEST_PATH.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/schema/event_schema.h"
#include "pipeline/status.h"

namespace etwpipe::schema {

struct ManifestFiles {
  /// Origin kManifestFile, in the order of the files: of two for one event the first is the one to use.
  std::vector<std::shared_ptr<const EventSchema>> schemas;
  std::vector<std::string> problems;  ///< sentences, each with the name of its file
};

/// Reads the files of `paths`, then the folders of `environment` (separated by colons, null or empty: none). A path is
/// an instrumentation manifest, or schemas as text if it ends in .schema, or a folder, of which *.man, *.xml and
/// *.schema are read in the order of their names. A named file or folder that is missing or is no such thing is an
/// InvalidArgument that names it; what is wrong in a folder, or with a folder of `environment`, is a problem.
Result<ManifestFiles> LoadManifestFiles(const std::vector<std::string>& paths, const char* environment);

}  // namespace etwpipe::schema

// The surveyors for facts that have to do with schemas: what an Execute() that decodes events needs.
#pragma once

#include <string>
#include <vector>

#include "pipeline/survey.h"

namespace etwpipe::schema {

/// Where schemas come from beside the trace and the program.
struct SchemaSources {
  std::vector<std::string> manifests;  ///< files and folders (manifest_files.h)
};

/// Reads the manifests now; an error names the file. The surveyors set a SchemaRegistry and a ProcessTable, as asked.
Result<SurveyorFactory> MakeSurveyorFactory(const SchemaSources& sources);

}  // namespace etwpipe::schema

// The surveyors for all facts: what an Execute() that decodes or names events needs.
#pragma once

#include <string>
#include <vector>

#include "formats/schema/clr_aliases.h"
#include "pipeline/survey.h"

namespace etwpipe::facts {

/// Where schemas come from beside the trace and the program.
struct SchemaSources {
  std::vector<std::string> manifests;  ///< files and folders (manifest_files.h)
  std::string environment;             ///< folders, separated by colons: ETWPIPE_MANIFEST_PATH
  schema::ClrIds clr_ids = schema::ClrIds::kSafe;
};

struct Surveyors {
  SurveyorFactory factory;
  std::vector<std::string> problems;  ///< sentences about the files, each with the name of its file
};

/// Reads the manifests now; an error names the file. The surveyors set a SchemaRegistry, a ProcessTable, a ThreadTable,
/// a CpuState, an ImageTable, a ClrTable, a MethodTable and a StackTable, as asked.
Result<Surveyors> MakeSurveyors(const SchemaSources& sources);

}  // namespace etwpipe::facts

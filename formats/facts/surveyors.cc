#include "formats/facts/surveyors.h"

#include <utility>

#include "formats/facts/cpu_survey.h"
#include "formats/facts/image_survey.h"
#include "formats/facts/method_survey.h"
#include "formats/facts/process_survey.h"
#include "formats/facts/stack_survey.h"
#include "formats/facts/thread_survey.h"
#include "formats/facts/type_survey.h"
#include "formats/schema/listed_schemas.h"
#include "formats/schema/manifest_files.h"
#include "formats/schema/schema_survey.h"

namespace etwpipe::facts {

Result<Surveyors> MakeSurveyors(const SchemaSources& sources) {
  auto files = schema::LoadManifestFiles(sources.manifests, sources.environment.c_str());
  if (!files.ok()) return files.status();
  auto list = std::make_shared<schema::ListedSchemas>();
  // Of two for one event the first is the one to use.
  for (auto schema = files->schemas.rbegin(); schema != files->schemas.rend(); ++schema) list->Add(*schema);
  Surveyors surveyors;
  surveyors.problems = std::move(files->problems);
  surveyors.factory = [list, clr_ids = sources.clr_ids](FactSet facts) {
    std::vector<std::unique_ptr<Surveyor>> made;
    const auto wants = [&](Fact fact) { return (facts & fact) != 0; };
    // Tables finish in this order: each may use those before it.
    if (wants(kSchemas)) made.push_back(schema::MakeSchemaSurveyor(list, clr_ids));
    if (wants(kProcesses) || wants(kImages) || wants(kMethods)) made.push_back(MakeProcessSurveyor());
    if (wants(kThreads)) made.push_back(MakeThreadSurveyor());
    if (wants(kCpuState)) made.push_back(MakeCpuSurveyor());
    if (wants(kImages)) made.push_back(MakeImageSurveyor());
    if (wants(kTypes)) made.push_back(MakeTypeSurveyor());
    if (wants(kMethods)) made.push_back(MakeMethodSurveyor(clr_ids));
    if (wants(kStacks)) made.push_back(MakeStackSurveyor());
    return made;
  };
  return surveyors;
}

}  // namespace etwpipe::facts

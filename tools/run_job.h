// One input into one output: what `run` does for each file.
#pragma once

#include <string>

#include "pipeline/plan.h"
#include "pipeline/progress.h"
#include "pipeline/registry.h"
#include "pipeline/source.h"
#include "pipeline/survey.h"
#include "tools/output_choice.h"
#include "tools/run_report.h"

namespace etwpipe {

/// What all files of a run have in common.
struct RunSettings {
  const v1::PipelineConfig& config;
  const Registry& registry;
  const SurveyorFactory& surveyors;
  std::string spool_dir;
  int threads = 1;  ///< of one file
  bool verify = false;
  bool check_all = false;  ///< also what is not needed of an archive, for damage
  bool drop_annotations = false;
  bool notes = true;     ///< print notes to standard error
  bool progress = true;  ///< show a progress line where there is a terminal
};

struct RunOutcome {
  RunReport report;
  TraceInfo info;  ///< of the input
};

/// The plan of a config, with what `output` needs behind its stages.
Result<Plan> PlanFor(const v1::PipelineConfig& config, const Registry& registry, const OutputOptions& output);

/// Opens the input, as a run into `output` would; nothing is read of its events.
Result<std::unique_ptr<Source>> OpenForRun(const RunSettings& settings, const std::string& input,
                                           const OutputOptions& output, const Plan& plan, Diagnostics* diagnostics,
                                           const CancelToken& cancel);

/// Runs `input` into `output` (after its Check()), by the plan of the settings or, out of an exact archive without
/// stages, back into its original.
Result<RunOutcome> RunJob(const RunSettings& settings, const std::string& input, const OutputOptions& output,
                          const CancelToken& cancel);

}  // namespace etwpipe

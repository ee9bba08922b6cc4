// A configuration turned into validated passes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/registry.h"
#include "pipeline/stage.h"
#include "proto/pipeline_config.pb.h"

namespace etwpipe {

/// One step of a plan.
struct PlannedStage {
  std::string label;    ///< no two stages of a plan have the same
  std::string options;  ///< its options message in text format, on one line
  std::unique_ptr<Stage> stage;
};

/// Stages ready to run, and what follows from what they declare.
struct Plan {
  std::vector<PlannedStage> stages;
  Order order = Order::kPerCpu;  ///< strongest order a stage needs
  FactSet facts = kNoFacts;      ///< fact tables its stages read
  int analysis_passes = 0;
  bool drops = false;
  bool rewrites = false;
  std::vector<AnnotationInfo> annotations;

  /// Adds a stage of the program's own behind those of the configuration.
  void Append(std::unique_ptr<Stage> stage);
  /// Stable text for --dry-run.
  std::string ToText() const;
};

/// Checks a configuration and makes its stages. Errors name the stage, and near names for an unknown one.
Result<Plan> MakePlan(const v1::PipelineConfig& config, const Registry& registry);

/// Reads text format, or JSON if the text begins with a brace. `name` is used in errors, which give line and column.
Result<v1::PipelineConfig> ParseConfig(std::string_view text, std::string_view name);

/// The canonical text form: what --print-config prints.
std::string PrintConfig(const v1::PipelineConfig& config);

/// Builds a StageConfig from `NAME[:option=value[,option=value]...]` (design.md section 9). Errors name the option.
Result<v1::StageConfig> ParseStageArgument(std::string_view argument, const Registry& registry);

/// A StageConfig for `name` with its main option set to `value`: what --where and --time build.
Result<v1::StageConfig> MakeStageConfig(std::string_view name, std::string_view value, const Registry& registry);

}  // namespace etwpipe

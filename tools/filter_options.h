// --where and --time: filters that need no --stage.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>
#include <vector>

#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "pipeline/status.h"

namespace etwpipe {

struct FilterOptions {
  std::vector<std::string> times;
  std::vector<std::string> wheres;

  void Add(boost::program_options::options_description& options);
  /// Appends what was asked: first --time, then --where.
  Status AppendTo(v1::PipelineConfig& config, const Registry& registry) const;
  /// A plan of nothing but these.
  Result<Plan> MakePlan(const Registry& registry) const;
};

}  // namespace etwpipe

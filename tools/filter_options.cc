#include "tools/filter_options.h"

#include <boost/program_options/value_semantic.hpp>

namespace etwpipe {
namespace {

namespace po = boost::program_options;

Status Append(std::string_view stage, const std::vector<std::string>& values, const Registry& registry,
              v1::PipelineConfig& config) {
  for (const auto& value : values) {
    auto made = MakeStageConfig(stage, value, registry);
    if (!made.ok()) return made.status();
    *config.add_stages() = std::move(*made);
  }
  return {};
}

}  // namespace

void FilterOptions::Add(po::options_description& options) {
  options.add_options()  //
      ("where", po::value(&wheres)->value_name("EXPR"),
       "keep events that EXPR is true for: 'pid == 4 and size > 90'")  //
      ("time", po::value(&times)->value_name("FROM..TO"),
       "keep events of a range of time: 10s..20s after the start, ISO times, or raw ticks as ticks:N; what tells of "
       "processes, threads, images and methods stays in any case");
}

Status FilterOptions::AppendTo(v1::PipelineConfig& config, const Registry& registry) const {
  ETWPIPE_RETURN_IF_ERROR(Append("filter.time", times, registry, config));
  return Append("filter.where", wheres, registry, config);
}

Result<Plan> FilterOptions::MakePlan(const Registry& registry) const {
  v1::PipelineConfig config;
  ETWPIPE_RETURN_IF_ERROR(AppendTo(config, registry));
  return etwpipe::MakePlan(config, registry);
}

}  // namespace etwpipe

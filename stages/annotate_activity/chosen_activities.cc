#include "stages/annotate_activity/chosen_activities.h"

#include <fmt/format.h>

#include <utility>

#include "formats/activities/activity_table.h"

namespace etwpipe {

Result<ChosenActivities> ChooseActivities(const v1::AnnotateActivityOptions& options) {
  ChosenActivities chosen;
  activities::ActivityOptions& walk = chosen.walk;
  if (!options.kinds().empty()) walk.kinds = 0;
  for (const std::string& name : options.kinds()) {
    const auto kind = activities::KindFromText(name);
    if (!kind) {
      return Status::InvalidArgument(
          fmt::format("option kinds: no kind \"{}\"; there are app, clr, buildinsights, rules, process, thread", name));
    }
    walk.kinds = static_cast<activities::KindSet>(walk.kinds | activities::BitOf(*kind));
  }
  if (options.division() == v1::AnnotateActivityOptions::DIVISION_ROOTS) {
    walk.division = activities::DivisionRule::kRoots;
  }
  walk.sampled_cpu = options.cpu() == v1::AnnotateActivityOptions::CPU_SAMPLES;
  auto rules = RulePairs::Parse(options.rule());
  if (!rules.ok()) return rules.status();
  chosen.rules = std::move(*rules);
  if (!chosen.rules->empty()) walk.rules = chosen.rules.get();
  chosen.facts = static_cast<FactSet>(activities::kWalkFacts | chosen.rules->facts());
  return chosen;
}

}  // namespace etwpipe

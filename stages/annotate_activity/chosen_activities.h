// What counts as an activity, as options say it: for the stage and for reports.
#pragma once

#include <memory>

#include "formats/activities/activity_walk.h"
#include "pipeline/status.h"
#include "stages/annotate_activity/declared_pairs.h"
#include "stages/annotate_activity/options.pb.h"

namespace etwpipe {

struct ChosenActivities {
  activities::ActivityOptions walk;  ///< its rules are those below
  std::unique_ptr<RulePairs> rules;  ///< to be bound before the first walk
  FactSet facts = kNoFacts;          ///< what must be known before
};

/// An error names the option and what is allowed.
Result<ChosenActivities> ChooseActivities(const v1::AnnotateActivityOptions& options);

}  // namespace etwpipe

// Counting the events of one input, by reading them or by what an archive says of them.
#pragma once

#include <memory>
#include <string>

#include "pipeline/diagnostics.h"
#include "pipeline/progress.h"
#include "pipeline/source.h"
#include "tools/common_options.h"
#include "tools/event_counts.h"

namespace etwpipe {

struct CountEventsArgs {
  const std::string& path;
  CountBy by = CountBy::kKind;
  const ReadOptions& options;
  bool whole = false;      ///< reads the events of an archive too
  bool check_all = false;  ///< also what is not needed of an archive, for damage
  const CancelToken& cancel;
  Diagnostics* diagnostics = nullptr;  ///< null: count nothing
  SurveyorFactory surveyors = nullptr;
};

/// Opens `path` and fills `counts`. The source is returned, since counts refer to its facts.
Result<std::unique_ptr<Source>> CountEvents(const CountEventsArgs& args, EventCounts& counts);

}  // namespace etwpipe

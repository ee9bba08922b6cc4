// Reading one input from end to end, for the commands that only look.
#pragma once

#include <memory>
#include <string>

#include "pipeline/diagnostics.h"
#include "pipeline/executor.h"
#include "pipeline/plan.h"
#include "pipeline/progress.h"
#include "pipeline/sink.h"
#include "pipeline/source.h"
#include "tools/common_options.h"

namespace etwpipe {

struct ReadTraceArgs {
  const std::string& path;
  const ReadOptions& options;
  Sink& sink;
  const CancelToken& cancel;
  Diagnostics* diagnostics = nullptr;  ///< null: count nothing
  Plan* plan = nullptr;                ///< null: no stage
  bool show_carriers = false;
  bool check_all = false;               ///< also what is not needed of an archive, for damage
  SurveyorFactory surveyors = nullptr;  ///< for facts that plan or sink need
};

/// Opens `path` and runs it into the sink. The source is returned, since the sink's results refer to its context.
Result<std::unique_ptr<Source>> ReadTrace(const ReadTraceArgs& args);

}  // namespace etwpipe

// Runs a plan: passes over a source, stages over batches, into a sink.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/diagnostics.h"
#include "pipeline/plan.h"
#include "pipeline/progress.h"
#include "pipeline/sink.h"
#include "pipeline/source.h"
#include "pipeline/survey.h"

namespace etwpipe {

struct StageSummary {
  std::string label{};
  uint64_t events_in = 0;
  uint64_t events_dropped = 0;
  std::vector<StageCount> counts{};
};

struct RunSummary {
  uint64_t events_in = 0;        ///< events the source gave in the transform pass
  uint64_t events_out = 0;       ///< events that reached the sink
  uint64_t events_injected = 0;  ///< of these, events that stages made
  std::vector<StageSummary> stages;
};

struct ExecuteArgs {
  Source& source;
  Plan& plan;
  Sink& sink;
  /// Threads in all, the caller's included. 1 runs everything in the caller. Outputs do not depend on it.
  int threads = 1;
  Diagnostics* diagnostics = nullptr;
  ProgressListener* progress = nullptr;
  const CancelToken* cancel = nullptr;
  /// Asked for surveyors of what plan and sink need; no survey takes place without it.
  SurveyorFactory surveyors = nullptr;
};

/// Runs the survey if facts are needed, then the analysis passes, then the transform pass. On an error the one of the
/// lowest batch sequence is returned, the same for any number of threads, and the sink is not finished.
Result<RunSummary> Execute(const ExecuteArgs& args);

/// For readers: runs `source` into `sink` with no stage.
Result<RunSummary> Execute(Source& source, Sink& sink, int threads, Diagnostics* diagnostics,
                           const CancelToken* cancel = nullptr);

}  // namespace etwpipe

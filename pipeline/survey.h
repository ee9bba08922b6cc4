// The pass before all others: collects facts that may stand anywhere in a trace (design.md section 6).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pipeline/batch.h"
#include "pipeline/diagnostics.h"
#include "pipeline/facts.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// Collects one kind of facts. One thread at a time. Where a sink reads facts at the end only, the transform pass
/// itself is the survey.
class Surveyor {
 public:
  Surveyor() = default;
  Surveyor(const Surveyor&) = delete;
  Surveyor& operator=(const Surveyor&) = delete;
  virtual ~Surveyor() = default;

  /// Sees every batch of the unfiltered input, events of one processor in their order, processors in any fixed order.
  virtual Status Observe(const EventBatch& batch, const TraceContext& trace) = 0;
  /// After the last batch: puts its table into `trace.facts`. `diagnostics` may be null.
  virtual Status Finish(const TraceContext& trace, Diagnostics* diagnostics) = 0;
};

/// Makes the surveyors for a set of facts, in the order in which they shall finish.
using SurveyorFactory = std::function<std::vector<std::unique_ptr<Surveyor>>(FactSet facts)>;

}  // namespace etwpipe

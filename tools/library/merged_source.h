// A trace and events injected into it as one source.
#pragma once

#include <memory>

#include "pipeline/source.h"

namespace etwpipe::session {

/// Gives the events of `trace` in the order of time and the injected ones between them, each behind all records whose
/// timestamp is not above its own. Records of a processor keep their order. Annotations are left out.
class MergedSource : public Source {
 public:
  /// `injected` by time, instance ids 0. `trace` outlives it.
  MergedSource(Source& trace, std::shared_ptr<const EventBatch> injected)
      : trace_(trace), injected_(std::move(injected)) {}

  const TraceContext& context() const override { return trace_.context(); }
  /// Diagnostics are not counted: passes before did.
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override;

 private:
  Source& trace_;
  std::shared_ptr<const EventBatch> injected_;
};

}  // namespace etwpipe::session

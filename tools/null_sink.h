// Where events end for whom their stages are enough.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/sink.h"

namespace etwpipe {

class NullSink final : public Sink {
 public:
  SinkInfo info() const override { return {}; }
  Status Begin(const BeginArgs&) override { return {}; }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch&) const override { return std::make_unique<SinkChunk>(); }
  Status Cut(std::unique_ptr<SinkChunk>, std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }
};

}  // namespace etwpipe

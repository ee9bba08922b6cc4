// Where events go. Four steps, so that the dear ones run on all cores and the output is the same for any number.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "pipeline/batch.h"
#include "pipeline/diagnostics.h"
#include "pipeline/facts.h"
#include "pipeline/source.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// What Prepare() hands to Cut(); what Cut() hands to Encode() and Write(). Each sink derives its own.
class SinkChunk {
 public:
  virtual ~SinkChunk() = default;
};
class SinkBlock {
 public:
  virtual ~SinkBlock() = default;
};

struct SinkInfo {
  Order order = Order::kTime;  ///< order in which it wants events
  bool stores_annotations = false;
  FactSet facts = kNoFacts;   ///< fact tables it reads
  bool facts_at_end = false;  ///< it reads them in Finish() only: they can be collected while it runs
  uint32_t block_bytes = 0;   ///< of events that it gathers for a block, about; 0 if it takes batch by batch
};

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual SinkInfo info() const = 0;

  struct BeginArgs {
    const TraceContext& trace;
    bool drops = false;                       ///< some stage may drop events
    bool rewrites = false;                    ///< some stage may rewrite or inject
    std::vector<AnnotationInfo> annotations;  ///< columns that stages produce
    Diagnostics* diagnostics;                 ///< of the run; outlives the sink's work
  };
  /// Before the first batch.
  virtual Status Begin(const BeginArgs& args) = 0;
  /// Takes what it needs of the selected rows; the batch is gone afterwards. Pins that the chunk keeps hold the bytes
  /// of the source, not the arena. Any thread.
  virtual Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const = 0;
  /// Adds a chunk, in sequence, one at a time; appends the blocks that are complete. Cheap: no compression, no I/O.
  virtual Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) = 0;
  /// After the last chunk: the blocks that remain.
  virtual Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>& blocks) = 0;
  /// Compresses a block. Any thread, several blocks at once.
  virtual Status Encode(SinkBlock& block) const = 0;
  /// Writes an encoded block, in the order Cut() made them, one at a time.
  virtual Status Write(SinkBlock& block) = 0;
  /// Completes the output: under its final name only if this returns ok. Not called when the run failed.
  virtual Status Finish() = 0;

  /// Bytes written so far; 0 for sinks that print.
  virtual uint64_t bytes_written() const { return 0; }
};

}  // namespace etwpipe

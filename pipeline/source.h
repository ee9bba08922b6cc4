// Where events come from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "pipeline/batch.h"
#include "pipeline/diagnostics.h"
#include "pipeline/event_group.h"
#include "pipeline/status.h"
#include "pipeline/trace_context.h"

namespace etwpipe {

/// How much order a consumer needs; each includes the ones before it.
enum class Order : uint8_t {
  kPerCpu,  ///< events of one processor in their order; buffers of different processors in any fixed order
  kTime,    ///< the total order of design.md section 7
};

/// One walk over the input.
class SourcePass {
 public:
  SourcePass() = default;
  SourcePass(const SourcePass&) = delete;
  SourcePass& operator=(const SourcePass&) = delete;
  virtual ~SourcePass() = default;

  /// Puts the next events into an empty batch; false at the end. One thread at a time, in sequence. May leave row
  /// details to Fill().
  virtual Result<bool> Next(EventBatch& batch) = 0;
  /// Completes the rows of a batch that Next() made, selects them all. Any thread, batches in any order.
  virtual Status Fill(EventBatch& batch) const = 0;
  /// Bytes of the input consumed so far.
  virtual uint64_t bytes_done() const = 0;
  /// Events of the groups that were passed over so far.
  virtual uint64_t events_skipped() const { return 0; }
};

/// An opened input. Passes may follow one another, each from the beginning.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// Metadata; providers are added while passes run.
  virtual const TraceContext& context() const = 0;

  struct PassArgs {
    Order order = Order::kTime;
    /// Threads that may work ahead; 1 means everything happens inside Next() and Fill().
    int threads = 1;
    Diagnostics* diagnostics = nullptr;  ///< null: count nothing (a repeated pass)
    /// True for groups of which no event is needed. A source with an index asks before it reads, from one thread at a
    /// time, and passes over them. May be empty.
    std::function<bool(const EventGroup&)> skip{};
  };
  virtual Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) = 0;
};

}  // namespace etwpipe

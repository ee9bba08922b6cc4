// Keeps injected events behind every record of their timestamp and processor, also where a batch ends between them.
#pragma once

#include <cstdint>
#include <map>

#include "pipeline/batch.h"
#include "pipeline/source.h"

namespace etwpipe {

/// A stage places what it injects within its batch (EventBatch::Inject); the next batch may go on with records of the
/// same timestamp and processor. So injected events that end a batch are held back until it is there, and stand behind
/// those records then. Batches in sequence, one at a time; what comes out does not depend on threads.
class InjectedTail {
 public:
  /// `order` is that of the pass: in per-CPU order a batch without the processor of what is held decides nothing.
  explicit InjectedTail(Order order) : order_(order) {}

  /// Puts what was held into `batch`, in front of what this batch holds of its own, and holds its end back. Rows whose
  /// instance id is given count as records. A batch that gets some is no longer part of a buffer.
  void Settle(EventBatch& batch);
  /// After the last batch: fills an empty batch with what is still held; false if there is nothing more.
  bool Flush(EventBatch& batch);

  /// Events held at once of one processor; what is beyond, in a file of one timestamp, stands where its stage put it.
  static constexpr size_t kMaxHeld = 16 * 1024;

 private:
  void PutInto(EventBatch& batch, EventBatch& held) const;

  Order order_;
  std::map<uint16_t, EventBatch> held_;  // by processor; in the order of time at most one has rows
};

}  // namespace etwpipe

// One line on a terminal that says how far a run is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pipeline/progress.h"

namespace etwpipe {

/// Rewrites its line on standard error a few times a second; prints nothing where that is no terminal or `quiet`.
class ProgressLine final : public ProgressListener {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() override;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void OnProgress(const Report& report) override;
  /// Bytes of the input that were done at the last report.
  uint64_t bytes_done() const { return bytes_done_; }
  /// Wipes the line, so that other output starts clean.
  void Clear();

 private:
  bool shown_;
  double started_;
  double last_shown_ = 0;
  uint64_t bytes_done_ = 0;
  size_t width_ = 0;  // of what stands there now
};

}  // namespace etwpipe

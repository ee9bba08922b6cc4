// Progress and cancellation: two small things passed into long calls.
#pragma once

#include <atomic>
#include <cstdint>

namespace etwpipe {

/// Set from a signal handler or another thread; long loops look once per batch.
class CancelToken {
 public:
  void Cancel(int signal = 2) { signal_.store(signal == 0 ? 2 : signal, std::memory_order_relaxed); }
  bool cancelled() const { return signal_.load(std::memory_order_relaxed) != 0; }
  /// Number of the signal that asked, 0 if none did.
  int signal() const { return signal_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> signal_{0};
};

/// Told how far a pass is; called from one thread at a time, once per batch.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  struct Report {
    uint64_t bytes_done = 0;  ///< of the input
    uint64_t bytes_total = 0;
    uint64_t events_done = 0;
  };
  virtual void OnProgress(const Report& report) = 0;
};

}  // namespace etwpipe

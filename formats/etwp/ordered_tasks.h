// Work that is begun in order, done by any thread, and taken back in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace etwpipe::etwp {

/// At most as many tasks are on their way as there are threads; with one thread each is worked on by whoever takes it.
/// One caller at a time. Tasks are used again, with the memory they hold.
template <typename Task>
class OrderedTasks {
 public:
  explicit OrderedTasks(int threads) : threads_(static_cast<size_t>(std::max(1, threads))) {}

  /// A task to fill: one given back, as it is, or a new one.
  std::unique_ptr<Task> Spare() {
    if (spare_.empty()) return std::make_unique<Task>();
    auto task = std::move(spare_.back());
    spare_.pop_back();
    return task;
  }
  void GiveBack(std::unique_ptr<Task> task) { spare_.push_back(std::move(task)); }

  /// Begins `work(*task)` in the background; what is not `costly` waits for whoever takes it.
  template <typename Work>
  void Begin(std::unique_ptr<Task> task, Work work, bool costly = true) {
    // Both policies together: where no more threads can be had, the caller does the work.
    const auto policy = threads_ > 1 && costly ? std::launch::async | std::launch::deferred : std::launch::deferred;
    begun_.push_back(std::async(policy, [task = std::move(task), work]() mutable {
      work(*task);
      return std::move(task);
    }));
  }
  bool full() const { return begun_.size() >= threads_; }
  bool empty() const { return begun_.empty(); }
  /// The first that was begun, done. Not if empty().
  std::unique_ptr<Task> Take() {
    auto task = begun_.front().get();
    begun_.pop_front();
    return task;
  }

 private:
  size_t threads_;
  std::deque<std::future<std::unique_ptr<Task>>> begun_;
  std::vector<std::unique_ptr<Task>> spare_;
};

}  // namespace etwpipe::etwp

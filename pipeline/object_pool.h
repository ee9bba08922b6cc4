// Objects that are dear to make and not for two threads at once, kept for the next who needs one.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace etwpipe {

/// Any thread may take and give. What is given back may be handed out again as it is.
template <typename T>
class ObjectPool {
 public:
  /// An object that somebody gave back, or a new one from `make()`, which returns a unique_ptr.
  template <typename Make>
  std::unique_ptr<T> Take(Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto object = std::move(free_.back());
        free_.pop_back();
        return object;
      }
    }
    return make();
  }
  void Give(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(object));
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    free_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace etwpipe

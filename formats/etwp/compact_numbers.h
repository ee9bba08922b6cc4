// Numbers of a column while a block is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace etwpipe::etwp {

/// A list of numbers that takes four bytes for each as long as all fit, which is what most columns need.
class CompactNumbers {
 public:
  void Add(uint64_t number) {
    if (wide_.empty()) {
      if (number <= std::numeric_limits<uint32_t>::max()) {
        narrow_.push_back(static_cast<uint32_t>(number));
        return;
      }
      wide_.reserve(narrow_.capacity() + 1);
      wide_.assign(narrow_.begin(), narrow_.end());
      narrow_ = {};
    }
    wide_.push_back(number);
  }
  uint64_t operator[](size_t index) const { return wide_.empty() ? narrow_[index] : wide_[index]; }
  size_t size() const { return wide_.empty() ? narrow_.size() : wide_.size(); }
  bool empty() const { return size() == 0; }
  void Reserve(size_t count) { narrow_.reserve(count); }

 private:
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;  // in place of narrow_ once a number needs it
};

}  // namespace etwpipe::etwp

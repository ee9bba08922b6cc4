// A list that does not grow with the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etwpipe::tracegen {

/// Keeps its first kLimit entries and counts the rest, so that memory does not grow with the trace.
template <typename T>
class BoundedList {
 public:
  static constexpr size_t kLimit = 20'000;
  static constexpr uint32_t kNotKept = 0xFFFFFFFF;

  /// Number to find the entry by, or kNotKept.
  uint32_t Add(T entry) {
    ++total_;
    if (full()) return kNotKept;
    entries_.push_back(std::move(entry));
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  /// For the few that must not be missing, also when the list is full.
  uint32_t AddAlways(T entry) {
    ++total_;
    entries_.push_back(std::move(entry));
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  bool full() const { return entries_.size() >= kLimit; }
  /// Counts one that is not kept.
  void AddUnkept() { ++total_; }
  /// Null for kNotKept.
  T* Find(uint32_t number) { return number == kNotKept ? nullptr : &entries_[number]; }
  const std::vector<T>& entries() const { return entries_; }
  std::vector<T>& entries() { return entries_; }
  uint64_t total() const { return total_; }

 private:
  std::vector<T> entries_;
  uint64_t total_ = 0;
};

}  // namespace etwpipe::tracegen

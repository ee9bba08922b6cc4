// How often bytes occur, and how many bits they take at least.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etwpipe::etwp {

/// Counts bytes; its cost goes with their number alone, so that short columns cost little.
class ByteCounts {
 public:
  void Add(uint8_t byte) {
    if (counts_[byte]++ == 0) seen_[distinct_++] = byte;
  }
  /// Bits that an ideal coder of single bytes takes for the `total` bytes that were added. Starts anew.
  double TakeBits(size_t total) {
    double bits = TimesLog(total);
    for (size_t i = 0; i < distinct_; ++i) bits -= TimesLog(std::exchange(counts_[seen_[i]], 0));
    distinct_ = 0;
    return bits;
  }

 private:
  // n * log2(n)
  static double TimesLog(size_t n) {
    static const std::vector<double> known = [] {
      std::vector<double> made(4097);
      for (size_t i = 2; i < made.size(); ++i) made[i] = static_cast<double>(i) * std::log2(static_cast<double>(i));
      return made;
    }();
    return n < known.size() ? known[n] : static_cast<double>(n) * std::log2(static_cast<double>(n));
  }

  std::array<uint32_t, 256> counts_{};
  std::array<uint8_t, 256> seen_{};
  size_t distinct_ = 0;
};

}  // namespace etwpipe::etwp

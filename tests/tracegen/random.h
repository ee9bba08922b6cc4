// Pseudo-random numbers that are the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pipeline/byte_reader.h"
#include "pipeline/guid.h"

namespace etwpipe::tracegen {

/// xoshiro256** (public domain, Blackman and Vigna), seeded by splitmix64. Two uses in one expression are the same for
/// every compiler only where C++ orders them: not as arguments of one function and not around an operator.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15;
      uint64_t mixed = seed;
      mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
      mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
      word = mixed ^ mixed >> 31;
    }
  }

  uint64_t Next() {
    const uint64_t result = Rotate(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }
  uint32_t Next32() { return static_cast<uint32_t>(Next() >> 32); }

  /// 0 .. limit - 1; limit at least 1.
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>((Next() >> 32) * limit >> 32); }
  size_t Index(size_t count) { return Below(static_cast<uint32_t>(count)); }
  /// low .. high, both included.
  int64_t Between(int64_t low, int64_t high) { return low + Below(static_cast<uint32_t>(high - low + 1)); }
  bool Chance(uint32_t percent) { return Below(100) < percent; }
  /// Small numbers often, large ones rarely: 0 .. limit - 1.
  uint32_t Skewed(uint32_t limit) { return Below(Below(limit) + 1); }

  template <typename Container>
  auto& Pick(Container& container) {
    return container[Index(container.size())];
  }

  Guid NextGuid() {
    Guid guid;
    StoreAt(guid.bytes.data(), 0, Next());
    StoreAt(guid.bytes.data(), 8, Next());
    guid.bytes[7] = (guid.bytes[7] & std::byte{0x0F}) | std::byte{0x40};
    guid.bytes[8] = (guid.bytes[8] & std::byte{0x3F}) | std::byte{0x80};
    return guid;
  }

 private:
  static uint64_t Rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }
  std::array<uint64_t, 4> state_;
};

}  // namespace etwpipe::tracegen

// Stack keys: the kernel writes a stack once and a key to it many times (etl-format.md 8.5).
#pragma once

#include <cstdint>
#include <vector>

#include "formats/facts/stack_pool.h"

namespace etwpipe::facts {

/// A record that says what a key stands for.
struct StackDefinition {
  enum class Kind : uint8_t {
    kCreate,   ///< valid from here
    kDelete,   ///< valid up to here
    kRundown,  ///< valid before and after
  };
  uint64_t key = 0;
  int64_t time = 0;  ///< raw ticks
  StackId stack = kNoStack;
  Kind kind = Kind::kRundown;
};

/// Keys are addresses in a pool, so that they are used again; definitions may come after uses. Immutable.
class StackKeys {
 public:
  StackKeys() = default;
  /// In any order; those of one key at one time in the order in which they were written.
  explicit StackKeys(std::vector<StackDefinition> definitions);

  /// The stack of a key that was used at `time`: a life of a key ends with its Delete or before the next Create, and
  /// any record of that life tells its stack. kNoStack if none is there.
  StackId Find(uint64_t key, int64_t time) const;

 private:
  std::vector<StackDefinition> definitions_;  // by key, then time
};

}  // namespace etwpipe::facts

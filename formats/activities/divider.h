// Who is responsible for wall-clock time: the rule that divides an instant among the activities that go on in it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "formats/activities/ticks.h"

namespace etwpipe::activities {

/// What a divider keeps with each activity.
struct Share {
  FixedTicks earned;  ///< all ended stretches as a leaf
  FixedTicks since;   ///< for the divider
};

/// Divides ticks among leaves: activities that go on while none of their descendants does (semantics.md 2.2). A tree is
/// a root with its descendants, named by a small number. Every call costs O(1), also where thousands of leaves share.
class Divider {
 public:
  Divider() = default;
  Divider(const Divider&) = delete;
  Divider& operator=(const Divider&) = delete;
  virtual ~Divider() = default;

  /// `ticks` pass. At least one leaf is there.
  virtual void Pass(int64_t ticks) = 0;
  /// An activity becomes a leaf, stops being one: then share.earned has what it earned. It is the same tree both times.
  virtual void Enter(Share& share, uint32_t tree) = 0;
  virtual void Leave(Share& share, uint32_t tree) = 0;
};

enum class DivisionRule : uint8_t {
  kLeaves,  ///< equal parts to all leaves (semantics.md 2.2, the default)
  kRoots,   ///< equal parts to all trees, then equal parts to the leaves of each (the alternative reading)
};
std::unique_ptr<Divider> MakeDivider(DivisionRule rule);

/// Turns exact shares into whole ticks so that their sum is that of the shares: a carry that begins at one half goes
/// from one to the next (semantics.md 2.3). Each result is less than a tick off.
class TickRounding {
 public:
  int64_t Round(FixedTicks exact) {
    exact += {0, carry_};
    carry_ = exact.fraction;
    return exact.whole;
  }

 private:
  uint64_t carry_ = uint64_t{1} << 63;
};

}  // namespace etwpipe::activities

// What an expression says of events that were not read yet.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/event_group.h"
#include "pipeline/trace_context.h"
#include "stages/filter_where/ast.h"
#include "stages/filter_where/program.h"

namespace etwpipe::where {

/// Decides a tree that Check() accepted for whole groups: each test of the tree is true, false or open for all events
/// of a kind, by their common header fields, the lists of processes and processors and the range of time.
class GroupTest {
 public:
  GroupTest() = default;
  GroupTest(const Node& root, const TraceContext& trace);

  /// True if the expression is false for every event of the group. Any thread.
  bool NeverMatches(const EventGroup& group) const;

 private:
  enum class Answer : uint8_t { kFalse, kOpen, kTrue };
  /// What a test depends on beside the kind of the event.
  enum class DependsOn : uint8_t { kKind, kCpu, kPid, kTime, kMore };
  struct Test {
    NodeKind kind = NodeKind::kBool;  // kOr, kAnd, kNot; anything else is a leaf
    DependsOn depends_on = DependsOn::kMore;
    Program program;  // of a leaf that does not depend on more
    std::vector<Test> children;
  };

  static Test Make(const Node& node, const TraceContext& trace);
  static DependsOn DependenceOf(const Node& leaf);
  static Answer Decide(const Test& test, const EventHeader& kind, const EventGroup& group);
  static Answer DecideLeaf(const Test& leaf, EventHeader row, const EventGroup& group);

  Test root_;
};

}  // namespace etwpipe::where

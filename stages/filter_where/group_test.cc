#include "stages/filter_where/group_test.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "stages/filter_where/compiler.h"

namespace etwpipe::where {
namespace {

constexpr std::array<std::string_view, 10> kKindFields = {"event_id", "id",      "version", "opcode",   "task",
                                                          "level",    "keyword", "channel", "provider", "header"};

bool IsKindField(std::string_view name) {
  return std::find(kKindFields.begin(), kKindFields.end(), name) != kKindFields.end();
}

void CollectFields(const Node& node, std::vector<std::string_view>& fields) {
  if (node.kind == NodeKind::kField) fields.push_back(node.field->name);
  for (const auto& child : node.children) CollectFields(*child, fields);
}

bool IsTimeField(std::string_view name) { return name == "ts" || name == "time"; }

bool IsRange(CompareOp op) { return op != CompareOp::kEqual && op != CompareOp::kNotEqual; }

}  // namespace

GroupTest::GroupTest(const Node& root, const TraceContext& trace) : root_(Make(root, trace)) {}

GroupTest::Test GroupTest::Make(const Node& node, const TraceContext& trace) {
  Test test;
  test.kind = node.kind;
  if (node.kind == NodeKind::kOr || node.kind == NodeKind::kAnd || node.kind == NodeKind::kNot) {
    for (const auto& child : node.children) test.children.push_back(Make(*child, trace));
    return test;
  }
  test.depends_on = DependenceOf(node);
  if (test.depends_on != DependsOn::kMore) test.program = Compile(node, trace);
  return test;
}

GroupTest::DependsOn GroupTest::DependenceOf(const Node& leaf) {
  std::vector<std::string_view> fields;
  CollectFields(leaf, fields);
  // A comparison of the time itself gives one answer up to some tick and the other one from there on.
  if (fields.size() == 1 && IsTimeField(fields[0])) {
    const bool range = leaf.kind == NodeKind::kCompare && IsRange(leaf.op) &&
                       leaf.children[0]->kind == NodeKind::kField && leaf.children[1]->kind != NodeKind::kField;
    return range ? DependsOn::kTime : DependsOn::kMore;
  }
  DependsOn depends_on = DependsOn::kKind;
  for (const std::string_view name : fields) {
    if (IsKindField(name)) continue;
    const DependsOn other = name == "cpu" ? DependsOn::kCpu : name == "pid" ? DependsOn::kPid : DependsOn::kMore;
    if (other == DependsOn::kMore || (depends_on != DependsOn::kKind && depends_on != other)) return DependsOn::kMore;
    depends_on = other;
  }
  return depends_on;
}

GroupTest::Answer GroupTest::DecideLeaf(const Test& leaf, EventHeader row, const EventGroup& group) {
  bool any_true = false;
  bool any_false = false;
  const auto ask = [&] { (leaf.program.Matches(row, nullptr) ? any_true : any_false) = true; };
  switch (leaf.depends_on) {
    case DependsOn::kMore: return Answer::kOpen;
    case DependsOn::kKind: ask(); break;
    case DependsOn::kCpu:
      for (const uint32_t cpu : group.cpus) {
        row.cpu = static_cast<uint16_t>(cpu);
        ask();
      }
      break;
    case DependsOn::kPid:
      if (!row.has(kHasPid)) {
        ask();
        break;
      }
      if (!group.pids) return Answer::kOpen;
      for (const uint32_t pid : *group.pids) {
        row.pid = pid;
        ask();
      }
      break;
    case DependsOn::kTime:
      for (const int64_t timestamp : {group.min_timestamp, group.max_timestamp}) {
        row.timestamp = timestamp;
        ask();
      }
      break;
  }
  // Neither: a list that should name something is empty.
  if (any_true == any_false) return Answer::kOpen;
  return any_true ? Answer::kTrue : Answer::kFalse;
}

GroupTest::Answer GroupTest::Decide(const Test& test, const EventHeader& kind, const EventGroup& group) {
  if (test.kind == NodeKind::kNot) {
    const Answer answer = Decide(test.children.front(), kind, group);
    return answer == Answer::kOpen ? answer : answer == Answer::kTrue ? Answer::kFalse : Answer::kTrue;
  }
  if (test.kind != NodeKind::kAnd && test.kind != NodeKind::kOr) return DecideLeaf(test, kind, group);
  const Answer decisive = test.kind == NodeKind::kAnd ? Answer::kFalse : Answer::kTrue;
  bool open = false;
  for (const Test& child : test.children) {
    const Answer answer = Decide(child, kind, group);
    if (answer == decisive) return decisive;
    open = open || answer == Answer::kOpen;
  }
  if (open) return Answer::kOpen;
  return decisive == Answer::kFalse ? Answer::kTrue : Answer::kFalse;
}

bool GroupTest::NeverMatches(const EventGroup& group) const {
  return std::all_of(group.kinds.begin(), group.kinds.end(),
                     [&](const EventHeader& kind) { return Decide(root_, kind, group) == Answer::kFalse; });
}

}  // namespace etwpipe::where

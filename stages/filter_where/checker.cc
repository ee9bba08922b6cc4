#include "stages/filter_where/checker.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/provider_names.h"
#include "pipeline/clock.h"
#include "pipeline/registry.h"
#include "stages/filter_where/keywords.h"
#include "stages/filter_where/source_error.h"

namespace etwpipe::where {
namespace {

constexpr Int128 kLowest = -(Int128{1} << 63);
constexpr Int128 kHighest = (Int128{1} << 64) - 1;

bool IsConstant(const Node& node) {
  switch (node.kind) {
    case NodeKind::kInteger:
    case NodeKind::kDuration:
    case NodeKind::kFileTime:
    case NodeKind::kString:
    case NodeKind::kGuid: return true;
    default: return false;
  }
}

bool IsField(const Node& node, FieldType type) { return node.kind == NodeKind::kField && node.field->type == type; }

bool IsNumber(const Node& node) {
  return node.kind == NodeKind::kInteger || node.kind == NodeKind::kBitAnd || node.kind == NodeKind::kNegate ||
         node.kind == NodeKind::kComplement || node.kind == NodeKind::kKeyword || IsField(node, FieldType::kInteger) ||
         IsField(node, FieldType::kPayload);
}

bool IsText(const Node& node) {
  return node.kind == NodeKind::kString || IsField(node, FieldType::kText) || IsField(node, FieldType::kPayload);
}

bool IsOrdering(CompareOp op) { return op != CompareOp::kEqual && op != CompareOp::kNotEqual; }

std::string Describe(const Node& node) {
  switch (node.kind) {
    case NodeKind::kField: return fmt::format("'{}'", node.text);
    case NodeKind::kKeyword: return "a keyword";
    case NodeKind::kInteger:
    case NodeKind::kBitAnd:
    case NodeKind::kNegate:
    case NodeKind::kComplement: return "a number";
    case NodeKind::kDuration: return "a duration";
    case NodeKind::kFileTime: return "a time";
    case NodeKind::kString: return "a string";
    case NodeKind::kGuid: return "a GUID";
    default: return "a condition";
  }
}

// What a field can be compared with, for messages.
std::string_view Wanted(const Node& node) {
  if (IsField(node, FieldType::kText)) return "a text in quotes";
  if (IsField(node, FieldType::kPayload)) return "a number, a text in quotes or a GUID";
  if (IsField(node, FieldType::kTime)) return "a duration such as 10s or a time such as '2020-07-29T00:07:00Z'";
  if (IsField(node, FieldType::kProvider)) return "a GUID or the name of a provider in quotes";
  if (IsField(node, FieldType::kHeader)) return "the name of a header kind in quotes, such as 'EVENT_HEADER64'";
  return "a number";
}

// Whether a built-in provider has a keyword of that name, with or without "Keyword" at its end.
bool IsKeyword(std::string_view name) {
  for (const Guid& provider : schema::BuiltInProviders()) {
    if (KeywordMask(provider, name)) return true;
  }
  return false;
}

class Checker {
 public:
  explicit Checker(std::string_view source) : source_(source) {}

  // Every function takes the place that holds a node, since it may put another node there.
  Status Condition(NodePtr& node) {
    switch (node->kind) {
      case NodeKind::kOr:
      case NodeKind::kAnd:
      case NodeKind::kNot:
        for (NodePtr& child : node->children) ETWPIPE_RETURN_IF_ERROR(Condition(child));
        return {};
      case NodeKind::kBool: return {};
      case NodeKind::kHas:
        ETWPIPE_RETURN_IF_ERROR(Resolve(*node->children.front()));
        if (node->children.front()->kind == NodeKind::kField) return {};
        return Error(*node->children.front(), "has needs a field");
      case NodeKind::kCompare: return Compare(node);
      case NodeKind::kIn: return In(node);
      case NodeKind::kMatch: return Match(*node);
      case NodeKind::kBitAnd: return BitTest(node);
      default: break;
    }
    ETWPIPE_RETURN_IF_ERROR(Value(node));
    return Error(*node, fmt::format("{} is not a condition; compare it with something", Describe(*node)));
  }

 private:
  Status Error(const Node& node, std::string_view message) const { return SourceError(source_, node.offset, message); }

  Status Resolve(Node& node) const {
    node.field = FindField(node.text);
    if (node.field != nullptr) return {};
    if (IsKeyword(node.text)) {
      node.kind = NodeKind::kKeyword;
      return {};
    }
    return Error(node, fmt::format("unknown name '{}'{}", node.text, DidYouMean(NearNames(node.text, FieldNames()))));
  }

  // A value: resolves fields and folds operators over constants.
  Status Value(NodePtr& node) {
    switch (node->kind) {
      case NodeKind::kField: return Resolve(*node);
      case NodeKind::kKeyword:
      case NodeKind::kInteger:
      case NodeKind::kDuration:
      case NodeKind::kFileTime:
      case NodeKind::kString:
      case NodeKind::kGuid: return {};
      case NodeKind::kBitAnd:
      case NodeKind::kNegate:
      case NodeKind::kComplement: return Operator(node);
      default: return Error(*node, "a condition cannot be used as a value");
    }
  }

  // true and false stand for 1 and 0 beside a payload field.
  static Status Truths(Node& node) {
    for (size_t i = 0; i < node.children.size(); ++i) {
      Node& child = *node.children[i];
      const bool beside_payload = std::any_of(node.children.begin(), node.children.end(), [](const NodePtr& other) {
        return other->kind == NodeKind::kField && other->text.starts_with(kPayloadPrefix);
      });
      if (child.kind != NodeKind::kBool || !beside_payload) continue;
      child.kind = NodeKind::kInteger;
      child.integer = child.truth ? 1 : 0;
    }
    return {};
  }

  Status Operator(NodePtr& node) {
    for (NodePtr& child : node->children) ETWPIPE_RETURN_IF_ERROR(Value(child));
    Node& first = *node->children.front();
    if (node->kind == NodeKind::kNegate && first.kind == NodeKind::kDuration) {
      return Fold(node, NodeKind::kDuration, -first.integer);
    }
    for (const NodePtr& child : node->children) {
      if (IsNumber(*child)) continue;
      const std::string_view name = node->kind == NodeKind::kBitAnd ? "&" : node->kind == NodeKind::kNegate ? "-" : "~";
      return Error(*child, fmt::format("'{}' works on numbers, not on {}", name, Describe(*child)));
    }
    for (const NodePtr& child : node->children) {
      if (child->kind != NodeKind::kInteger) return {};
    }
    if (node->kind == NodeKind::kNegate) return Fold(node, NodeKind::kInteger, -first.integer);
    if (node->kind == NodeKind::kComplement) return Fold(node, NodeKind::kInteger, ~first.integer);
    return Fold(node, NodeKind::kInteger, first.integer & node->children[1]->integer);
  }

  Status Fold(NodePtr& node, NodeKind kind, Int128 value) const {
    // ~ of an unsigned 64-bit number may be as low as -2^64, which is fine as a mask; twice that cannot come about.
    if (kind == NodeKind::kDuration && (value < kLowest || value > kHighest)) {
      return Error(*node, "the duration does not fit in 64 bits");
    }
    node->kind = kind;
    node->integer = value;
    node->children.clear();
    return {};
  }

  // `a & b` on its own asks whether a bit is set.
  Status BitTest(NodePtr& node) {
    const size_t offset = node->offset;
    ETWPIPE_RETURN_IF_ERROR(Value(node));
    auto test = std::make_unique<Node>();
    test->kind = NodeKind::kCompare;
    test->op = CompareOp::kNotEqual;
    test->offset = offset;
    auto zero = std::make_unique<Node>();
    zero->kind = NodeKind::kInteger;
    zero->offset = offset;
    test->children.push_back(std::move(node));
    test->children.push_back(std::move(zero));
    node = std::move(test);
    return FoldCompare(node);
  }

  Status Compare(NodePtr& node) {
    ETWPIPE_RETURN_IF_ERROR(Truths(*node));
    for (NodePtr& child : node->children) ETWPIPE_RETURN_IF_ERROR(Value(child));
    if (IsConstant(*node->children[0]) && !IsConstant(*node->children[1])) {
      std::swap(node->children[0], node->children[1]);
      node->op = Swapped(node->op);
    }
    ETWPIPE_RETURN_IF_ERROR(Pair(*node, node->op, *node->children[0], *node->children[1]));
    // Folding is for numbers; two texts are compared as any two.
    if (node->children[0]->kind == NodeKind::kString) return {};
    return FoldCompare(node);
  }

  // Two constants, or `time` with itself, need no event.
  static Status FoldCompare(NodePtr& node) {
    const Node& left = *node->children[0];
    const Node& right = *node->children[1];
    const bool same_time = IsField(left, FieldType::kTime) && IsField(right, FieldType::kTime);
    if (!same_time && (!IsConstant(left) || !IsConstant(right))) return {};
    node->truth = Holds(same_time ? 0 : left.integer, node->op, same_time ? 0 : right.integer);
    node->kind = NodeKind::kBool;
    node->children.clear();
    return {};
  }

  // Whether `left op right` means something; resolves `right` as what `left` makes it.
  Status Pair(const Node& at, CompareOp op, const Node& left, Node& right) const {
    if (IsNumber(left) && IsNumber(right)) return {};
    if (IsText(left) && IsText(right) && (left.kind != NodeKind::kString || right.kind != NodeKind::kString)) return {};
    if (IsField(left, FieldType::kPayload) && right.kind == NodeKind::kGuid) {
      if (IsOrdering(op)) return Error(at, "a GUID has no order; use ==, != or in");
      right.kind = NodeKind::kString;
      right.text = ToString(right.guids.front());
      return {};
    }
    if (left.kind == NodeKind::kDuration && right.kind == NodeKind::kDuration) return {};
    if (IsField(left, FieldType::kTime)) {
      if (right.kind == NodeKind::kDuration || IsField(right, FieldType::kTime)) return {};
      if (right.kind == NodeKind::kString) return ResolveTime(right);
    }
    const bool named = IsField(left, FieldType::kProvider) || IsField(left, FieldType::kHeader);
    if (named && IsOrdering(op)) {
      return Error(at, fmt::format("{} has no order; use ==, != or in", Describe(left)));
    }
    if (IsField(left, FieldType::kProvider)) {
      if (right.kind == NodeKind::kGuid) return {};
      if (right.kind == NodeKind::kString) return ResolveProvider(right);
    }
    if (IsField(left, FieldType::kHeader) && right.kind == NodeKind::kString) return ResolveHeader(right);
    if (IsConstant(left)) {
      return Error(at, fmt::format("cannot compare {} with {}", Describe(left), Describe(right)));
    }
    return Error(right, fmt::format("{} cannot be compared with {}; it needs {}", Describe(left), Describe(right),
                                    Wanted(left)));
  }

  Status ResolveTime(Node& node) const {
    const auto time = ParseFileTime(node.text);
    if (!time) return Error(node, fmt::format("'{}' is not a time such as '2020-07-29T00:07:00.5Z'", node.text));
    node.kind = NodeKind::kFileTime;
    node.integer = *time;
    return {};
  }

  Status ResolveProvider(Node& node) const {
    if (const auto guid = ParseGuid(node.text)) {
      node.guids = {*guid};
    } else {
      node.guids = schema::ProvidersNamed(node.text);
    }
    if (!node.guids.empty()) return {};
    return Error(node, fmt::format("unknown provider '{}'{}; its GUID works always, and so does provider_name == '...' "
                                   "with a name that the trace itself gives",
                                   node.text, DidYouMean(schema::NearProviderNames(node.text))));
  }

  Status ResolveHeader(Node& node) const {
    if (const auto header = HeaderFromName(node.text)) {
      node.header = *header;
      return {};
    }
    std::vector<std::string> names = {"UNKNOWN0"};
    for (size_t kind = 1; kind < kHeaderKinds; ++kind) {
      names.emplace_back(HeaderName(static_cast<HeaderKind>(kind), 0));
    }
    return Error(node, fmt::format("unknown header kind '{}'{}", node.text, DidYouMean(NearNames(node.text, names))));
  }

  Status In(NodePtr& node) {
    ETWPIPE_RETURN_IF_ERROR(Value(node->children[0]));
    const Node& left = *node->children[0];
    if (IsConstant(left)) return Error(left, "'in' needs a field on its left");
    for (size_t i = 1; i < node->children.size(); ++i) {
      ETWPIPE_RETURN_IF_ERROR(Value(node->children[i]));
      Node& item = *node->children[i];
      if (!IsConstant(item)) return Error(item, fmt::format("a list holds constants, not {}", Describe(item)));
      ETWPIPE_RETURN_IF_ERROR(Pair(item, CompareOp::kEqual, left, item));
    }
    return {};
  }

  Status Match(Node& node) {
    for (NodePtr& child : node.children) ETWPIPE_RETURN_IF_ERROR(Value(child));
    const Node& left = *node.children[0];
    const Node& right = *node.children[1];
    if (!IsField(left, FieldType::kHeader) && (!IsText(left) || left.kind == NodeKind::kString)) {
      return Error(left,
                   fmt::format("'=~' needs a text on its left, such as name or payload.X, not {}", Describe(left)));
    }
    if (right.kind != NodeKind::kString) {
      return Error(right, fmt::format("'=~' needs a regular expression in quotes, not {}", Describe(right)));
    }
    RE2::Options options;
    options.set_log_errors(false);
    const RE2 pattern(right.text, options);
    if (!pattern.ok()) return Error(right, fmt::format("bad regular expression: {}", pattern.error()));
    return {};
  }

  std::string_view source_;
};

}  // namespace

Status Check(std::string_view source, NodePtr& root) { return Checker(source).Condition(root); }

}  // namespace etwpipe::where

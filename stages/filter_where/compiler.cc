#include "stages/filter_where/compiler.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "formats/schema/builtin_schemas.h"
#include "pipeline/clock.h"
#include "pipeline/header_name.h"
#include "stages/filter_where/keywords.h"

namespace etwpipe::where {
namespace {

constexpr Int128 kI64Min = std::numeric_limits<int64_t>::min();
constexpr Int128 kI64Max = std::numeric_limits<int64_t>::max();
// Lists of numbers below this, among them nearly all providers, become one bit per number.
constexpr uint64_t kLargestBitSet = 4096;
constexpr Int128 kU64Max = std::numeric_limits<uint64_t>::max();

/// The values that satisfy a comparison with a constant: a range or everything outside it.
struct Interval {
  Int128 first = 0;
  Int128 last = 0;
  bool negate = false;
};

/// `at` is the first value equal to the constant, `past` the first one greater; both the same when none is equal.
Interval IntervalOf(CompareOp op, Int128 at, Int128 past, Int128 lowest, Int128 highest) {
  switch (op) {
    case CompareOp::kEqual: return {at, past - 1, false};
    case CompareOp::kNotEqual: return {at, past - 1, true};
    case CompareOp::kLess: return {lowest, at - 1, false};
    case CompareOp::kLessEqual: return {lowest, past - 1, false};
    case CompareOp::kGreater: return {past, highest, false};
    case CompareOp::kGreaterEqual: return {at, highest, false};
  }
  return {};
}

/// A field, perhaps under a constant mask, that a test reads in one go.
struct Operand {
  const FieldInfo* field = nullptr;
  uint64_t mask = ~uint64_t{0};
  Int128 lowest = 0;  ///< of the masked value
  Int128 highest = kU64Max;
};

bool IsField(const Node& node, FieldType type) { return node.kind == NodeKind::kField && node.field->type == type; }

// Decoding an event is worth putting off.
constexpr int kDecodedCost = 100;

bool NeedsValues(const Node& node) {
  if (node.kind == NodeKind::kField) {
    return node.field->type == FieldType::kText || node.field->type == FieldType::kPayload;
  }
  return std::any_of(node.children.begin(), node.children.end(),
                     [](const NodePtr& child) { return NeedsValues(*child); });
}

std::optional<Operand> OperandOf(const Node& node) {
  if (NeedsValues(node)) return std::nullopt;
  if (node.kind == NodeKind::kField) {
    const bool is_signed = node.field->source == FieldSource::kI64;
    return Operand{node.field, ~uint64_t{0}, is_signed ? kI64Min : 0, is_signed ? kI64Max : kU64Max};
  }
  if (node.kind != NodeKind::kBitAnd) return std::nullopt;
  const bool constant_right = node.children[1]->kind == NodeKind::kInteger;
  const Node& value = *node.children[constant_right ? 0 : 1];
  const Node& mask = *node.children[constant_right ? 1 : 0];
  if (value.kind != NodeKind::kField || mask.kind != NodeKind::kInteger) return std::nullopt;
  Operand operand{value.field, static_cast<uint64_t>(mask.integer), 0, kU64Max};
  if (value.field->source == FieldSource::kI64 && mask.integer < 0) {
    // The result keeps its sign; below 64 bits it would not fit.
    if (mask.integer < kI64Min) return std::nullopt;
    operand.lowest = kI64Min;
    operand.highest = kI64Max;
  }
  return operand;
}

// How dear a condition is; cheap ones are asked first.
int CostOf(const Node& node) {
  switch (node.kind) {
    case NodeKind::kMatch:
    case NodeKind::kHas:
    case NodeKind::kIn: return NeedsValues(*node.children[0]) ? kDecodedCost : 2;
    case NodeKind::kCompare:
      if (NeedsValues(*node.children[0]) || NeedsValues(*node.children[1])) return kDecodedCost;
      return IsField(*node.children[0], FieldType::kProvider) && node.children[1]->guids.size() > 1 ? 2
             : node.children[1]->kind == NodeKind::kField || !OperandOf(*node.children[0])          ? 4
                                                                                                    : 1;
    case NodeKind::kOr:
    case NodeKind::kAnd:
    case NodeKind::kNot: {
      int cost = 0;
      for (const NodePtr& child : node.children) cost += CostOf(*child);
      return cost;
    }
    default: return 1;
  }
}

}  // namespace

/// Emits the last test first, so that every test knows where it leads.
class Compiler {
 public:
  explicit Compiler(const TraceContext& trace) : trace_(trace) {}

  Program Run(const Node& root) {
    program_.entry_ = Emit(root, Program::kAccept, Program::kReject);
    return std::move(program_);
  }

 private:
  uint32_t Emit(const Node& node, uint32_t on_true, uint32_t on_false) {
    switch (node.kind) {
      case NodeKind::kBool: return node.truth ? on_true : on_false;
      case NodeKind::kNot: return Emit(*node.children.front(), on_false, on_true);
      case NodeKind::kAnd:
      case NodeKind::kOr: return EmitChain(node, on_true, on_false);
      case NodeKind::kHas: {
        Test test;
        if (NeedsValues(*node.children.front())) {
          test.kind = TestKind::kHasValue;
          test.first = AddSide(*node.children.front());
          return Push(test, on_true, on_false);
        }
        test.required_flags = node.children.front()->field->required_flags;
        return Push(test, on_true, on_false);
      }
      case NodeKind::kCompare: return EmitCompare(*node.children[0], node.op, *node.children[1], on_true, on_false);
      case NodeKind::kIn: return EmitIn(node, on_true, on_false);
      default: return EmitMatch(node, on_true, on_false);
    }
  }

  uint32_t Push(Test test, uint32_t on_true, uint32_t on_false) {
    test.on_true = on_true;
    test.on_false = on_false;
    program_.tests_.push_back(test);
    return static_cast<uint32_t>(program_.tests_.size() - 1);
  }

  uint32_t EmitChain(const Node& node, uint32_t on_true, uint32_t on_false) {
    std::vector<std::pair<int, const Node*>> operands;
    for (const NodePtr& child : node.children) operands.emplace_back(CostOf(*child), child.get());
    // No condition can fail or change anything, so any order gives the same answer.
    std::stable_sort(operands.begin(), operands.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool is_and = node.kind == NodeKind::kAnd;
    uint32_t next = is_and ? on_true : on_false;
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) {
      next = Emit(*operand->second, is_and ? next : on_true, is_and ? on_false : next);
    }
    return next;
  }

  uint32_t EmitCompare(const Node& left, CompareOp op, const Node& right, uint32_t on_true, uint32_t on_false) {
    if (IsField(left, FieldType::kProvider)) {
      return EmitProviders(right.guids, op == CompareOp::kNotEqual, on_true, on_false);
    }
    if (IsField(left, FieldType::kHeader)) {
      HeaderSet set{};
      AddHeader(set, right.header);
      return EmitHeaders(set, op == CompareOp::kNotEqual, on_true, on_false);
    }
    if (IsField(left, FieldType::kTime)) {
      return EmitInterval(*OperandOf(left), TimeInterval(op, right), on_true, on_false);
    }
    if (IsSide(left) || IsSide(right)) {
      // An array may stand on the left only.
      const bool swap = !IsField(left, FieldType::kPayload) && IsField(right, FieldType::kPayload);
      Test test;
      test.kind = TestKind::kValues;
      test.op = swap ? Swapped(op) : op;
      test.first = AddSide(swap ? right : left);
      test.count = AddSide(swap ? left : right);
      return Push(test, on_true, on_false);
    }
    const auto operand = OperandOf(left);
    if (operand && right.kind == NodeKind::kInteger) {
      const Interval interval = IntervalOf(op, right.integer, right.integer + 1, operand->lowest, operand->highest);
      return EmitInterval(*operand, interval, on_true, on_false);
    }
    Test test;
    test.kind = TestKind::kNumbers;
    test.op = op;
    test.first = AddNumber(left);
    test.count = AddNumber(right);
    return Push(test, on_true, on_false);
  }

  // `time` is ticks rounded down to the unit of the constant, so each of its values is a range of ticks.
  Interval TimeInterval(CompareOp op, const Node& constant) const {
    const Clock& clock = trace_.info.clock;
    const bool is_duration = constant.kind == NodeKind::kDuration;
    const auto first_tick = [&](Int128 value) -> Int128 {
      if (value > kI64Max) return kI64Max + 1;
      if (value < kI64Min) return kI64Min;
      const auto narrow = static_cast<int64_t>(value);
      return is_duration ? clock.FromNanoseconds(narrow) : clock.FromFileTime(narrow);
    };
    return IntervalOf(op, first_tick(constant.integer), first_tick(constant.integer + 1), kI64Min, kI64Max);
  }

  uint32_t EmitInterval(const Operand& operand, Interval interval, uint32_t on_true, uint32_t on_false) {
    interval.first = std::max(interval.first, operand.lowest);
    interval.last = std::min(interval.last, operand.highest);
    Test test = TestOf(operand);
    test.negate = interval.negate;
    if (interval.first > interval.last) {
      // Nothing lies in it: the negation of everything.
      test.negate = !test.negate;
      test.span = ~uint64_t{0};
    } else {
      test.low = static_cast<uint64_t>(interval.first);
      test.span = static_cast<uint64_t>(interval.last - interval.first);
    }
    return Push(test, on_true, on_false);
  }

  static Test TestOf(const Operand& operand) {
    Test test;
    switch (operand.field->source) {
      case FieldSource::kU8: test.kind = TestKind::kRange8; break;
      case FieldSource::kU16: test.kind = TestKind::kRange16; break;
      case FieldSource::kU32: test.kind = TestKind::kRange32; break;
      case FieldSource::kU64:
      case FieldSource::kI64: test.kind = TestKind::kRange64; break;
      case FieldSource::kPayloadSize: test.kind = TestKind::kRangePayload; break;
    }
    test.source = operand.field->source;
    test.offset = operand.field->offset;
    test.required_flags = operand.field->required_flags;
    test.mask = operand.mask;
    return test;
  }

  uint32_t EmitProviders(const std::vector<Guid>& guids, bool negate, uint32_t on_true, uint32_t on_false) {
    std::vector<uint64_t> numbers;
    for (const Guid& guid : guids) {
      // When the table is full no event of a provider it lacks can come either.
      if (const auto number = trace_.providers->Intern(guid)) numbers.push_back(*number);
    }
    return EmitSet(Operand{FindField("provider")}, std::move(numbers), negate, on_true, on_false);
  }

  uint32_t EmitSet(const Operand& operand, std::vector<uint64_t> values, bool negate, uint32_t on_true,
                   uint32_t on_false) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() == 1) {
      Test test = TestOf(operand);
      test.negate = negate;
      test.low = values.front();
      return Push(test, on_true, on_false);
    }
    Test test = TestOf(operand);
    test.negate = negate;
    test.first = static_cast<uint32_t>(program_.values_.size());
    if (!values.empty() && values.back() < kLargestBitSet) {
      test.kind = TestKind::kBits;
      test.count = static_cast<uint32_t>(values.back() / 64 + 1);
      program_.values_.resize(program_.values_.size() + test.count);
      for (const uint64_t value : values) program_.values_[test.first + value / 64] |= uint64_t{1} << (value % 64);
      return Push(test, on_true, on_false);
    }
    test.kind = TestKind::kSet;
    test.count = static_cast<uint32_t>(values.size());
    program_.values_.insert(program_.values_.end(), values.begin(), values.end());
    return Push(test, on_true, on_false);
  }

  static void AddHeader(HeaderSet& set, HeaderIdentity header) {
    const size_t bit = Program::HeaderBit(header.kind, header.header_type);
    set[bit / 64] |= uint64_t{1} << (bit % 64);
  }

  uint32_t EmitHeaders(HeaderSet set, bool negate, uint32_t on_true, uint32_t on_false) {
    if (negate) {
      for (uint64_t& word : set) word = ~word;
    }
    Test test;
    test.kind = TestKind::kHeader;
    test.first = static_cast<uint32_t>(program_.header_sets_.size());
    program_.header_sets_.push_back(set);
    return Push(test, on_true, on_false);
  }

  uint32_t EmitIn(const Node& node, uint32_t on_true, uint32_t on_false) {
    const Node& left = *node.children[0];
    if (IsField(left, FieldType::kProvider)) {
      std::vector<Guid> guids;
      for (size_t i = 1; i < node.children.size(); ++i) {
        guids.insert(guids.end(), node.children[i]->guids.begin(), node.children[i]->guids.end());
      }
      return EmitProviders(guids, false, on_true, on_false);
    }
    if (IsField(left, FieldType::kHeader)) {
      HeaderSet set{};
      for (size_t i = 1; i < node.children.size(); ++i) AddHeader(set, node.children[i]->header);
      return EmitHeaders(set, false, on_true, on_false);
    }
    const auto operand = OperandOf(left);
    if (!operand || IsField(left, FieldType::kTime)) {
      uint32_t next = on_false;
      for (size_t i = node.children.size() - 1; i > 0; --i) {
        next = EmitCompare(left, CompareOp::kEqual, *node.children[i], on_true, next);
      }
      return next;
    }
    std::vector<uint64_t> values;
    for (size_t i = 1; i < node.children.size(); ++i) {
      const Int128 value = node.children[i]->integer;
      if (value >= operand->lowest && value <= operand->highest) values.push_back(static_cast<uint64_t>(value));
    }
    return EmitSet(*operand, std::move(values), false, on_true, on_false);
  }

  // Header names are few: the pattern is asked now, for each of them, and never for an event.
  uint32_t EmitMatch(const Node& node, uint32_t on_true, uint32_t on_false) {
    RE2::Options options;
    options.set_log_errors(false);
    if (NeedsValues(*node.children[0])) {
      Test test;
      test.kind = TestKind::kMatch;
      test.first = AddSide(*node.children[0]);
      test.count = static_cast<uint32_t>(program_.patterns_.size());
      program_.patterns_.push_back(std::make_shared<RE2>(node.children[1]->text, options));
      return Push(test, on_true, on_false);
    }
    const RE2 pattern(node.children[1]->text, options);
    HeaderSet set{};
    const auto try_header = [&](HeaderIdentity header) {
      const std::string_view name = HeaderName(header.kind, header.header_type);
      if (RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), pattern)) AddHeader(set, header);
    };
    for (size_t kind = 1; kind < kHeaderKinds; ++kind) try_header({static_cast<HeaderKind>(kind), 0});
    for (unsigned type = 0; type < 256; ++type) try_header({HeaderKind::kUnknown, static_cast<uint8_t>(type)});
    return EmitHeaders(set, false, on_true, on_false);
  }

  // What only a decoded event can tell: neither a number nor a constant.
  static bool IsSide(const Node& node) { return IsField(node, FieldType::kText) || IsField(node, FieldType::kPayload); }

  uint32_t AddSide(const Node& node) {
    Side side;
    if (IsField(node, FieldType::kText)) {
      side.kind = Side::Kind::kText;
      side.text = node.field->text;
      program_.needs_values_ = true;
    } else if (IsField(node, FieldType::kPayload)) {
      side.kind = Side::Kind::kPayload;
      side.index = AddPath(node.text);
    } else if (node.kind == NodeKind::kString) {
      side.constant = node.text;
    } else {
      side.kind = Side::Kind::kNumber;
      side.index = AddNumber(node);
    }
    program_.sides_.push_back(std::move(side));
    return static_cast<uint32_t>(program_.sides_.size() - 1);
  }

  // The slot of a payload field.
  uint32_t AddPath(const std::string& name) {
    program_.needs_values_ = true;
    auto& paths = program_.paths_;
    const std::string path = name.substr(kPayloadPrefix.size());
    const auto known = std::find(paths.begin(), paths.end(), path);
    const auto slot = static_cast<uint32_t>(known - paths.begin());
    if (known == paths.end()) paths.push_back(path);
    return slot;
  }

  uint32_t AddKeyword(const std::string& name) {
    auto& masks = program_.keywords_.emplace_back();
    for (const Guid& guid : schema::BuiltInProviders()) {
      const auto mask = KeywordMask(guid, name);
      if (!mask) continue;
      if (const auto provider = trace_.providers->Intern(guid)) masks.emplace_back(*provider, *mask);
    }
    return static_cast<uint32_t>(program_.keywords_.size() - 1);
  }

  uint32_t AddNumber(const Node& node) {
    NumberNode number;
    number.kind = node.kind;
    if (node.kind == NodeKind::kKeyword) {
      number.left = AddKeyword(node.text);
    } else if (IsField(node, FieldType::kPayload)) {
      number.payload = true;
      number.left = AddPath(node.text);
    } else if (node.kind == NodeKind::kField) {
      number.source = node.field->source;
      number.offset = node.field->offset;
      number.required_flags = node.field->required_flags;
    }
    number.value = node.integer;
    if (!node.children.empty()) number.left = AddNumber(*node.children[0]);
    if (node.children.size() > 1) number.right = AddNumber(*node.children[1]);
    program_.numbers_.push_back(number);
    return static_cast<uint32_t>(program_.numbers_.size() - 1);
  }

  const TraceContext& trace_;
  Program program_;
};

Program Compile(const Node& root, const TraceContext& trace) { return Compiler(trace).Run(root); }

}  // namespace etwpipe::where

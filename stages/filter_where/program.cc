#include "stages/filter_where/program.h"

#include <re2/re2.h>

namespace etwpipe::where {
namespace {

using schema::Value;
using schema::ValueKind;

// A value as something to compare: a number, a text, or both (a number whose value has a name).
struct Comparable {
  bool has_integer = false;
  bool has_real = false;
  Int128 integer = 0;
  double real = 0;
  std::optional<std::string_view> text;
};

Comparable Of(const Value& value) {
  Comparable result;
  switch (value.kind) {
    case ValueKind::kNull: return result;
    case ValueKind::kText:
    case ValueKind::kForm: result.text = value.text; return result;
    case ValueKind::kReal:
      result.has_real = true;
      result.real = value.real;
      return result;
    case ValueKind::kSigned: result.integer = value.integer(); break;
    case ValueKind::kBool: result.integer = value.bits != 0 ? 1 : 0; break;
    case ValueKind::kUnsigned:
    case ValueKind::kHex: result.integer = value.bits; break;
  }
  result.has_integer = true;
  if (!value.text.empty()) result.text = value.text;
  return result;
}

template <typename T>
bool HoldsFor(const T& left, CompareOp op, const T& right) {
  switch (op) {
    case CompareOp::kEqual: return left == right;
    case CompareOp::kNotEqual: return left != right;
    case CompareOp::kLess: return left < right;
    case CompareOp::kLessEqual: return left <= right;
    case CompareOp::kGreater: return left > right;
    case CompareOp::kGreaterEqual: return left >= right;
  }
  return false;
}

// False where the two have nothing in common.
bool Compare(const Comparable& left, CompareOp op, const Comparable& right) {
  if (left.has_integer && right.has_integer) return Holds(left.integer, op, right.integer);
  const bool left_number = left.has_integer || left.has_real;
  const bool right_number = right.has_integer || right.has_real;
  if (left_number && right_number) {
    const auto real = [](const Comparable& value) {
      return value.has_real ? static_cast<long double>(value.real) : static_cast<long double>(value.integer);
    };
    return HoldsFor(real(left), op, real(right));
  }
  return left.text && right.text && HoldsFor(*left.text, op, *right.text);
}

}  // namespace

std::optional<Int128> Program::Number(uint32_t index, const EventHeader& row, EventValues* values) const {
  const NumberNode& node = numbers_[index];
  switch (node.kind) {
    case NodeKind::kInteger: return node.value;
    case NodeKind::kField: {
      if (node.payload) {
        // An array is no number.
        const auto found = values->Payload(node.left, paths_[node.left]);
        if (found.size() != 1) return std::nullopt;
        const Comparable value = Of(found.front());
        return value.has_integer ? std::optional(value.integer) : std::nullopt;
      }
      if ((row.flags & node.required_flags) != node.required_flags) return std::nullopt;
      const uint64_t bits = LoadU64(row, node.source, node.offset);
      return node.source == FieldSource::kI64 ? Int128{static_cast<int64_t>(bits)} : Int128{bits};
    }
    case NodeKind::kKeyword:
      for (const auto& [provider, mask] : keywords_[node.left]) {
        if (provider == row.provider) return Int128{mask};
      }
      return std::nullopt;
    case NodeKind::kNegate: {
      const auto operand = Number(node.left, row, values);
      return operand ? std::optional<Int128>(-*operand) : std::nullopt;
    }
    case NodeKind::kComplement: {
      const auto operand = Number(node.left, row, values);
      return operand ? std::optional<Int128>(~*operand) : std::nullopt;
    }
    default: break;
  }
  const auto left = Number(node.left, row, values);
  const auto right = Number(node.right, row, values);
  return left && right ? std::optional<Int128>(*left & *right) : std::nullopt;
}

bool Program::CompareNumbers(const Test& test, const EventHeader& row, EventValues* values) const {
  const auto left = Number(test.first, row, values);
  const auto right = Number(test.count, row, values);
  if (!left || !right) return false;
  return Holds(*left, test.op, *right);
}

bool Program::CompareValues(const Test& test, const EventHeader& row, EventValues* values) const {
  // The right side is one value; the left may be an array, of which one element that holds is enough.
  const Side& right_side = sides_[test.count];
  Comparable right;
  Value copy;
  switch (right_side.kind) {
    case Side::Kind::kConstant: right.text = right_side.constant; break;
    case Side::Kind::kText: right.text = values->Text(right_side.text); break;
    case Side::Kind::kNumber: {
      const auto number = Number(right_side.index, row, values);
      right.has_integer = number.has_value();
      right.integer = number.value_or(0);
      break;
    }
    case Side::Kind::kPayload: {
      const auto found = values->Payload(right_side.index, paths_[right_side.index]);
      if (found.size() != 1) return false;
      copy = found.front();  // the left side's values take the place of these
      right = Of(copy);
      break;
    }
  }
  std::string right_text;
  if (right_side.kind == Side::Kind::kText && right.text) {
    right_text = *right.text;
    right.text = right_text;
  }
  const Side& left_side = sides_[test.first];
  if (left_side.kind == Side::Kind::kPayload) {
    for (const Value& value : values->Payload(left_side.index, paths_[left_side.index])) {
      if (Compare(Of(value), test.op, right)) return true;
    }
    return false;
  }
  Comparable left;
  if (left_side.kind == Side::Kind::kText) {
    left.text = values->Text(left_side.text);
  } else if (left_side.kind == Side::Kind::kNumber) {
    const auto number = Number(left_side.index, row, values);
    left.has_integer = number.has_value();
    left.integer = number.value_or(0);
  } else {
    left.text = left_side.constant;
  }
  return Compare(left, test.op, right);
}

bool Program::MatchesPattern(const Test& test, EventValues* values) const {
  const Side& side = sides_[test.first];
  const re2::RE2& pattern = *patterns_[test.count];
  const auto matches = [&](std::string_view text) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
  };
  if (side.kind == Side::Kind::kText) {
    const auto text = values->Text(side.text);
    return text && matches(*text);
  }
  for (const Value& value : values->Payload(side.index, paths_[side.index])) {
    if (const auto text = Of(value).text; text && matches(*text)) return true;
  }
  return false;
}

bool Program::HasValue(const Side& side, EventValues* values) const {
  if (side.kind == Side::Kind::kText) return values->Text(side.text).has_value();
  return !values->Payload(side.index, paths_[side.index]).empty();
}

}  // namespace etwpipe::where

#include "stages/filter_where/program.h"

namespace etwpipe::where {

std::optional<Int128> Program::Number(uint32_t index, const EventHeader& row) const {
  const NumberNode& node = numbers_[index];
  switch (node.kind) {
    case NodeKind::kInteger: return node.value;
    case NodeKind::kField: {
      if ((row.flags & node.required_flags) != node.required_flags) return std::nullopt;
      const uint64_t bits = LoadU64(row, node.source, node.offset);
      return node.source == FieldSource::kI64 ? Int128{static_cast<int64_t>(bits)} : Int128{bits};
    }
    case NodeKind::kNegate: {
      const auto operand = Number(node.left, row);
      return operand ? std::optional<Int128>(-*operand) : std::nullopt;
    }
    case NodeKind::kComplement: {
      const auto operand = Number(node.left, row);
      return operand ? std::optional<Int128>(~*operand) : std::nullopt;
    }
    default: break;
  }
  const auto left = Number(node.left, row);
  const auto right = Number(node.right, row);
  return left && right ? std::optional<Int128>(*left & *right) : std::nullopt;
}

bool Program::CompareNumbers(const Test& test, const EventHeader& row) const {
  const auto left = Number(test.first, row);
  const auto right = Number(test.count, row);
  if (!left || !right) return false;
  return Holds(*left, test.op, *right);
}

}  // namespace etwpipe::where

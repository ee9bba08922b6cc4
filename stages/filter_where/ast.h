// The tree of an expression.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/guid.h"
#include "pipeline/header_name.h"
#include "stages/filter_where/fields.h"

namespace etwpipe::where {

/// Wide enough for every 64-bit value, signed or unsigned, and for the operators over them.
__extension__ using Int128 = __int128;

enum class NodeKind : uint8_t {
  // Conditions.
  kOr,
  kAnd,
  kNot,
  kCompare,
  kIn,     ///< first child in the others
  kMatch,  ///< first child =~ text of the second
  kHas,
  kBool,
  // Values.
  kField,
  kKeyword,  ///< the mask of a keyword that the event's provider has
  kInteger,
  kDuration,
  kFileTime,
  kString,
  kGuid,
  kBitAnd,
  kNegate,
  kComplement,
};

enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

/// The operator that gives the same answer with its sides swapped.
constexpr CompareOp Swapped(CompareOp op) {
  switch (op) {
    case CompareOp::kLess: return CompareOp::kGreater;
    case CompareOp::kLessEqual: return CompareOp::kGreaterEqual;
    case CompareOp::kGreater: return CompareOp::kLess;
    case CompareOp::kGreaterEqual: return CompareOp::kLessEqual;
    case CompareOp::kEqual:
    case CompareOp::kNotEqual: break;
  }
  return op;
}

constexpr bool Holds(Int128 left, CompareOp op, Int128 right) {
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

struct Node;
using NodePtr = std::unique_ptr<Node>;

/// What the parser builds and the checker completes. Only the members of its kind are meaningful.
struct Node {
  NodeKind kind = NodeKind::kBool;
  CompareOp op = CompareOp::kEqual;  ///< kCompare
  bool truth = false;                ///< kBool
  size_t offset = 0;                 ///< place in the source, bytes
  Int128 integer = 0;                ///< kInteger, kDuration (ns), kFileTime (100 ns since 1601)
  std::string text;                  ///< kString; kKeyword; name of a kField, path of a payload field
  const FieldInfo* field = nullptr;  ///< kField
  std::vector<Guid> guids;           ///< kGuid, kString once resolved as a provider
  HeaderIdentity header;             ///< kString once resolved as a header kind
  std::vector<NodePtr> children;
};

}  // namespace etwpipe::where

// An expression compiled for one trace: a list of tests, each of which says where to go on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/event.h"
#include "stages/filter_where/ast.h"
#include "stages/filter_where/event_values.h"
#include "stages/filter_where/fields.h"

namespace re2 {
class RE2;
}

namespace etwpipe::where {

enum class TestKind : uint8_t {
  kRange8,  ///< low <= (field & mask) <= low + span, of an 8-bit member
  kRange16,
  kRange32,
  kRange64,
  kRangePayload,  ///< the same of the payload's size
  kSet,           ///< (field & mask) is in a sorted list
  kBits,          ///< (field & mask) is a number whose bit is set, in a set of small numbers
  kHeader,        ///< the header kind is in a set of kinds
  kNumbers,       ///< compares two computed numbers
  kValues,        ///< compares two sides of which one at least is known only once the event is decoded
  kMatch,         ///< a side matches a regular expression
  kHasValue,      ///< a side is not null
  kPresent,       ///< has the required flags
};

/// One test of a program. A field the event lacks makes any test false, a negated one too.
struct Test {
  TestKind kind = TestKind::kPresent;
  FieldSource source = FieldSource::kU8;  ///< kSet, kBits
  uint8_t offset = 0;                     ///< of the member in EventHeader
  uint8_t required_flags = 0;
  bool negate = false;
  CompareOp op = CompareOp::kEqual;  ///< kNumbers
  uint32_t on_true = 0;              ///< next test, or kAccept or kReject
  uint32_t on_false = 0;
  uint32_t first = 0;  ///< kSet, kBits: begin in the values; kHeader: index of the set; kNumbers: left expression;
                       ///< kValues, kMatch, kHasValue: left side
  uint32_t count = 0;  ///< kSet: values; kBits: words; kNumbers: right expression; kValues: right side; kMatch: pattern
  uint64_t mask = ~uint64_t{0};
  uint64_t low = 0;
  uint64_t span = 0;
};

/// A node of a computed number; operands are indexes of other nodes.
struct NumberNode {
  NodeKind kind = NodeKind::kInteger;  ///< kInteger, kField, kKeyword, kBitAnd, kNegate or kComplement
  bool payload = false;                ///< kField: a payload field, `left` is its slot; kKeyword: `left` is its index
  FieldSource source = FieldSource::kU8;
  uint8_t offset = 0;
  uint8_t required_flags = 0;
  uint32_t left = 0;
  uint32_t right = 0;
  Int128 value = 0;
};

/// One side of a comparison that needs a decoded event.
struct Side {
  enum class Kind : uint8_t { kText, kPayload, kConstant, kNumber };
  Kind kind = Kind::kConstant;
  TextField text = TextField::kName;  ///< kText
  uint32_t index = 0;                 ///< kPayload: slot; kNumber: a NumberNode
  std::string constant;               ///< kConstant
};

/// Bits for every header kind, then for every type of kUnknown.
using HeaderSet = std::array<uint64_t, 5>;

/// Immutable once compiled, so that any number of threads may ask it.
class Program {
 public:
  static constexpr uint32_t kAccept = 0xFFFFFFFF;
  static constexpr uint32_t kReject = 0xFFFFFFFE;

  /// Whether the event passes. No allocation once warm. `values` reads decoded events; null if needs_values() is false.
  bool Matches(const EventHeader& row, EventValues* values) const {
    if (values != nullptr) values->Load(row);
    uint32_t at = entry_;
    while (at < kReject) {
      const Test& test = tests_[at];
      at = Passes(test, row, values) ? test.on_true : test.on_false;
    }
    return at == kAccept;
  }

  /// Whether some test reads a decoded event.
  bool needs_values() const { return needs_values_; }

  /// Bit of a header in a HeaderSet.
  static size_t HeaderBit(HeaderKind kind, uint8_t header_type) {
    return kind == HeaderKind::kUnknown ? 64u + header_type : static_cast<size_t>(kind);
  }

 private:
  friend class Compiler;

  static uint64_t LoadU64(const EventHeader& row, FieldSource source, uint8_t offset) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&row) + offset;
    switch (source) {
      case FieldSource::kU8: return Load<uint8_t>(bytes);
      case FieldSource::kU16: return Load<uint16_t>(bytes);
      case FieldSource::kU32: return Load<uint32_t>(bytes);
      case FieldSource::kU64:
      case FieldSource::kI64: return Load<uint64_t>(bytes);
      case FieldSource::kPayloadSize: break;
    }
    return PayloadSize(row);
  }

  template <typename T>
  static T Load(const std::byte* bytes) {
    T value;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
  }

  static uint64_t PayloadSize(const EventHeader& row) { return uint64_t{row.record_size} - row.payload_begin; }

  // Unsigned arithmetic wraps, so one comparison serves signed and unsigned ranges alike.
  static bool InRange(const Test& test, uint64_t value) {
    return ((value & test.mask) - test.low <= test.span) != test.negate;
  }

  bool Passes(const Test& test, const EventHeader& row, EventValues* values) const {
    if ((row.flags & test.required_flags) != test.required_flags) return false;
    const auto* bytes = reinterpret_cast<const std::byte*>(&row) + test.offset;
    switch (test.kind) {
      case TestKind::kRange8: return InRange(test, Load<uint8_t>(bytes));
      case TestKind::kRange16: return InRange(test, Load<uint16_t>(bytes));
      case TestKind::kRange32: return InRange(test, Load<uint32_t>(bytes));
      case TestKind::kRange64: return InRange(test, Load<uint64_t>(bytes));
      case TestKind::kRangePayload: return InRange(test, PayloadSize(row));
      case TestKind::kSet: {
        const uint64_t value = LoadU64(row, test.source, test.offset) & test.mask;
        const auto begin = values_.begin() + test.first;
        return std::binary_search(begin, begin + test.count, value) != test.negate;
      }
      case TestKind::kBits: {
        const uint64_t value = LoadU64(row, test.source, test.offset) & test.mask;
        const bool found = value / 64 < test.count && (values_[test.first + value / 64] >> (value % 64) & 1) != 0;
        return found != test.negate;
      }
      case TestKind::kHeader: {
        const size_t bit = HeaderBit(row.kind, row.header_type);
        return (header_sets_[test.first][bit / 64] >> (bit % 64) & 1) != 0;
      }
      case TestKind::kNumbers: return CompareNumbers(test, row, values);
      case TestKind::kValues: return CompareValues(test, row, values);
      case TestKind::kMatch: return MatchesPattern(test, values);
      case TestKind::kHasValue: return HasValue(sides_[test.first], values);
      case TestKind::kPresent: return true;
    }
    return false;
  }

  bool CompareNumbers(const Test& test, const EventHeader& row, EventValues* values) const;
  bool CompareValues(const Test& test, const EventHeader& row, EventValues* values) const;
  bool MatchesPattern(const Test& test, EventValues* values) const;
  bool HasValue(const Side& side, EventValues* values) const;
  // nullopt for null: a field the event lacks makes the whole number null.
  std::optional<Int128> Number(uint32_t index, const EventHeader& row, EventValues* values) const;

  uint32_t entry_ = kReject;
  std::vector<Test> tests_;
  std::vector<uint64_t> values_;
  std::vector<HeaderSet> header_sets_;
  std::vector<NumberNode> numbers_;
  std::vector<Side> sides_;
  std::vector<std::string> paths_;  // of payload fields, by slot
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
  std::vector<std::vector<std::pair<ProviderIndex, uint64_t>>> keywords_;  // masks by provider
  bool needs_values_ = false;
};

}  // namespace etwpipe::where

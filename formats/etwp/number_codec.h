// Columns of numbers as bytes: the encodings, and which of them suits a column (FORMAT.md, "Columns").
#pragma once

#include <zstd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "formats/etwp/byte_counts.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

constexpr uint64_t ZigZag(uint64_t difference) { return difference << 1 ^ (difference >> 63 != 0 ? ~uint64_t{0} : 0); }
constexpr uint64_t UnZigZag(uint64_t value) { return value >> 1 ^ ((value & 1) != 0 ? ~uint64_t{0} : 0); }

/// How much a writer tries: estimates only, or samples through zstd.
enum class Effort : uint8_t { kEstimate, kTrial };

/// Chooses encodings and writes them. Keeps its working memory; the same values always give the same choice.
class NumberEncoder {
 public:
  explicit NumberEncoder(Effort effort = Effort::kEstimate);
  void set_effort(Effort effort) { effort_ = effort; }
  Effort effort() const { return effort_; }

  struct Choice {
    v1::Encoding encoding = v1::ENCODING_VARINT;
    size_t cost = 0;  ///< bytes that the looked-at part takes, about; to compare columns of the same length
  };
  /// The encoding that makes `values` (at least one) smallest, judged by the values at Sample()'s places.
  Choice Choose(std::span<const uint64_t> values);
  /// The same of any number of values, with about the cost of all of them; no cost if there are none.
  Choice ChooseWhole(std::span<const uint64_t> values);
  /// A rougher cost, for sorting out what is not worth a trial. `deltas`: they may be stored as differences.
  size_t Estimate(std::span<const uint64_t> values, bool deltas = true);
  /// Ranges of a column of `count` values that are looked at: (begin, end), ascending, all of a short column.
  std::vector<std::pair<size_t, size_t>> Sample(size_t count) const;
  /// Bytes that zstd makes of them, about.
  size_t PackedSize(std::span<const std::byte> bytes);
  /// Appends the bytes of the column.
  static void Write(std::span<const uint64_t> values, v1::Encoding encoding, std::vector<std::byte>& to);

 private:
  size_t CostOf(std::span<const std::byte> bytes);
  bool HasRepeats();

  Effort effort_;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
  std::vector<uint64_t> sample_;
  std::vector<uint64_t> distinct_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> packed_;
  std::array<ByteCounts, 8> planes_;
};

/// Gives the values of a column one by one, decoded some at a time. Any bytes are safe. The bytes must outlive it.
class NumberCursor {
 public:
  /// Zeros without end: a column that is absent.
  NumberCursor() {}  // NOLINT(modernize-use-equals-default): values_ stays unset
  /// False if the bytes cannot be such a column.
  bool Open(uint32_t encoding, std::span<const std::byte> bytes);
  /// Zeros without end again.
  void Reset();

  /// The next value; false at the end or on bytes that make no sense.
  bool Next(uint64_t& value) {
    if (taken_ == ready_ && !Refill()) return false;
    value = values_[taken_++];
    return true;
  }
  /// Whether every value was taken; always true of a column that has no end.
  bool at_end() const { return at_ == end_ && (taken_ == ready_ || encoding_ == v1::ENCODING_CONSTANT); }

 private:
  static constexpr size_t kAtATime = 32;

  bool Refill();
  size_t Varints();
  size_t Planes();
  size_t Fixed();
  bool Varint(uint64_t& value);
  bool LongVarint(uint64_t& value);

  uint32_t encoding_ = v1::ENCODING_CONSTANT;
  uint8_t taken_ = 0;
  uint8_t ready_ = 0;
  uint8_t width_ = 0;
  size_t stride_ = 0;  // of planes; of a dictionary the values
  uint64_t previous_ = 0;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  const std::byte* distinct_ = nullptr;
  uint64_t values_[kAtATime];
};

/// Whether this version can read it.
constexpr bool IsKnownEncoding(uint32_t encoding) {
  return encoding >= v1::ENCODING_BYTES && encoding <= v1::ENCODING_PREFIXED;
}

}  // namespace etwpipe::etwp

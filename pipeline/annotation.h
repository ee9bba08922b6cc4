// What stages add to events: typed, named columns beside a batch's rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etwpipe {

enum class AnnotationType : uint8_t { kU64, kI64, kF64, kBool, kString, kInstanceId, kU64List, kMessage, kStringList };
enum class AnnotationUnit : uint8_t { kNone, kTicks, kNanoseconds, kBytes };

/// Name, type and unit of a column. The name is `<stage>.<field>`; two stages that produce one name are a plan error.
struct AnnotationInfo {
  std::string name;
  AnnotationType type = AnnotationType::kU64;
  AnnotationUnit unit = AnnotationUnit::kNone;
  std::string message_type;  ///< full protobuf name, for kMessage only

  friend bool operator==(const AnnotationInfo&, const AnnotationInfo&) = default;
  /// The part after the last dot: the key ndjson shows the value under.
  std::string_view short_name() const {
    const size_t dot = name.rfind('.');
    return std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
  }
};

/// One value per row of the batch or null. Scalars are kept as their 64 bits; strings, those of lists and serialised
/// messages are interned in the column; lists share one array. Grows with the rows; no allocation once warm.
class AnnotationColumn {
 public:
  explicit AnnotationColumn(AnnotationInfo info) : info_(std::move(info)) {}

  const AnnotationInfo& info() const { return info_; }
  /// Makes room for `rows` rows, all null.
  void Reset(size_t rows);

  static constexpr uint32_t kNoRow = 0xFFFFFFFF;
  /// Moves values: row i then has what row from[i] had, or null for kNoRow.
  void Reorder(std::span<const uint32_t> from);

  void SetU64(size_t row, uint64_t value) { Set(row, value); }  ///< also instance ids
  void SetI64(size_t row, int64_t value) { Set(row, static_cast<uint64_t>(value)); }
  void SetF64(size_t row, double value);
  void SetBool(size_t row, bool value) { Set(row, value ? 1 : 0); }
  /// Copies the text (or serialised message) into the column, once per distinct value.
  void SetString(size_t row, std::string_view value);
  void SetList(size_t row, std::span<const uint64_t> values);
  /// The number of a text in this column, for SetTexts(): until Reset() the same text gets the same number.
  uint64_t InternText(std::string_view value);
  /// A list of texts, by their numbers.
  void SetTexts(size_t row, std::span<const uint64_t> numbers) { SetList(row, numbers); }

  bool has(size_t row) const { return row < present_.size() && present_[row] != 0; }
  size_t size() const { return present_.size(); }
  uint64_t u64(size_t row) const { return bits_[row]; }
  int64_t i64(size_t row) const { return static_cast<int64_t>(bits_[row]); }
  double f64(size_t row) const;
  /// Valid until the column changes.
  std::string_view string(size_t row) const { return strings_[bits_[row]]; }
  /// The text InternText() numbered; list_view() of a list of texts gives such numbers. Valid until the column changes.
  std::string_view text(uint64_t number) const { return strings_[number]; }
  std::vector<uint64_t> list(size_t row) const;
  /// The same without a copy; valid until the column changes.
  std::span<const uint64_t> list_view(size_t row) const {
    return std::span(list_values_).subspan(bits_[row] + 1, list_values_[bits_[row]]);
  }

 private:
  void Set(size_t row, uint64_t bits) {
    bits_[row] = bits;
    present_[row] = 1;
  }

  AnnotationInfo info_;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };

  std::vector<uint64_t> bits_;  // value, index into strings_, or begin of a list in list_values_
  std::vector<uint8_t> present_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>> string_index_;
  std::vector<uint64_t> list_values_;  // length, then that many values
};

}  // namespace etwpipe

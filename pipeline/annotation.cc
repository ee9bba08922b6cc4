#include "pipeline/annotation.h"

#include <bit>

namespace etwpipe {

void AnnotationColumn::Reset(size_t rows) {
  bits_.assign(rows, 0);
  present_.assign(rows, 0);
  strings_.clear();
  string_index_.clear();
  list_values_.clear();
}

void AnnotationColumn::Reorder(std::span<const uint32_t> from) {
  std::vector<uint64_t> bits(from.size());
  std::vector<uint8_t> present(from.size());
  for (size_t row = 0; row < from.size(); ++row) {
    if (from[row] == kNoRow || !has(from[row])) continue;
    bits[row] = bits_[from[row]];
    present[row] = 1;
  }
  bits_ = std::move(bits);
  present_ = std::move(present);
}

void AnnotationColumn::SetF64(size_t row, double value) { Set(row, std::bit_cast<uint64_t>(value)); }

double AnnotationColumn::f64(size_t row) const { return std::bit_cast<double>(bits_[row]); }

uint64_t AnnotationColumn::InternText(std::string_view value) {
  const auto found = string_index_.find(value);
  if (found != string_index_.end()) return found->second;
  string_index_.emplace(value, strings_.size());
  strings_.emplace_back(value);
  return strings_.size() - 1;
}

void AnnotationColumn::SetString(size_t row, std::string_view value) { Set(row, InternText(value)); }

void AnnotationColumn::SetList(size_t row, std::span<const uint64_t> values) {
  Set(row, list_values_.size());
  list_values_.push_back(values.size());
  list_values_.insert(list_values_.end(), values.begin(), values.end());
}

std::vector<uint64_t> AnnotationColumn::list(size_t row) const {
  const auto begin = list_values_.begin() + static_cast<ptrdiff_t>(bits_[row]);
  return {begin + 1, begin + 1 + static_cast<ptrdiff_t>(*begin)};
}

}  // namespace etwpipe

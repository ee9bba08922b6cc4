// Tables of the byte strings in the fields of a block: each stands once, in order of first use (FORMAT.md, "Tables").
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/etwp/column_set.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// A block has at most so many entries in its tables of fields, and as many in that of extended items.
constexpr size_t kMaxTableEntries = size_t{1} << 22;

/// One table while writing. Views the values.
class TableWriter {
 public:
  /// The number of a value, 0 for the first; `added` says whether it is new.
  uint64_t Intern(std::span<const std::byte> value, bool& added);
  /// Writes the table's columns.
  void Write(uint32_t context, v1::LayoutField::Text text, ColumnWriter& columns) const;

 private:
  std::unordered_map<std::string_view, uint64_t> numbers_;
  std::vector<std::string_view> entries_;
};

/// One table while reading: entries come into being as they are used.
class TableReader {
 public:
  /// False if a column has another encoding than it may have. `columns` must outlive this.
  bool Open(uint32_t context, v1::LayoutField::Text text, const ColumnReader& columns);
  /// Makes the next entry; false if there is none or it makes no sense.
  bool Advance();
  size_t size() const { return entries_.size(); }
  /// Valid as long as this object.
  std::span<const std::byte> entry(size_t number) const { return entries_[number]; }
  /// Whether every entry came into being.
  bool at_end() const { return bytes_.empty() && sizes_.at_end(); }

 private:
  bool AdvanceText();
  std::span<std::byte> Room(size_t size);

  v1::LayoutField::Text text_ = v1::LayoutField::TEXT_NONE;
  NumberCursor sizes_;
  std::span<const std::byte> bytes_;
  std::vector<std::span<const std::byte>> entries_;
  std::deque<std::vector<std::byte>> wide_;  // UTF-16 of the entries that stand as UTF-8; pieces never move
  size_t wide_used_ = 0;                     // of the last piece
};

/// Tables by context and form.
template <typename Table>
using Tables = std::map<std::pair<uint32_t, v1::LayoutField::Text>, Table>;

}  // namespace etwpipe::etwp

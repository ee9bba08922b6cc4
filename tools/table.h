// Text in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace etwpipe {

/// Rows of cells, padded to the widest cell of a column (counted in code points). Columns are two blanks apart; the
/// last one is not padded. Control characters in cells show as '?'.
class Table {
 public:
  enum class Align : unsigned char { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell per column.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// The titles, unless all are empty, then the rows; each line behind `indent`.
  std::string ToText(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` fit for a terminal: valid UTF-8, control characters as '?'.
std::string Printable(std::string_view text);

/// 12,345,678.
std::string Grouped(uint64_t value);

}  // namespace etwpipe

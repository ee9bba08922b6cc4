#include "tools/table.h"

#include <utf8.h>

#include <algorithm>

#include "tools/json_writer.h"

namespace etwpipe {
namespace {

size_t Width(std::string_view text) { return static_cast<size_t>(utf8::unchecked::distance(text.begin(), text.end())); }

}  // namespace

std::string Table::ToText(std::string_view indent) const {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  const bool titled = std::any_of(titles.begin(), titles.end(), [](const std::string& t) { return !t.empty(); });
  if (titled) lines.push_back(titles);
  for (const auto& row : rows_) {
    auto& line = lines.emplace_back();
    for (const auto& cell : row) line.push_back(Printable(cell));
  }

  std::vector<size_t> widths(columns_.size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    text += indent;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string pad(widths[i] - Width(line[i]), ' ');
      const bool last = i + 1 == line.size();
      if (columns_[i].align == Align::kRight) text += pad;
      text += line[i];
      if (columns_[i].align == Align::kLeft && !last) text += pad;
      if (!last) text += "  ";
    }
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text;
}

std::string Printable(std::string_view text) {
  std::string repaired;
  std::string printable(ValidUtf8(text, repaired));
  for (char& c : printable) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return printable;
}

std::string Grouped(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) grouped.push_back(',');
    grouped.push_back(digits[i]);
  }
  return grouped;
}

}  // namespace etwpipe

// Events as csv: RFC 4180 with LF line ends; a null is an empty cell.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/event_rows.h"

namespace etwpipe {

/// Characters as they are.
void AppendChars(fmt::memory_buffer& out, std::string_view text);
/// A cell, in quotes if it must be. Text that is not UTF-8 is repaired.
void AppendCell(fmt::memory_buffer& out, std::string_view text);
/// An annotation that is there, as a word or a list of words; texts of a list stand with ';' between them.
void AppendAnnotation(fmt::memory_buffer& out, const AnnotationColumn& column, size_t index);
/// Texts of a list of texts in one line, with ';' between them.
std::string JoinTexts(const AnnotationColumn& column, std::span<const uint64_t> numbers);

/// The titles of the columns of every event, and their cells; no comma at the end.
std::string_view CsvHeaderTitles();
void AppendCsvHeader(fmt::memory_buffer& out, const DecodedEvent& event, const ShownIds& ids, TimeText& time);

/// One table for all events.
/// All fields of an event are one cell of JSON.
class CsvRows {
 public:
  explicit CsvRows(const RowsArgs& args);
  /// The first line of a file.
  static std::string Titles(bool fields, bool messages, bool payload, const std::vector<std::string>& annotation_keys);
  void Append(const EventHeader& row, size_t index);
  size_t size() const { return text_.size(); }
  std::string Take() { return std::string(text_.data(), text_.size()); }

 private:
  const RowsArgs& args_;
  IdColumns ids_;
  fmt::memory_buffer text_;
  TimeText time_;
  JsonWriter json_;
  schema::Value value_;
  std::string message_;
  std::string hex_;
};

}  // namespace etwpipe

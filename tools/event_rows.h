// One event as one line, in each of the formats of `dump`.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/batch.h"
#include "pipeline/trace_context.h"
#include "tools/json_writer.h"
#include "tools/time_text.h"

namespace etwpipe {

/// What the lines of one batch need to know.
struct RowsArgs {
  const TraceContext& trace;
  const EventBatch& batch;
  std::optional<int32_t> bias_minutes;  ///< for times; nullopt is UTC
  bool payload = false;
  /// Columns to print, null where the batch lacks one, and their keys.
  const std::vector<const AnnotationColumn*>& annotations;
  const std::vector<std::string>& annotation_keys;
};

/// Remembers the text of the last provider: events of one provider come in runs.
class ProviderCache {
 public:
  explicit ProviderCache(const TraceContext& trace) : trace_(trace) {}
  /// Makes the others speak of the row's provider; they are empty where it has none.
  void Load(const EventHeader& row);
  std::string_view guid() const { return guid_; }
  std::string_view name() const { return name_; }
  /// For people: ProviderText() of tools/trace_json.h.
  std::string_view text() const { return text_; }

 private:
  const TraceContext& trace_;
  std::optional<ProviderIndex> loaded_;
  std::string guid_;
  std::string_view name_;
  std::string text_;
};

/// A JSON object per line; keys as the README of tools lists them.
class NdjsonRows {
 public:
  explicit NdjsonRows(const RowsArgs& args);
  void Append(const EventHeader& row, size_t index);
  size_t size() const { return json_.text().size(); }
  std::string Take() { return std::string(json_.text()); }

 private:
  void AppendAnnotation(const AnnotationColumn& column, size_t index);

  const RowsArgs& args_;
  JsonWriter json_;
  TimeText time_;
  ProviderCache provider_;
  std::string hex_;
};

/// RFC 4180 with LF line ends; a null is an empty cell.
class CsvRows {
 public:
  explicit CsvRows(const RowsArgs& args);
  /// The first line of a file.
  static std::string Titles(bool payload, const std::vector<std::string>& annotation_keys);
  void Append(const EventHeader& row, size_t index);
  size_t size() const { return text_.size(); }
  std::string Take() { return std::string(text_.data(), text_.size()); }

 private:
  const RowsArgs& args_;
  fmt::memory_buffer text_;
  TimeText time_;
  ProviderCache provider_;
  std::string hex_;
};

/// Aligned columns for people.
class TextRows {
 public:
  explicit TextRows(const RowsArgs& args);
  static std::string Titles(bool local);
  void Append(const EventHeader& row, size_t index);
  size_t size() const { return text_.size(); }
  std::string Take() { return std::string(text_.data(), text_.size()); }

 private:
  const RowsArgs& args_;
  fmt::memory_buffer text_;
  TimeText time_;
  ProviderCache provider_;
  std::string hex_;
};

}  // namespace etwpipe

// One event as one line, in each of the formats of `dump`.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/value_text.h"
#include "pipeline/batch.h"
#include "pipeline/trace_context.h"
#include "tools/decoded_event.h"
#include "tools/json_writer.h"
#include "tools/shown_ids.h"
#include "tools/time_text.h"

namespace etwpipe {

/// What the lines of one batch need to know.
struct RowsArgs {
  const TraceContext& trace;
  const EventBatch& batch;
  DecodedEvent& event;                  ///< for the rows' own use; keeps what it learns
  std::optional<int32_t> bias_minutes;  ///< for times; nullopt is UTC
  bool fields = false;                  ///< decode payloads
  bool messages = false;                ///< fill in message texts; implies that payloads are decoded
  bool payload = false;                 ///< bytes as hex
  /// Columns to print, null where the batch lacks one, and their keys.
  const std::vector<const AnnotationColumn*>& annotations;
  const std::vector<std::string>& annotation_keys;
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
  IdColumns ids_;
  JsonWriter json_;
  TimeText time_;
  schema::Value value_;
  std::string text_;
};

/// For people: time, cpu, pid, tid, then what the event is and its fields; without fields aligned header columns.
class TextRows {
 public:
  explicit TextRows(const RowsArgs& args);
  static std::string Titles(bool local, bool fields);
  void Append(const EventHeader& row, size_t index);
  size_t size() const { return text_.size(); }
  std::string Take() { return std::string(text_.data(), text_.size()); }

 private:
  void AppendHeader(const EventHeader& row);
  void AppendEvent(const EventHeader& row);
  // The leaf frames of a stack; how many more there are.
  void AppendFirstTexts(const AnnotationColumn& column, size_t index);

  const RowsArgs& args_;
  IdColumns ids_;
  fmt::memory_buffer text_;
  TimeText time_;
  schema::Value value_;
  std::string line_;
  std::string hex_;
};

}  // namespace etwpipe

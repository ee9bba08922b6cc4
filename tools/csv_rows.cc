#include "tools/csv_rows.h"

#include <iterator>

#include "pipeline/header_name.h"
#include "tools/fields_json.h"
#include "tools/fields_text.h"
#include "tools/hex_text.h"
#include "tools/message_json.h"

namespace etwpipe {
namespace {

constexpr std::string_view kTitles =
    "id,ts,time,cpu,pid,tid,header,provider,provider_name,component_id,name,event_id,version,opcode,level,task,"
    "keyword,size";

void AppendNumber(fmt::memory_buffer& out, auto value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.data() + digits.size());
}

}  // namespace

void AppendChars(fmt::memory_buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

void AppendCell(fmt::memory_buffer& out, std::string_view text) {
  std::string repaired;
  const std::string_view valid = ValidUtf8(text, repaired);
  if (valid.find_first_of("\",\r\n") == std::string_view::npos) return AppendChars(out, valid);
  out.push_back('"');
  for (const char c : valid) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

void AppendAnnotation(fmt::memory_buffer& out, const AnnotationColumn& column, size_t index) {
  switch (column.info().type) {
    case AnnotationType::kU64:
    case AnnotationType::kInstanceId: return AppendNumber(out, column.u64(index));
    case AnnotationType::kI64: return AppendNumber(out, column.i64(index));
    case AnnotationType::kF64: fmt::format_to(std::back_inserter(out), "{}", column.f64(index)); return;
    case AnnotationType::kBool: return AppendChars(out, column.u64(index) != 0 ? "true" : "false");
    case AnnotationType::kString: return AppendCell(out, column.string(index));
    case AnnotationType::kMessage: {
      JsonWriter json;
      WriteMessage(json, column.info().message_type, column.string(index));
      return AppendCell(out, json.text());
    }
    case AnnotationType::kU64List:
      fmt::format_to(std::back_inserter(out), "{}", fmt::join(column.list_view(index), " "));
      return;
    case AnnotationType::kStringList: return AppendCell(out, JoinTexts(column, column.list_view(index)));
  }
}

std::string JoinTexts(const AnnotationColumn& column, std::span<const uint64_t> numbers) {
  std::string joined;
  for (const uint64_t number : numbers) {
    if (!joined.empty()) joined += ';';
    joined += column.text(number);
  }
  return joined;
}

std::string_view CsvHeaderTitles() { return kTitles; }

void AppendCsvHeader(fmt::memory_buffer& out, const DecodedEvent& event, const ShownIds& ids, TimeText& time) {
  const EventHeader& row = event.row();
  const auto number = [&](auto value) {
    AppendNumber(out, value);
    out.push_back(',');
  };
  const auto cell = [&](std::string_view value) {
    AppendCell(out, value);
    out.push_back(',');
  };
  const auto id_or_empty = [&](const std::optional<uint32_t>& id) { id ? number(*id) : cell(""); };
  number(row.instance_id);
  number(row.timestamp);
  cell(time.Format(row.timestamp));
  number(uint32_t{row.cpu});
  id_or_empty(ids.pid);
  id_or_empty(ids.tid);
  cell(HeaderName(row.kind, row.header_type));
  cell(event.provider_guid());
  cell(event.provider_name());
  const auto component = MessageComponent(row);
  component ? number(*component) : cell("");
  cell(event.name());
  number(uint32_t{row.id});
  number(uint32_t{row.version});
  number(uint32_t{row.opcode});
  number(uint32_t{row.level});
  number(uint32_t{row.task});
  fmt::format_to(std::back_inserter(out), "0x{:x},", row.keyword);
  AppendNumber(out, uint32_t{row.record_size});
}

CsvRows::CsvRows(const RowsArgs& args)
    : args_(args), ids_(args.batch), time_(args.trace.info.clock, args.bias_minutes) {}

std::string CsvRows::Titles(bool fields, bool messages, bool payload, const std::vector<std::string>& annotation_keys) {
  fmt::memory_buffer text;
  AppendChars(text, kTitles);
  if (fields) AppendChars(text, ",fields");
  if (messages) AppendChars(text, ",message");
  if (fields || payload) AppendChars(text, ",payload");
  for (const auto& key : annotation_keys) {
    text.push_back(',');
    AppendCell(text, key);
  }
  text.push_back('\n');
  return fmt::to_string(text);
}

void CsvRows::Append(const EventHeader& row, size_t index) {
  DecodedEvent& event = args_.event;
  event.Load(row, args_.fields || args_.messages);
  AppendCsvHeader(text_, event, ids_.Of(row, index), time_);
  if (args_.fields) {
    text_.push_back(',');
    if (event.schema() != nullptr) {
      json_.Clear();
      WriteFields(json_, event, value_);
      AppendCell(text_, json_.text());
    }
  }
  if (args_.messages) {
    text_.push_back(',');
    if (event.schema() != nullptr) {
      message_.clear();
      AppendMessage(event, value_, message_);
      AppendCell(text_, message_);
    }
  }
  if (args_.fields || args_.payload) {
    text_.push_back(',');
    if (args_.payload || event.schema() == nullptr) AppendChars(text_, HexText(row.payload(), hex_));
  }
  for (const AnnotationColumn* column : args_.annotations) {
    text_.push_back(',');
    if (column != nullptr && column->has(index)) AppendAnnotation(text_, *column, index);
  }
  text_.push_back('\n');
}

}  // namespace etwpipe

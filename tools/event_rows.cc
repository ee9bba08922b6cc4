#include "tools/event_rows.h"

#include <iterator>

#include "formats/etl/record.h"
#include "pipeline/header_name.h"
#include "tools/fields_json.h"
#include "tools/fields_text.h"
#include "tools/hex_text.h"
#include "tools/trace_json.h"

namespace etwpipe {
namespace {

constexpr std::string_view kCsvTitles =
    "id,ts,time,cpu,pid,tid,header,provider,provider_name,component_id,name,event_id,version,opcode,level,task,"
    "keyword,size";

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::optional<uint32_t> ComponentId(const EventHeader& row) {
  uint32_t component = 0;
  const bool has =
      row.kind == HeaderKind::kMessage && !row.has(kHasProvider) && etl::MessageComponentId(row, component);
  return has ? std::optional(component) : std::nullopt;
}

void AppendText(fmt::memory_buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

void AppendNumber(fmt::memory_buffer& out, auto value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.data() + digits.size());
}

// A csv cell: quoted if it must be.
void AppendCell(fmt::memory_buffer& out, std::string_view text) {
  std::string repaired;
  const std::string_view valid = ValidUtf8(text, repaired);
  if (valid.find_first_of("\",\r\n") == std::string_view::npos) return AppendText(out, valid);
  out.push_back('"');
  for (const char c : valid) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

// A value that is there, as a word or a list of words.
void AppendAnnotation(fmt::memory_buffer& out, const AnnotationColumn& column, size_t index) {
  switch (column.info().type) {
    case AnnotationType::kU64:
    case AnnotationType::kInstanceId: return AppendNumber(out, column.u64(index));
    case AnnotationType::kI64: return AppendNumber(out, column.i64(index));
    case AnnotationType::kF64: fmt::format_to(std::back_inserter(out), "{}", column.f64(index)); return;
    case AnnotationType::kBool: return AppendText(out, column.u64(index) != 0 ? "true" : "false");
    case AnnotationType::kString: return AppendCell(out, column.string(index));
    case AnnotationType::kMessage: {
      std::string hex;
      return AppendText(out, HexText(BytesOf(column.string(index)), hex));
    }
    case AnnotationType::kU64List:
      fmt::format_to(std::back_inserter(out), "{}", fmt::join(column.list(index), " "));
      return;
  }
}

}  // namespace

NdjsonRows::NdjsonRows(const RowsArgs& args)
    : args_(args), time_(args.trace.info.clock, args.bias_minutes) {}

void NdjsonRows::Append(const EventHeader& row, size_t index) {
  DecodedEvent& event = args_.event;
  event.Load(row, args_.fields || args_.messages);
  const auto id_or_null = [&](uint32_t id) { row.has(kHasPid) ? json_.Uint(id) : json_.Null(); };
  json_.BeginObject();
  json_.Key("id").Id(row.instance_id);
  json_.Key("ts").Int(row.timestamp);
  json_.Key("time").String(time_.Format(row.timestamp));
  json_.Key("cpu").Uint(row.cpu);
  json_.Key("pid");
  id_or_null(row.pid);
  json_.Key("tid");
  id_or_null(row.tid);
  json_.Key("header").String(HeaderName(row.kind, row.header_type));
  json_.Key("provider").StringOrNull(event.provider_guid());
  json_.Key("provider_name").StringOrNull(event.provider_name());
  if (const auto component = ComponentId(row)) json_.Key("component_id").Uint(*component);
  json_.Key("name").StringOrNull(event.name());
  json_.Key("event_id").Uint(row.id);
  json_.Key("version").Uint(row.version);
  json_.Key("opcode").Uint(row.opcode);
  json_.Key("level").Uint(row.level);
  json_.Key("task").Uint(row.task);
  json_.Key("keyword").Hex(row.keyword);
  json_.Key("size").Uint(row.record_size);
  if (args_.fields) {
    WriteExtendedItems(json_, row, value_);
    json_.Key("fields");
    event.schema() != nullptr ? WriteFields(json_, event, value_) : json_.Null();
  }
  if (args_.messages && event.schema() != nullptr && !event.schema()->message.empty()) {
    text_.clear();
    AppendMessage(event, value_, text_);
    json_.Key("message").String(text_);
  }
  if (args_.payload || (args_.fields && event.schema() == nullptr)) {
    json_.Key("payload").String(HexText(row.payload(), text_));
  }
  for (size_t i = 0; i < args_.annotations.size(); ++i) {
    json_.Key(args_.annotation_keys[i]);
    const AnnotationColumn* column = args_.annotations[i];
    if (column == nullptr || !column->has(index)) {
      json_.Null();
    } else {
      AppendAnnotation(*column, index);
    }
  }
  json_.EndObject();
  json_.EndLine();
}

void NdjsonRows::AppendAnnotation(const AnnotationColumn& column, size_t index) {
  switch (column.info().type) {
    case AnnotationType::kU64: return json_.Uint(column.u64(index));
    case AnnotationType::kI64: return json_.Int(column.i64(index));
    case AnnotationType::kF64: return json_.Double(column.f64(index));
    case AnnotationType::kBool: return json_.Bool(column.u64(index) != 0);
    case AnnotationType::kInstanceId: return json_.Id(column.u64(index));
    case AnnotationType::kString: return json_.String(column.string(index));
    case AnnotationType::kMessage: return json_.String(HexText(BytesOf(column.string(index)), text_));
    case AnnotationType::kU64List:
      json_.BeginArray();
      for (const uint64_t value : column.list(index)) json_.Uint(value);
      json_.EndArray();
      return;
  }
}

CsvRows::CsvRows(const RowsArgs& args)
    : args_(args), time_(args.trace.info.clock, args.bias_minutes) {}

std::string CsvRows::Titles(bool fields, bool payload, const std::vector<std::string>& annotation_keys) {
  fmt::memory_buffer text;
  AppendText(text, kCsvTitles);
  if (fields) AppendText(text, ",fields");
  if (payload) AppendText(text, ",payload");
  for (const auto& key : annotation_keys) {
    text.push_back(',');
    AppendCell(text, key);
  }
  text.push_back('\n');
  return fmt::to_string(text);
}

void CsvRows::Append(const EventHeader& row, size_t index) {
  DecodedEvent& event = args_.event;
  event.Load(row, args_.fields);
  const auto number = [&](auto value) {
    AppendNumber(text_, value);
    text_.push_back(',');
  };
  const auto cell = [&](std::string_view value) {
    AppendCell(text_, value);
    text_.push_back(',');
  };
  const auto id_or_empty = [&](uint32_t id) { row.has(kHasPid) ? number(id) : cell(""); };
  number(row.instance_id);
  number(row.timestamp);
  cell(time_.Format(row.timestamp));
  number(uint32_t{row.cpu});
  id_or_empty(row.pid);
  id_or_empty(row.tid);
  cell(HeaderName(row.kind, row.header_type));
  cell(event.provider_guid());
  cell(event.provider_name());
  const auto component = ComponentId(row);
  component ? number(*component) : cell("");
  cell(event.name());
  number(uint32_t{row.id});
  number(uint32_t{row.version});
  number(uint32_t{row.opcode});
  number(uint32_t{row.level});
  number(uint32_t{row.task});
  fmt::format_to(std::back_inserter(text_), "0x{:x},", row.keyword);
  AppendNumber(text_, uint32_t{row.record_size});
  if (args_.fields) {
    text_.push_back(',');
    if (event.schema() != nullptr) {
      json_.Clear();
      WriteFields(json_, event, value_);
      AppendCell(text_, json_.text());
    }
  }
  if (args_.payload) {
    text_.push_back(',');
    AppendText(text_, HexText(row.payload(), hex_));
  }
  for (const AnnotationColumn* column : args_.annotations) {
    text_.push_back(',');
    if (column != nullptr && column->has(index)) AppendAnnotation(text_, *column, index);
  }
  text_.push_back('\n');
}

TextRows::TextRows(const RowsArgs& args)
    : args_(args), time_(args.trace.info.clock, args.bias_minutes) {}

std::string TextRows::Titles(bool local, bool fields) {
  const int time_width = local ? 33 : 28;
  if (fields) return fmt::format("{:<{}} {:>3} {:>7} {:>7} event\n", "time", time_width, "cpu", "pid", "tid");
  return fmt::format("{:<{}} {:>3} {:>7} {:>7} {:>5} {:>3} {:>3} {:>3} {:>5} {:<15} provider\n", "time", time_width,
                     "cpu", "pid", "tid", "id", "op", "ver", "lvl", "size", "header");
}

void TextRows::Append(const EventHeader& row, size_t index) {
  args_.event.Load(row, args_.fields || args_.messages);
  const auto out = std::back_inserter(text_);
  fmt::format_to(out, "{} {:>3} ", time_.Format(row.timestamp), row.cpu);
  for (const uint32_t id : {row.pid, row.tid}) {
    if (row.has(kHasPid) && id != kNoId) {
      fmt::format_to(out, "{:>7} ", id);
    } else {
      fmt::format_to(out, "{:>7} ", "-");
    }
  }
  args_.fields ? AppendEvent(row) : AppendHeader(row);
  if (args_.payload || (args_.fields && args_.event.schema() == nullptr)) {
    fmt::format_to(out, " payload={}", HexText(row.payload(), hex_));
  }
  for (size_t i = 0; i < args_.annotations.size(); ++i) {
    const AnnotationColumn* column = args_.annotations[i];
    if (column == nullptr || !column->has(index)) continue;
    fmt::format_to(out, " {}=", args_.annotation_keys[i]);
    AppendAnnotation(text_, *column, index);
  }
  text_.push_back('\n');
}

void TextRows::AppendHeader(const EventHeader& row) {
  const auto out = std::back_inserter(text_);
  fmt::format_to(out, "{:>5} {:>3} {:>3} {:>3} {:>5} {:<15} ", row.id, row.opcode, row.version, row.level,
                 row.record_size, HeaderName(row.kind, row.header_type));
  if (const auto component = ComponentId(row)) {
    fmt::format_to(out, "component {}", *component);
  } else {
    AppendText(text_, ProviderText(row.has(kHasProvider) ? std::optional(args_.trace.provider_guid(row)) : std::nullopt));
  }
}

void TextRows::AppendEvent(const EventHeader& row) {
  const DecodedEvent& event = args_.event;
  const auto out = std::back_inserter(text_);
  if (const auto component = ComponentId(row)) {
    fmt::format_to(out, "component({})", *component);
  } else {
    AppendText(text_, !event.provider_name().empty() ? event.provider_name()
                      : row.has(kHasProvider)        ? event.provider_guid()
                                                     : HeaderName(row.kind, row.header_type));
  }
  if (event.schema() == nullptr) {
    const bool by_id = row.kind == HeaderKind::kMessage || !schema::SchemaRegistry::IsClassic(row.kind);
    if (by_id) {
      fmt::format_to(out, "/id({})", row.id);
    } else {
      fmt::format_to(out, "/opcode({})", row.opcode);
    }
    if (row.version != 0) fmt::format_to(out, " v{}", row.version);
    return;
  }
  fmt::format_to(out, "/{}", event.name());
  line_.clear();
  if (args_.messages && !event.schema()->message.empty()) {
    line_ += " \"";
    AppendMessage(event, value_, line_);
    line_ += '"';
  } else {
    AppendFields(event, value_, line_);
  }
  AppendText(text_, line_);
}

}  // namespace etwpipe

#include "tools/event_rows.h"

#include <iterator>

#include "formats/etl/record.h"
#include "formats/schema/provider_names.h"
#include "pipeline/header_name.h"
#include "tools/trace_json.h"

namespace etwpipe {
namespace {

constexpr std::string_view kCsvTitles =
    "id,ts,time,cpu,pid,tid,header,provider,provider_name,component_id,name,event_id,version,opcode,level,task,"
    "keyword,size";

std::string_view HexText(std::span<const std::byte> bytes, std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  text.resize(bytes.size() * 2);
  size_t at = 0;
  for (const std::byte byte : bytes) {
    text[at++] = kDigits[std::to_integer<unsigned>(byte) >> 4];
    text[at++] = kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

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

void ProviderCache::Load(const EventHeader& row) {
  if (!row.has(kHasProvider)) {
    loaded_.reset();
    guid_.clear();
    name_ = {};
    text_ = ProviderText(std::nullopt);
    return;
  }
  if (loaded_ == row.provider) return;
  loaded_ = row.provider;
  const Guid& guid = trace_.provider_guid(row);
  guid_ = ToString(guid);
  const auto* known = schema::FindProvider(guid);
  name_ = known == nullptr ? std::string_view() : known->name;
  text_ = ProviderText(guid);
}

NdjsonRows::NdjsonRows(const RowsArgs& args)
    : args_(args), time_(args.trace.info.clock, args.bias_minutes), provider_(args.trace) {}

void NdjsonRows::Append(const EventHeader& row, size_t index) {
  provider_.Load(row);
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
  json_.Key("provider").StringOrNull(provider_.guid());
  json_.Key("provider_name").StringOrNull(provider_.name());
  if (const auto component = ComponentId(row)) json_.Key("component_id").Uint(*component);
  json_.Key("name").Null();
  json_.Key("event_id").Uint(row.id);
  json_.Key("version").Uint(row.version);
  json_.Key("opcode").Uint(row.opcode);
  json_.Key("level").Uint(row.level);
  json_.Key("task").Uint(row.task);
  json_.Key("keyword").Hex(row.keyword);
  json_.Key("size").Uint(row.record_size);
  if (args_.payload) json_.Key("payload").String(HexText(row.payload(), hex_));
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
    case AnnotationType::kMessage: return json_.String(HexText(BytesOf(column.string(index)), hex_));
    case AnnotationType::kU64List:
      json_.BeginArray();
      for (const uint64_t value : column.list(index)) json_.Uint(value);
      json_.EndArray();
      return;
  }
}

CsvRows::CsvRows(const RowsArgs& args)
    : args_(args), time_(args.trace.info.clock, args.bias_minutes), provider_(args.trace) {}

std::string CsvRows::Titles(bool payload, const std::vector<std::string>& annotation_keys) {
  fmt::memory_buffer text;
  AppendText(text, kCsvTitles);
  if (payload) AppendText(text, ",payload");
  for (const auto& key : annotation_keys) {
    text.push_back(',');
    AppendCell(text, key);
  }
  text.push_back('\n');
  return fmt::to_string(text);
}

void CsvRows::Append(const EventHeader& row, size_t index) {
  provider_.Load(row);
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
  cell(provider_.guid());
  cell(provider_.name());
  const auto component = ComponentId(row);
  component ? number(*component) : cell("");
  cell("");
  number(uint32_t{row.id});
  number(uint32_t{row.version});
  number(uint32_t{row.opcode});
  number(uint32_t{row.level});
  number(uint32_t{row.task});
  fmt::format_to(std::back_inserter(text_), "0x{:x},", row.keyword);
  AppendNumber(text_, uint32_t{row.record_size});
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
    : args_(args), time_(args.trace.info.clock, args.bias_minutes), provider_(args.trace) {}

std::string TextRows::Titles(bool local) {
  return fmt::format("{:<{}} {:>3} {:>7} {:>7} {:>5} {:>3} {:>3} {:>3} {:>5} {:<15} provider\n", "time",
                     local ? 33 : 28, "cpu", "pid", "tid", "id", "op", "ver", "lvl", "size", "header");
}

void TextRows::Append(const EventHeader& row, size_t index) {
  provider_.Load(row);
  const auto out = std::back_inserter(text_);
  fmt::format_to(out, "{} {:>3} ", time_.Format(row.timestamp), row.cpu);
  for (const uint32_t id : {row.pid, row.tid}) {
    if (row.has(kHasPid) && id != kNoId) {
      fmt::format_to(out, "{:>7} ", id);
    } else {
      fmt::format_to(out, "{:>7} ", "-");
    }
  }
  fmt::format_to(out, "{:>5} {:>3} {:>3} {:>3} {:>5} {:<15} ", row.id, row.opcode, row.version, row.level,
                 row.record_size, HeaderName(row.kind, row.header_type));
  const auto component = ComponentId(row);
  if (component) {
    fmt::format_to(out, "component {}", *component);
  } else {
    AppendText(text_, provider_.text());
  }
  if (args_.payload) fmt::format_to(out, " payload={}", HexText(row.payload(), hex_));
  for (size_t i = 0; i < args_.annotations.size(); ++i) {
    const AnnotationColumn* column = args_.annotations[i];
    if (column == nullptr || !column->has(index)) continue;
    fmt::format_to(out, " {}=", args_.annotation_keys[i]);
    AppendAnnotation(text_, *column, index);
  }
  text_.push_back('\n');
}

}  // namespace etwpipe

#include "tools/event_rows.h"

#include <algorithm>
#include <iterator>

#include "pipeline/header_name.h"
#include "tools/csv_rows.h"
#include "tools/fields_json.h"
#include "tools/fields_text.h"
#include "tools/hex_text.h"
#include "tools/message_json.h"
#include "tools/trace_json.h"

namespace etwpipe {
NdjsonRows::NdjsonRows(const RowsArgs& args)
    : args_(args), ids_(args.batch), time_(args.trace.info.clock, args.bias_minutes) {}

void NdjsonRows::Append(const EventHeader& row, size_t index) {
  DecodedEvent& event = args_.event;
  event.Load(row, args_.fields || args_.messages);
  const ShownIds ids = ids_.Of(row, index);
  const auto id_or_null = [&](const std::optional<uint32_t>& id) { id ? json_.Uint(*id) : json_.Null(); };
  json_.BeginObject();
  json_.Key("id").Id(row.instance_id);
  json_.Key("ts").Int(row.timestamp);
  json_.Key("time").String(time_.Format(row.timestamp));
  json_.Key("cpu").Uint(row.cpu);
  json_.Key("pid");
  id_or_null(ids.pid);
  json_.Key("tid");
  id_or_null(ids.tid);
  json_.Key("header").String(HeaderName(row.kind, row.header_type));
  json_.Key("provider").StringOrNull(event.provider_guid());
  json_.Key("provider_name").StringOrNull(event.provider_name());
  if (const auto component = MessageComponent(row)) json_.Key("component_id").Uint(*component);
  json_.Key("name").StringOrNull(event.name());
  json_.Key("event_id").Uint(row.id);
  json_.Key("version").Uint(row.version);
  json_.Key("opcode").Uint(row.opcode);
  json_.Key("level").Uint(row.level);
  json_.Key("task").Uint(row.task);
  json_.Key("keyword").Hex(row.keyword);
  json_.Key("size").Uint(row.record_size);
  if (args_.fields) {
    // A key stands once: names of frames say more than their addresses.
    const auto& keys = args_.annotation_keys;
    const bool named = std::find(keys.begin(), keys.end(), "stack") != keys.end();
    WriteExtendedItems(json_, row, named ? RawStack::kHide : RawStack::kShow, value_);
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
    case AnnotationType::kMessage: return WriteMessage(json_, column.info().message_type, column.string(index));
    case AnnotationType::kU64List:
      json_.BeginArray();
      for (const uint64_t value : column.list_view(index)) json_.Uint(value);
      json_.EndArray();
      return;
    case AnnotationType::kStringList:
      json_.BeginArray();
      for (const uint64_t number : column.list_view(index)) json_.String(column.text(number));
      json_.EndArray();
      return;
  }
}

TextRows::TextRows(const RowsArgs& args)
    : args_(args), ids_(args.batch), time_(args.trace.info.clock, args.bias_minutes) {}

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
  const ShownIds ids = ids_.Of(row, index);
  for (const auto& id : {ids.pid, ids.tid}) {
    if (id && *id != kNoId) {
      fmt::format_to(out, "{:>7} ", *id);
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
    column->info().type == AnnotationType::kStringList ? AppendFirstTexts(*column, index)
                                                       : AppendAnnotation(text_, *column, index);
  }
  text_.push_back('\n');
}

void TextRows::AppendFirstTexts(const AnnotationColumn& column, size_t index) {
  constexpr size_t kShown = 3;
  const auto numbers = column.list_view(index);
  const size_t shown = std::min(numbers.size(), kShown);
  AppendCell(text_, JoinTexts(column, numbers.first(shown)));
  if (numbers.size() > shown) fmt::format_to(std::back_inserter(text_), ";+{}", numbers.size() - shown);
}

void TextRows::AppendHeader(const EventHeader& row) {
  const auto out = std::back_inserter(text_);
  fmt::format_to(out, "{:>5} {:>3} {:>3} {:>3} {:>5} {:<15} ", row.id, row.opcode, row.version, row.level,
                 row.record_size, HeaderName(row.kind, row.header_type));
  if (const auto component = MessageComponent(row)) {
    fmt::format_to(out, "component {}", *component);
  } else {
    AppendChars(text_,
                ProviderText(row.has(kHasProvider) ? std::optional(args_.trace.provider_guid(row)) : std::nullopt));
  }
}

void TextRows::AppendEvent(const EventHeader& row) {
  const DecodedEvent& event = args_.event;
  const auto out = std::back_inserter(text_);
  if (event.schema() == nullptr) {
    if (const auto component = MessageComponent(row)) {
      fmt::format_to(out, "component({})", *component);
    } else if (row.has(kHasProvider)) {
      AppendChars(text_, ProviderText(args_.trace.provider_guid(row)));
    } else {
      AppendChars(text_, HeaderName(row.kind, row.header_type));
    }
    const bool by_id = row.kind == HeaderKind::kMessage || !schema::SchemaRegistry::IsClassic(row.kind);
    fmt::format_to(out, "/{}({})", by_id ? "id" : "opcode", by_id ? row.id : row.opcode);
    if (row.version != 0) fmt::format_to(out, " v{}", row.version);
    return;
  }
  line_.clear();
  AppendPrintable(event.provider_name(), line_);
  line_ += '/';
  AppendPrintable(event.name(), line_);
  if (args_.messages && !event.schema()->message.empty()) {
    line_ += " \"";
    AppendMessage(event, value_, line_);
    line_ += '"';
  } else {
    AppendFields(event, value_, line_);
  }
  AppendChars(text_, line_);
}

}  // namespace etwpipe

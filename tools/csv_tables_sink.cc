#include "tools/csv_tables_sink.h"

#include <fmt/format.h>

#include <span>
#include <unordered_map>

#include "tools/annotation_keys.h"
#include "tools/csv_rows.h"
#include "tools/fields_json.h"
#include "tools/hex_text.h"
#include "tools/shown_ids.h"

namespace etwpipe {
namespace {

// Text that a table keeps before it is written: few and large writes, and no more than one open file at a time.
constexpr size_t kFlushBytes = 256 * 1024;
constexpr size_t kMaxFileName = 120;

// A kind in one batch.
struct KindRows {
  std::string kind;    // what its file is named after
  std::string titles;  // tells tables apart
  fmt::memory_buffer text;
};

// The cells of one event: each top-level field that takes part has one.
class FieldCells {
 public:
  FieldCells(const DecodedEvent& event, schema::Value& value, JsonWriter& json, fmt::memory_buffer& out)
      : event_(event), schema_(*event.schema()), value_(value), json_(json), out_(out) {}

  void Append() {
    const auto& tokens = event_.fields().tokens;
    const auto payload = event_.row().payload();
    size_t at = 0;
    for (uint16_t property = 0; property < schema_.top_level; ++property) {
      if (schema_.properties[property].in == schema::InType::kPad) continue;
      out_.push_back(',');
      if (at == tokens.size() || tokens[at].property != property) continue;
      const schema::Token& token = tokens[at];
      if (token.kind == schema::TokenKind::kValue) {
        Value(schema_.properties[property], payload.subspan(token.offset, token.size));
        ++at;
      } else {
        json_.Clear();
        at = WriteField(json_, event_, at, value_);
        AppendCell(out_, json_.text());
      }
    }
    out_.push_back(',');
    const size_t consumed = event_.fields().consumed;
    if (consumed < payload.size()) AppendChars(out_, HexText(payload.subspan(consumed), text_));
  }

 private:
  void Value(const schema::Property& property, std::span<const std::byte> bytes) {
    schema::ReadValue(property, bytes, value_);
    text_.clear();
    if (property.map != schema::kNoMap) text_ = schema_.maps[property.map]->NameOf(value_.bits);
    if (text_.empty()) {
      schema::AppendText(value_, text_);
    } else {
      text_ += '(';
      schema::AppendText(value_, text_);
      text_ += ')';
    }
    AppendCell(out_, text_);
  }

  const DecodedEvent& event_;
  const schema::EventSchema& schema_;
  schema::Value& value_;
  JsonWriter& json_;
  fmt::memory_buffer& out_;
  std::string text_;
};

std::string TitlesOf(const schema::EventSchema* schema, const std::vector<std::string>& annotation_keys) {
  fmt::memory_buffer titles;
  AppendChars(titles, CsvHeaderTitles());
  const auto add = [&](std::string_view title) {
    titles.push_back(',');
    AppendCell(titles, title);
  };
  if (schema == nullptr) {
    add("payload");
  } else {
    for (uint16_t i = 0; i < schema->top_level; ++i) {
      if (schema->properties[i].in != schema::InType::kPad) add(schema->properties[i].name);
    }
    add("_extra");
  }
  for (const auto& key : annotation_keys) add(key);
  titles.push_back('\n');
  return fmt::to_string(titles);
}

}  // namespace

struct CsvTablesSink::Chunk final : SinkChunk {
  std::vector<KindRows> kinds;
  DecodeCounts counts;
};

CsvTablesSink::~CsvTablesSink() = default;

Status CsvTablesSink::Begin(const BeginArgs& args) {
  trace_ = &args.trace;
  diagnostics_ = args.diagnostics;
  const auto annotations = IdColumns::WithoutIds(args.annotations);
  for (const auto& column : annotations) annotation_names_.push_back(column.name);
  annotation_keys_ = AnnotationKeys(annotations);
  auto folder = OutputFolder::Create(path_, force_, ".csv");
  if (!folder.ok()) return folder.status();
  folder_ = std::move(*folder);
  return {};
}

Result<std::unique_ptr<SinkChunk>> CsvTablesSink::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<Chunk>();
  auto event = events_.Take([&] { return std::make_unique<DecodedEvent>(*trace_); });
  std::vector<const AnnotationColumn*> columns;
  for (const auto& name : annotation_names_) columns.push_back(std::as_const(batch).FindAnnotation(name));
  const IdColumns ids(batch);
  TimeText time(trace_->info.clock, std::nullopt);
  schema::Value value;
  JsonWriter json;
  std::string hex;
  std::unordered_map<const schema::EventSchema*, size_t> places;
  for (const uint16_t index : batch.selection) {
    event->Load(batch.rows[index], true);
    const auto* schema = event->schema();
    const auto [place, added] = places.emplace(schema, chunk->kinds.size());
    if (added) {
      KindRows& kind = chunk->kinds.emplace_back();
      kind.titles = TitlesOf(schema, annotation_keys_);
      kind.kind = schema == nullptr
                      ? std::string("unknown")
                      : fmt::format("{}.{}.v{}", event->provider_name(), event->name(), batch.rows[index].version);
    }
    auto& text = chunk->kinds[place->second].text;
    AppendCsvHeader(text, *event, ids.Of(batch.rows[index], index), time);
    if (schema == nullptr) {
      text.push_back(',');
      AppendChars(text, HexText(batch.rows[index].payload(), hex));
    } else {
      FieldCells(*event, value, json, text).Append();
    }
    for (const AnnotationColumn* column : columns) {
      text.push_back(',');
      if (column != nullptr && column->has(index)) AppendAnnotation(text, *column, index);
    }
    text.push_back('\n');
  }
  chunk->counts = event->TakeCounts();
  events_.Give(std::move(event));
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status CsvTablesSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  const auto& made = static_cast<const Chunk&>(*chunk);
  if (diagnostics_ != nullptr) made.counts.AddTo(*diagnostics_);
  for (const KindRows& kind : made.kinds) {
    // One name with the same columns is one table, whichever lookup found its schema.
    const auto [place, added] = tables_.try_emplace(kind.kind + '\n' + kind.titles);
    Table& table = place->second;
    if (added) table = {FileName(kind.kind), kind.titles};
    table.text.append(kind.text.data(), kind.text.size());
    if (table.text.size() >= kFlushBytes) ETWPIPE_RETURN_IF_ERROR(Flush(table));
  }
  return {};
}

Status CsvTablesSink::Flush(Table& table) {
  ETWPIPE_RETURN_IF_ERROR(folder_->Append(table.file, std::as_bytes(std::span(table.text))));
  table.text = std::string();
  return {};
}

// A name that every file system takes, with a number where two kinds would share it.
std::string CsvTablesSink::FileName(const std::string& kind) {
  std::string name;
  for (const char c : kind.substr(0, kMaxFileName)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    name += plain ? c : '_';
  }
  if (name.starts_with('.')) name.front() = '_';
  const int number = ++names_taken_[name];
  return number == 1 ? name + ".csv" : fmt::format("{}~{}.csv", name, number);
}

Status CsvTablesSink::Finish() {
  for (auto& [titles, table] : tables_) {
    if (!table.text.empty()) ETWPIPE_RETURN_IF_ERROR(Flush(table));
  }
  return folder_->Commit();
}

}  // namespace etwpipe

#include "tools/print_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tools/annotation_keys.h"
#include "tools/csv_rows.h"
#include "tools/event_rows.h"
#include "tools/shown_ids.h"
#include "tools/time_text.h"

namespace etwpipe {

struct PrintSink::Chunk final : SinkChunk {
  std::string text;
  std::vector<size_t> row_ends;  // offsets in text; only with a limit
  DecodeCounts counts;
};

struct PrintSink::Block final : SinkBlock {
  std::string text;
  bool last = false;  // the limit is reached behind it
};

PrintSink::~PrintSink() = default;

Status PrintSink::Begin(const BeginArgs& args) {
  trace_ = &args.trace;
  diagnostics_ = args.diagnostics;
  const auto annotations = IdColumns::WithoutIds(args.annotations);
  for (const auto& column : annotations) annotation_names_.push_back(column.name);
  annotation_keys_ = AnnotationKeys(annotations);
  auto file = OutputFile::Create(options_.path, options_.force, OutputFile::Stdout::kStream);
  if (!file.ok()) return file.status();
  file_ = std::move(*file);
  std::string titles;
  if (options_.format == PrintFormat::kCsv)
    titles = CsvRows::Titles(options_.fields, options_.payload, annotation_keys_);
  if (options_.format == PrintFormat::kText) titles = TextRows::Titles(options_.local, options_.fields);
  return file_->Append(std::as_bytes(std::span(titles)));
}

Result<std::unique_ptr<SinkChunk>> PrintSink::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<Chunk>();
  std::vector<const AnnotationColumn*> columns;
  for (const auto& name : annotation_names_) columns.push_back(std::as_const(batch).FindAnnotation(name));
  auto event = events_.Take([&] { return std::make_unique<DecodedEvent>(*trace_); });
  const RowsArgs args{.trace = *trace_,
                      .batch = batch,
                      .event = *event,
                      .bias_minutes = DisplayBias(trace_->info, options_.local),
                      .fields = options_.fields,
                      .messages = options_.messages,
                      .payload = options_.payload,
                      .annotations = columns,
                      .annotation_keys = annotation_keys_};
  const auto print = [&](auto rows) {
    for (const uint16_t index : batch.selection) {
      rows.Append(batch.rows[index], index);
      if (options_.limit) chunk->row_ends.push_back(rows.size());
    }
    chunk->text = rows.Take();
  };
  switch (options_.format) {
    case PrintFormat::kText: print(TextRows(args)); break;
    case PrintFormat::kNdjson: print(NdjsonRows(args)); break;
    case PrintFormat::kCsv: print(CsvRows(args)); break;
  }
  chunk->counts = event->TakeCounts();
  events_.Give(std::move(event));
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status PrintSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (limit_reached_) return {};
  auto& text = static_cast<Chunk&>(*chunk);
  if (diagnostics_ != nullptr) text.counts.AddTo(*diagnostics_);
  auto block = std::make_unique<Block>();
  if (options_.limit) {
    const uint64_t wanted = *options_.limit - events_cut_;
    if (text.row_ends.size() >= wanted) {
      text.text.resize(wanted == 0 ? 0 : text.row_ends[wanted - 1]);
      limit_reached_ = true;
      block->last = true;
    }
    events_cut_ += std::min<uint64_t>(wanted, text.row_ends.size());
  }
  block->text = std::move(text.text);
  if (!block->text.empty() || block->last) blocks.push_back(std::move(block));
  return {};
}

Status PrintSink::Write(SinkBlock& block) {
  const auto& text = static_cast<const Block&>(block);
  ETWPIPE_RETURN_IF_ERROR(file_->Append(std::as_bytes(std::span(text.text))));
  // Ends the run: nothing that follows is wanted.
  if (!text.last) return {};
  finished_early_ = true;
  ETWPIPE_RETURN_IF_ERROR(file_->Commit());
  return Status::Cancelled();
}

Status PrintSink::Finish() { return file_->Commit(); }

Status PrintSink::Settle(const Status& run) const {
  if (run.code() == StatusCode::kCancelled && finished_early_) return {};
  if (run.code() == StatusCode::kOutput && file_ != nullptr && file_->reader_gone()) return {};
  return run;
}

}  // namespace etwpipe

#include "formats/etwp/etwp_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/etwp/block_indexer.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/rows_block.h"
#include "formats/etwp/trace_header.h"

namespace etwpipe::etwp {
namespace {

// Leaves room for the columns beside the records.
constexpr uint32_t kMaxWriterEvents = 1 << 19;
constexpr size_t kRestoreFrameBytes = 1 << 20;
// The copy of the first block's columns costs what some fifteen blocks save by them.
constexpr uint64_t kPrefixBlocks = 24;
// Where the copy stands: behind so many blocks it is out of reach of what damages the first one, and a file that is cut
// off or read as a stream has it.
constexpr uint64_t kPrefixAfter = 4;
constexpr int kIndexPartBlocks = 4096;
constexpr int kIndexPartRestores = 16384;

// A block stands by itself, so what larger ones save is what their parts share; what they cost is memory.
uint32_t BlockBytes(Level level) {
  switch (level) {
    case Level::kFast:
    case Level::kDefault: return 4u << 20;
    case Level::kMax: return 16u << 20;
  }
  return 8u << 20;
}

}  // namespace

int ZstdLevel(Level level) {
  // Columns are a sixth of the records, so a level costs a sixth of what it costs on the records. 12 makes blocks 3 %
  // smaller than 9; above, up to 19, time grows faster than size falls.
  constexpr int kDefaultLevel = 12;
  switch (level) {
    case Level::kFast: return 7;
    case Level::kDefault: return kDefaultLevel;
    case Level::kMax: return 19;
  }
  return kDefaultLevel;
}

// Rows [begin, end) of a chunk.
struct EtwpSink::Part {
  std::shared_ptr<EventChunk> chunk;
  uint32_t begin = 0;
  uint32_t end = 0;
  std::vector<std::pair<uint32_t, uint32_t>> notes;  // annotation number, column
};

struct EtwpSink::Block : SinkBlock {
  std::vector<Part> parts;  // empty: a restore frame
  uint64_t first_event = 0;
  v1::Dictionary fresh;
  RestoreBuffers restore;
  uint64_t first_buffer = 0;

  BlockPrefix prefix;
  bool encoded = false;
  v1::Columns columns;  // of the first block, if others are to be compressed with them
  std::vector<std::byte> dictionary_frame;
  std::vector<std::byte> frame;
  v1::BlockEntry entry;
};

struct EtwpSink::Worker {
  BlockEncoder encoder;
  BlockIndexer indexer;
  ColumnWriter columns;
  BlockEvents events;
  v1::Frame frame;
};

EtwpSink::EtwpSink(EtwpSinkOptions options) : options_(std::move(options)) {
  if (options_.block_bytes == 0) options_.block_bytes = BlockBytes(options_.level);
}
EtwpSink::~EtwpSink() = default;

Status EtwpSink::Begin(const BeginArgs& args) {
  if (options_.block_bytes > kMaxBlockBytes) {
    return Status::InvalidArgument(
        fmt::format("block size {}: must be 1 to {} bytes", options_.block_bytes, kMaxBlockBytes));
  }
  auto out = OutputFile::Create(options_.path, options_.force, OutputFile::Stdout::kStream, options_.spool_dir);
  if (!out.ok()) return out.status();
  out_ = std::move(*out);
  out_->set_check(options_.check);
  diagnostics_ = args.diagnostics;
  declared_ = args.annotations;
  next_injected_ = args.trace.info.next_injected;
  rows_trace_.info = args.trace.info;
  embedded_schemas_ = args.trace.info.embedded_schemas;

  if (options_.layout == Layout::kRows) {
    not_exact_ = "rows keep nothing but events";
  } else if (options_.normalize) {
    not_exact_ = "normalized on request";
  } else if (args.drops) {
    not_exact_ = "stages may drop events";
  } else if (args.rewrites) {
    not_exact_ = "stages may rewrite or add events";
  } else if (args.trace.info.format != "etl" || options_.original == nullptr) {
    not_exact_ = "the input was no .etl file";
  }
  keep_restore_ = not_exact_.empty();
  if (keep_restore_) hasher_ = std::make_unique<OriginalHash>(options_.original);
  hash_images_ = keep_restore_ && args.trace.info.compressed_buffers > 0;

  const uint64_t bytes = args.trace.info.buffers * args.trace.info.buffer_size;
  // What large blocks gain by it, 3 %, costs half as much time again and 100 MiB.
  wants_prefix_ = options_.layout == Layout::kColumns && options_.level != Level::kMax && !args.drops &&
                  args.trace.info.format == "etl" && bytes >= kPrefixBlocks * options_.block_bytes;

  trace_ = &args.trace;
  const bool columns = options_.layout == Layout::kColumns;
  chunks_ = std::make_unique<ChunkMaker>(
      *trace_, ChunkMaker::Options{.layouts = columns, .restore = keep_restore_, .hash_images = hash_images_});
  statistics_.AddHeaderRecord(*trace_);

  WriteTraceHeader(args.trace.info, options_.keep_paths, header_);
  v1::Frame frame;
  WriteHeaderFrame(header_, frame);
  const auto written = Append(frame);
  return written.status();
}

Result<std::unique_ptr<SinkChunk>> EtwpSink::Prepare(EventBatch& batch) const {
  return std::unique_ptr<SinkChunk>(chunks_->Make(batch));
}

Status EtwpSink::NumberAnnotations(const EventChunk& chunk, uint32_t begin, uint32_t end) {
  for (const auto& info : declared_) {
    if (!dictionary_.AnnotationNumber(info, fresh_)) break;
  }
  declared_.clear();
  for (const auto& [first, column] : chunk.notes) {
    if (first >= end) break;
    const auto number = dictionary_.AnnotationNumber(chunk.annotations[column].info(), fresh_);
    if (!number) return Status::Output(fmt::format("an archive holds at most {} annotations", kMaxAnnotations));
    if (begin < end) parts_.back().notes.emplace_back(*number, column);
  }
  return {};
}

Status EtwpSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  const std::shared_ptr<EventChunk> shared(static_cast<EventChunk*>(chunk.release()));
  next_injected_ = std::max(next_injected_, shared->max_injected + 1);
  statistics_.Add(*shared->counts);
  chunks_->GiveCounts(std::move(shared->counts));
  if (keep_restore_) {
    auto& buffers = shared->restore.buffers;
    size_t gap_at = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const auto gaps = std::span(shared->restore.gaps).subspan(gap_at, buffers[i].gap_size);
      buffers[i].pad_distance = pads_.Predict(std::move(shared->opened[i]), gaps);
      gap_at += gaps.size();
      covered_.emplace_back(buffers[i].file_offset, buffers[i].file_size);
      if (hash_images_) images_.Add(buffers[i].file_offset, shared->image_hashes[i]);
      restore_records_ += buffers[i].records;
    }
    restore_.Append(shared->restore);
    shared->restore.Clear();
    shared->opened.clear();
  }

  const auto& rows = shared->rows;
  const auto weight_before = [&](size_t row) { return row == 0 ? 0 : rows[row - 1].weight_end; };
  for (uint32_t begin = 0; begin < rows.size();) {
    // The block ends with the event that makes it full.
    const uint64_t room = options_.block_bytes - open_weight_;
    const uint64_t target = weight_before(begin) + room;
    const auto last =
        std::lower_bound(rows.begin() + begin, rows.end(), target,
                         [](const EventChunk::Row& row, uint64_t wanted) { return row.weight_end < wanted; });
    auto end = static_cast<uint32_t>(last == rows.end() ? rows.size() : static_cast<size_t>(last - rows.begin()) + 1);
    end = static_cast<uint32_t>(std::min<uint64_t>(end, begin + (kMaxWriterEvents - open_events_)));
    parts_.push_back({shared, begin, end, {}});
    open_events_ += end - begin;
    open_weight_ += weight_before(end) - weight_before(begin);
    for (uint32_t row = begin; row < end && options_.layout == Layout::kColumns; ++row) {
      auto& kind = shared->kinds[rows[row].kind];
      if (kind.numbered) continue;
      kind.number = dictionary_.KindNumber(kind.made, kind.hash, fresh_);
      kind.made = dictionary_.numbered(kind.number);
      kind.numbered = true;
    }
    if (options_.layout == Layout::kColumns) ETWPIPE_RETURN_IF_ERROR(NumberAnnotations(*shared, begin, end));
    if (open_weight_ >= options_.block_bytes || open_events_ == kMaxWriterEvents) {
      auto block = CloseBlock();
      if (!block.ok()) return block.status();
      blocks.push_back(std::move(*block));
    }
    begin = end;
  }
  CutRestore(false, blocks);
  return {};
}

Result<std::unique_ptr<EtwpSink::Block>> EtwpSink::CloseBlock() {
  auto block = std::make_unique<Block>();
  block->parts = std::move(parts_);
  block->first_event = events_;
  block->fresh = std::move(fresh_);
  block->prefix = prefix_;
  parts_.clear();
  fresh_.Clear();
  events_ += open_events_;
  open_events_ = 0;
  open_weight_ = 0;
  if (wants_prefix_ && block->first_event == 0) ETWPIPE_RETURN_IF_ERROR(EncodeFirst(*block));
  return block;
}

// At once, since the others are compressed with its columns, whichever thread has them.
Status EtwpSink::EncodeFirst(Block& block) {
  ETWPIPE_RETURN_IF_ERROR(Encode(block));
  first_columns_ = std::move(block.columns);
  if (const auto error = MakePrefix(first_columns_, prefix_)) return Status::Internal(error->reason);
  return {};
}

void EtwpSink::CutRestore(bool all, std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (restore_.buffers.empty() || (!all && restore_.size_bytes() < kRestoreFrameBytes)) return;
  auto block = std::make_unique<Block>();
  block->first_buffer = restore_buffers_;
  restore_buffers_ += restore_.buffers.size();
  block->restore = std::move(restore_);
  restore_.Clear();
  blocks.push_back(std::move(block));
}

Status EtwpSink::CutEnd(std::vector<std::unique_ptr<SinkBlock>>& blocks) {
  if (open_events_ > 0) {
    auto block = CloseBlock();
    if (!block.ok()) return block.status();
    blocks.push_back(std::move(*block));
  }
  CutRestore(true, blocks);
  return {};
}

std::unique_ptr<EtwpSink::Worker> EtwpSink::TakeWorker() const {
  const std::lock_guard lock(workers_mutex_);
  if (workers_.empty()) return std::make_unique<Worker>();
  auto worker = std::move(workers_.back());
  workers_.pop_back();
  return worker;
}

void EtwpSink::GiveWorker(std::unique_ptr<Worker> worker) const {
  const std::lock_guard lock(workers_mutex_);
  workers_.push_back(std::move(worker));
}

Status EtwpSink::Encode(SinkBlock& sink_block) const {
  auto& block = static_cast<Block&>(sink_block);
  if (std::exchange(block.encoded, true)) return {};
  auto worker = TakeWorker();
  const int level = ZstdLevel(options_.level);
  const Effort effort = options_.level == Level::kFast ? Effort::kEstimate : Effort::kTrial;
  worker->encoder.set_effort(effort);
  worker->encoder.set_prefix(block.prefix);
  worker->columns.numbers().set_effort(effort);
  v1::Frame& frame = worker->frame;
  frame.Clear();
  Status status;
  if (block.parts.empty()) {
    status = EncodeRestore(block.restore, block.first_buffer, level, worker->columns, worker->encoder.compressor(),
                           *frame.mutable_restore());
  } else {
    BlockEvents& events = worker->events;
    events.first_event = block.first_event;
    events.rows.clear();
    events.annotations.clear();
    // Slot of a number in events.annotations; ascending numbers.
    std::vector<uint32_t> numbers;
    size_t count = 0;
    for (const auto& part : block.parts) {
      count += part.end - part.begin;
      for (const auto& note : part.notes) numbers.push_back(note.first);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    events.rows.reserve(count);
    for (const uint32_t number : numbers) events.annotations.push_back({number, AnnotationType::kU64, {}});
    for (const auto& part : block.parts) {
      const EventChunk& chunk = *part.chunk;
      const size_t rows_before = events.rows.size();
      for (uint32_t i = part.begin; i < part.end; ++i) {
        const auto& row = chunk.rows[i];
        const auto& kind = chunk.kinds[row.kind];
        events.rows.push_back({chunk.bytes.data() + row.offset, row.instance_id, row.timestamp, &kind.made, kind.number,
                               row.size, row.cpu, row.extended_size});
      }
      for (auto& annotation : events.annotations) annotation.cells.resize(events.rows.size());
      for (const auto& [number, column] : part.notes) {
        const auto slot = std::lower_bound(numbers.begin(), numbers.end(), number) - numbers.begin();
        auto& annotation = events.annotations[static_cast<size_t>(slot)];
        annotation.type = chunk.annotations[column].info().type;
        for (uint32_t i = part.begin; i < part.end; ++i) {
          annotation.cells[rows_before + (i - part.begin)] = {&chunk.annotations[column], chunk.rows[i].batch_row};
        }
      }
    }
    v1::Block& made = *frame.mutable_block();
    const bool rows = options_.layout == Layout::kRows;
    status = rows ? EncodeRows(events, rows_trace_, level, worker->encoder.compressor(), made)
                  : worker->encoder.Encode(events, level, made);
    if (status.ok()) {
      if (wants_prefix_ && block.first_event == 0) block.columns = made.columns();
      auto& entry = block.entry;
      entry.set_first_event(made.first_event());
      entry.set_events(made.events());
      entry.set_record_bytes(made.record_bytes());
      entry.set_min_timestamp(made.min_timestamp());
      entry.set_max_timestamp(made.max_timestamp());
      *entry.mutable_kinds() = made.kinds();
      if (!rows) {
        worker->encoder.CountKinds(events.rows, entry);
        worker->indexer.Summarise(events.rows, entry);
      }
    }
  }
  if (status.ok()) {
    auto bytes = MakeFrame(frame);
    status = bytes.status();
    if (status.ok()) block.frame = std::move(*bytes);
  }
  if (status.ok() && (block.fresh.kinds_size() > 0 || block.fresh.annotations_size() > 0)) {
    frame.Clear();
    *frame.mutable_dictionary() = block.fresh;
    auto bytes = MakePackedFrame(frame);
    status = bytes.status();
    if (status.ok()) block.dictionary_frame = std::move(*bytes);
  }
  block.parts.clear();
  block.restore = {};
  GiveWorker(std::move(worker));
  return status;
}

Result<v1::FrameEntry> EtwpSink::AppendBytes(std::span<const std::byte> frame) {
  v1::FrameEntry entry;
  entry.set_offset(out_->size());
  entry.set_length(static_cast<uint32_t>(frame.size()));
  ETWPIPE_RETURN_IF_ERROR(out_->Append(frame));
  return entry;
}

Result<v1::FrameEntry> EtwpSink::Append(const v1::Frame& frame) {
  const auto bytes = MakePackedFrame(frame);
  if (!bytes.ok()) return bytes.status();
  return AppendBytes(*bytes);
}

Status EtwpSink::Write(SinkBlock& sink_block) {
  auto& block = static_cast<Block&>(sink_block);
  if (!block.dictionary_frame.empty()) {
    auto written = AppendBytes(block.dictionary_frame);
    if (!written.ok()) return written.status();
    *index_.add_dictionaries() = *written;
  }
  auto written = AppendBytes(block.frame);
  if (!written.ok()) return written.status();
  if (block.entry.events() == 0) {
    *index_.add_restores() = *written;
  } else {
    min_timestamp_ = blocks_ == 0 ? block.entry.min_timestamp() : std::min(min_timestamp_, block.entry.min_timestamp());
    max_timestamp_ = blocks_ == 0 ? block.entry.max_timestamp() : std::max(max_timestamp_, block.entry.max_timestamp());
    ++blocks_;
    *block.entry.mutable_frame() = *written;
    if (hasher_) ETWPIPE_RETURN_IF_ERROR(hasher_->Advance(block.entry.record_bytes()));
    *index_.add_blocks() = std::move(block.entry);
    if (blocks_ == kPrefixAfter) ETWPIPE_RETURN_IF_ERROR(WritePrefix());
  }
  if (index_.blocks_size() >= kIndexPartBlocks || index_.restores_size() >= kIndexPartRestores) return FlushIndexPart();
  return {};
}

Status EtwpSink::WritePrefix() {
  if (prefix_ == nullptr || prefix_entry_) return {};
  v1::Frame frame;
  *frame.mutable_prefix() = std::move(first_columns_);
  const auto bytes = MakeFrame(frame);
  if (!bytes.ok()) return bytes.status();
  const auto written = AppendBytes(*bytes);
  if (!written.ok()) return written.status();
  prefix_entry_ = *written;
  return {};
}

Status EtwpSink::FlushIndexPart() {
  v1::Frame frame;
  *frame.mutable_index() = std::move(index_);
  index_.Clear();
  const auto written = Append(frame);
  if (!written.ok()) return written.status();
  index_parts_.push_back(*written);
  return {};
}

// Whether the buffers that were seen make up the whole original, and every event has a place in one.
Status EtwpSink::CheckExact() {
  if (!keep_restore_) return {};
  std::sort(covered_.begin(), covered_.end());
  uint64_t end = 0;
  for (const auto& [offset, size] : covered_) {
    if (offset != end) break;
    end = offset + size;
  }
  if (end != options_.original->size() || covered_.empty()) {
    not_exact_ = fmt::format("the buffers that were read cover the original only up to byte {}", end);
  } else if (restore_records_ != events_) {
    not_exact_ = fmt::format("the buffers of the original hold {} events, {} were written", restore_records_, events_);
  }
  if (!not_exact_.empty()) return {};
  ETWPIPE_RETURN_IF_ERROR(hasher_->Advance(options_.original->size()));
  if (hasher_->position() != options_.original->size()) not_exact_ = "the original became shorter while it was read";
  return {};
}

void EtwpSink::FillTrailer(v1::Trailer& trailer) {
  trailer.set_events(events_);
  trailer.set_blocks(blocks_);
  trailer.set_restore_buffers(restore_buffers_);
  trailer.set_exact(not_exact_.empty());
  trailer.set_normalized(options_.normalize);
  trailer.set_not_exact_reason(not_exact_);
  trailer.set_original_size(header_.original_size());
  if (not_exact_.empty()) {
    trailer.set_original_sha256(hasher_->Finish());
    if (hash_images_) trailer.set_images_sha256(images_.Finish());
  }
  trailer.set_min_timestamp(min_timestamp_);
  trailer.set_max_timestamp(max_timestamp_);
  trailer.set_next_injected(next_injected_);
  if (header_.sources_size() > 0) {
    auto& loss = *trailer.add_loss();
    loss.set_source(header_.sources(0).number());
    loss.set_events(header_.events_lost());
    loss.set_buffers(header_.buffers_lost());
  }
  if (diagnostics_ == nullptr) return;
  for (const auto& range : diagnostics_->ranges()) {
    auto& damage = *trailer.add_damage();
    damage.set_id(std::string(InfoOf(range.id).id));
    damage.set_offset(range.place.offset);
    damage.set_length(range.place.length);
    damage.set_reason(range.reason);
  }
  for (const auto& entry : diagnostics_->entries()) {
    auto& count = *trailer.add_diagnostics();
    count.set_id(std::string(InfoOf(entry.id).id));
    count.set_count(entry.count);
  }
}

Status EtwpSink::Finish() {
  ETWPIPE_RETURN_IF_ERROR(CheckExact());
  const bool asked_for = options_.normalize || options_.layout == Layout::kRows;
  if (!not_exact_.empty() && !asked_for && diagnostics_ != nullptr) {
    diagnostics_->Add(DiagnosticId::kNotExact, {}, not_exact_);
  }
  const auto append = [&](const v1::Frame& frame, v1::FrameEntry* entry) {
    const auto written = Append(frame);
    if (written.ok()) *entry = *written;
    return written.status();
  };
  v1::Frame frame;
  *frame.mutable_dictionary() = dictionary_.complete();
  frame.mutable_dictionary()->set_complete(true);
  for (const auto& text : embedded_schemas_) frame.mutable_dictionary()->add_schemas(text);
  if (std::string text = options_.schemas ? options_.schemas() : std::string(); !text.empty()) {
    frame.mutable_dictionary()->add_schemas(std::move(text));
  }
  ETWPIPE_RETURN_IF_ERROR(append(frame, index_.mutable_dictionary()));
  frame.Clear();
  *frame.mutable_header() = header_;
  ETWPIPE_RETURN_IF_ERROR(append(frame, index_.mutable_header()));
  frame.Clear();
  const auto* registry = trace_->facts->Get<schema::SchemaRegistry>();
  if (statistics_.Build(*trace_, registry != nullptr ? registry : &chunks_->registry(), *frame.mutable_statistics())) {
    ETWPIPE_RETURN_IF_ERROR(append(frame, index_.mutable_statistics()));
  }
  frame.Clear();
  if (blocks_ > 1) ETWPIPE_RETURN_IF_ERROR(WritePrefix());
  if (prefix_entry_) *index_.mutable_prefix() = *prefix_entry_;
  FillTrailer(*frame.mutable_trailer());
  ETWPIPE_RETURN_IF_ERROR(append(frame, index_.mutable_trailer()));

  for (const auto& part : index_parts_) *index_.add_parts() = part;
  index_.set_final(true);
  index_.set_events(events_);
  index_.set_block_count(blocks_);
  frame.Clear();
  *frame.mutable_index() = std::move(index_);
  const auto bytes = MakePackedFrame(frame);
  if (!bytes.ok()) return bytes.status();
  const auto written = AppendBytes(*bytes);
  if (!written.ok()) return written.status();
  const Tail tail{written->offset(), written->length(), LoadFrameChecksum(*bytes)};
  ETWPIPE_RETURN_IF_ERROR(out_->Append(MakeTail(tail)));
  return out_->Commit();
}

uint64_t EtwpSink::bytes_written() const { return out_ ? out_->size() : 0; }

}  // namespace etwpipe::etwp

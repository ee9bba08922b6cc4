#include "formats/etwp/etwp_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "formats/etl/record.h"
#include "formats/etwp/block_decoder.h"
#include "formats/etwp/block_groups.h"

namespace etwpipe::etwp {
namespace {

// A block between Next(), which reads it, and the last Fill() of its batches.
struct BlockTask {
  enum class State : uint8_t { kRead, kDecoding, kDone };
  std::vector<uint32_t> batches;    // events of each
  std::unique_ptr<ReadBlock> read;  // until it is decoded
  State state = State::kRead;
  DecodedBlock decoded;
  bool good = false;
};

// What Next() leaves for Fill(): rows of a block.
struct BatchTask {
  std::shared_ptr<BlockTask> block;
  size_t begin = 0;
  size_t count = 0;
};

void CopyAnnotation(const DecodedBlock::Annotation& from, size_t begin, EventBatch& batch) {
  AnnotationColumn& column = batch.AddAnnotation(from.info);
  std::vector<uint64_t> list;
  for (size_t row = 0; row < batch.rows.size(); ++row) {
    const size_t at = begin + row;
    if (from.present[at] == 0) continue;
    switch (from.info.type) {
      case AnnotationType::kString:
      case AnnotationType::kMessage: column.SetString(row, from.texts[from.values[at]]); break;
      case AnnotationType::kU64List: {
        const auto first = from.lists.begin() + static_cast<ptrdiff_t>(from.values[at]);
        list.assign(first, first + static_cast<ptrdiff_t>(from.list_sizes[at]));
        column.SetList(row, list);
        break;
      }
      case AnnotationType::kStringList: {
        list.clear();
        for (size_t i = 0; i < from.list_sizes[at]; ++i) {
          list.push_back(column.InternText(from.texts[from.lists[from.values[at] + i]]));
        }
        column.SetTexts(row, list);
        break;
      }
      default: column.SetU64(row, from.values[at]);
    }
  }
}

void AddDamage(const v1::Trailer& trailer, Diagnostics* diagnostics) {
  if (diagnostics == nullptr) return;
  for (const auto& damage : trailer.damage()) {
    const auto id = DiagnosticFromText(damage.id());
    if (id) diagnostics->Add(*id, {damage.offset(), damage.length()}, damage.reason());
  }
}

class EtwpPass : public SourcePass {
 public:
  EtwpPass(std::shared_ptr<Archive> archive, const TraceContext& context, SkipBlock skip, const Source::PassArgs& args)
      : archive_(std::move(archive)),
        context_(context),
        groups_(*archive_, context),
        skip_(BothSkips(std::move(skip), args.skip)),
        diagnostics_(args.diagnostics),
        ahead_(static_cast<size_t>(std::max(1, args.threads))),
        walker_(*archive_, diagnostics_) {
    if (archive_->trailer() != nullptr) AddDamage(*archive_->trailer(), diagnostics_);
  }

  Result<bool> Next(EventBatch& batch) override {
    ETWPIPE_RETURN_IF_ERROR(ReadAhead());
    if (blocks_.empty()) return false;
    const auto& block = blocks_.front();
    const auto& batches = block->batches;
    // A block that declares no batches is turned down by its decoder, in the one batch it gets here.
    const size_t count = next_batch_ < batches.size() ? batches[next_batch_] : 0;
    auto task = std::make_shared<BatchTask>(BatchTask{block, next_row_, count});
    batch.sequence = sequence_++;
    batch.source_state = std::move(task);
    next_row_ += count;
    if (++next_batch_ >= batches.size()) {
      blocks_.pop_front();
      next_batch_ = 0;
      next_row_ = 0;
    }
    return true;
  }

  Status Fill(EventBatch& batch) const override {
    const auto task = std::static_pointer_cast<BatchTask>(batch.source_state);
    const std::shared_ptr<BlockTask>& block = task->block;
    Decode(block);
    if (!block->good) return {};
    const DecodedBlock& decoded = block->decoded;
    etl::ProviderResolver providers(*context_.providers);
    batch.rows.resize(task->count);
    for (size_t i = 0; i < task->count; ++i) {
      const DecodedBlock::Row& from = decoded.rows[task->begin + i];
      EventHeader& row = batch.rows[i];
      ParseRow(decoded.record(from), context_.info.pointer_size, providers, row);
      row.instance_id = from.instance_id;
      row.timestamp = from.timestamp;
      row.cpu = from.cpu;
    }
    batch.SelectAll();
    for (const auto& annotation : decoded.annotations) CopyAnnotation(annotation, task->begin, batch);
    batch.pins.push_back(block);
    return {};
  }

  uint64_t bytes_done() const override { return walker_.position(); }
  uint64_t events_skipped() const override { return events_skipped_; }

 private:
  SkipBlock BothSkips(SkipBlock skip, std::function<bool(const EventGroup&)> skip_group) {
    if (!skip_group) return skip;
    return [this, skip = std::move(skip), skip_group = std::move(skip_group)](const BlockSummary& block) {
      if (skip && skip(block)) return true;
      const EventGroup* group = groups_.GroupOf(block);
      if (group == nullptr || !skip_group(*group)) return false;
      events_skipped_ += block.events;
      return true;
    };
  }

  // Keeps as many blocks at hand as there are threads to decode them.
  Status ReadAhead() {
    while (!ended_ && blocks_.size() < ahead_) {
      auto read = walker_.Next(skip_);
      if (!read.ok()) return read.status();
      if (*read == nullptr) {
        ended_ = true;
        if (archive_->trailer() == nullptr && walker_.trailer() != nullptr) {
          AddDamage(*walker_.trailer(), diagnostics_);
        }
        break;
      }
      auto block = std::make_shared<BlockTask>();
      block->read = std::move(*read);
      const auto& batches = block->read->block().batch_events();
      block->batches.assign(batches.begin(), batches.end());
      blocks_.push_back(block);
      const std::lock_guard lock(mutex_);
      undecoded_.push_back(std::move(block));
    }
    return {};
  }

  // Returns when the block is decoded. A thread that comes while another one is at it decodes a later block instead of
  // waiting idly.
  void Decode(const std::shared_ptr<BlockTask>& wanted) const {
    std::unique_lock lock(mutex_);
    while (wanted->state != BlockTask::State::kDone) {
      std::shared_ptr<BlockTask> block;
      if (wanted->state == BlockTask::State::kRead) {
        block = wanted;
      } else if (!undecoded_.empty()) {
        block = undecoded_.front();
      } else {
        done_.wait(lock);
        continue;
      }
      undecoded_.erase(std::find(undecoded_.begin(), undecoded_.end(), block));
      block->state = BlockTask::State::kDecoding;
      lock.unlock();
      DecodeNow(*block);
      lock.lock();
      block->state = BlockTask::State::kDone;
      done_.notify_all();
    }
  }

  void DecodeNow(BlockTask& task) const {
    const auto error = DecodeBlock(task.read->block(), task.read->names, task.decoded);
    task.good = !error;
    if (error && diagnostics_ != nullptr) diagnostics_->Add(error->id, task.read->place, "a block: " + error->reason);
    task.read.reset();
  }

  std::shared_ptr<Archive> archive_;
  const TraceContext& context_;
  BlockGroups groups_;
  uint64_t events_skipped_ = 0;
  SkipBlock skip_;
  Diagnostics* diagnostics_;
  const size_t ahead_;
  BlockWalker walker_;
  std::deque<std::shared_ptr<BlockTask>> blocks_;  // read, with batches still to hand out
  bool ended_ = false;
  size_t next_batch_ = 0;
  size_t next_row_ = 0;
  uint64_t sequence_ = 0;

  mutable std::mutex mutex_;
  mutable std::condition_variable done_;
  mutable std::deque<std::shared_ptr<BlockTask>> undecoded_;
};

}  // namespace

Result<std::unique_ptr<EtwpSource>> EtwpSource::Open(std::shared_ptr<InputFile> file, EtwpSourceOptions options) {
  auto archive = Archive::Open(std::move(file), options.diagnostics, std::move(options.start));
  if (!archive.ok()) return archive.status();
  std::unique_ptr<EtwpSource> source(new EtwpSource());
  source->archive_ = std::move(*archive);
  source->context_.info = source->archive_->info();
  source->check_all_ = options.check_all;
  if (options.check_all) ETWPIPE_RETURN_IF_ERROR(source->archive_->CheckUnread(options.diagnostics));
  return source;
}

Result<std::unique_ptr<SourcePass>> EtwpSource::StartPass(const PassArgs& args) {
  if (archive_->used_up()) {
    return Status::Internal(fmt::format("{}: a stream can be read once only", archive_->file()->path()));
  }
  if (!check_all_) return std::unique_ptr<SourcePass>(std::make_unique<EtwpPass>(archive_, context_, skip_, args));
  PassArgs all = args;
  all.skip = nullptr;
  return std::unique_ptr<SourcePass>(std::make_unique<EtwpPass>(archive_, context_, SkipBlock(), all));
}

std::optional<ArchiveSummary> EtwpSource::Summary() const {
  if (archive_->statistics() == nullptr) return std::nullopt;
  auto summary = ReadStatistics(*archive_->statistics());
  if (!summary) return std::nullopt;
  uint64_t events = context_.info.header_record.empty() ? 0 : 1;
  for (const auto& entry : archive_->index().blocks()) events += entry.events();
  for (const auto& kind : summary->kinds) events -= kind.count;
  return events == 0 ? summary : std::nullopt;
}

void EtwpSource::AddRecordedDamage(Diagnostics* diagnostics) const {
  if (archive_->trailer() != nullptr) AddDamage(*archive_->trailer(), diagnostics);
}

bool EtwpSource::KindHeader(uint32_t kind, EventHeader& row) const {
  const RecordTemplate* made = archive_->dictionary().kind(kind);
  etl::ProviderResolver providers(*context_.providers);
  return made != nullptr && etwp::KindHeader(*made, context_.info.pointer_size, providers, row);
}

}  // namespace etwpipe::etwp

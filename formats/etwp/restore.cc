#include "formats/etwp/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "formats/etl/layout.h"
#include "formats/etwp/block_decoder.h"
#include "formats/etwp/buffer_placer.h"
#include "formats/etwp/images_hash.h"
#include "formats/etwp/ordered_tasks.h"
#include "formats/etwp/pad_predictor.h"
#include "formats/etwp/restore_section.h"
#include "formats/etwp/written_hash.h"
#include "formats/xca/xca.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

constexpr uint64_t kMaxOpenBytes = uint64_t{1} << 30;

// The restore frames as one queue of buffers.
class RestoreQueue {
 public:
  explicit RestoreQueue(const Archive& archive) : archive_(archive) {}

  // The next buffer; null at the end.
  Result<std::unique_ptr<BufferAssembler>> Next() {
    while (frame_ == nullptr || place_.index == frame_->buffers.size()) {
      if (next_frame_ == archive_.index().restores_size()) return std::unique_ptr<BufferAssembler>();
      const auto& entry = archive_.index().restores(next_frame_++);
      ReadFrame read;
      const auto fault = ReadFrameAt(*archive_.file(), entry.offset(), entry.length(), read);
      if (!fault.ok()) return fault.status();
      auto frame = std::make_shared<RestoreBuffers>();
      std::string reason = *fault;
      if (reason.empty() && !read.body.has_restore()) reason = "it is no restore frame";
      if (reason.empty()) {
        if (const auto error = DecodeRestore(read.body.restore(), *frame)) reason = error->reason;
      }
      if (!reason.empty()) {
        return Status::Input(
            fmt::format("{}: the restore frame at {} is damaged: {}; its events can still be read and "
                        "written to a new .etl",
                        archive_.file()->path(), entry.offset(), reason));
      }
      frame_ = std::move(frame);
      place_ = {};
    }
    auto next = std::make_unique<BufferAssembler>(frame_, place_);
    place_ = NextPlace(*frame_, place_);
    return next;
  }

 private:
  const Archive& archive_;
  int next_frame_ = 0;
  std::shared_ptr<const RestoreBuffers> frame_;
  BufferAssembler::Place place_;
};

xca::Format FormatOf(const Archive& archive) {
  // The header buffer names the format of all of them (etl-format.md section 6).
  const auto& first = archive.header().header_buffer_header();
  if (first.size() != etl::buffer::kHeaderSize) return xca::Format::kXpress;
  const auto* bytes = reinterpret_cast<const std::byte*>(first.data());
  const uint32_t format = LoadAt<uint32_t>(bytes, etl::buffer::kState) & 0xFFFF;
  const bool other = format == static_cast<uint32_t>(xca::Format::kLznt1) ||
                     format == static_cast<uint32_t>(xca::Format::kXpressHuffman);
  return other ? static_cast<xca::Format>(format) : xca::Format::kXpress;
}

Status Damaged(const Archive& archive, const std::string& what) {
  return Status::Input(fmt::format("{}: the original cannot be restored: {}", archive.file()->path(), what));
}

// Puts buffers together and gives them to a placer.
class Restorer {
 public:
  Restorer(Archive& archive, BufferPlacer& placer, const RestoreOptions& options)
      : archive_(archive), placer_(placer), options_(options), queue_(archive), walker_(archive, options.diagnostics) {}

  // A buffer that waits is held by the one it waits for, and holds it.
  ~Restorer() {
    std::vector<std::shared_ptr<OpenBuffer>> left;
    for (auto& [cpu, waiting] : open_) left.insert(left.end(), waiting.begin(), waiting.end());
    while (!left.empty()) {
      const auto buffer = std::move(left.back());
      left.pop_back();
      left.insert(left.end(), buffer->dependents.begin(), buffer->dependents.end());
      buffer->dependents.clear();
      buffer->reference.reset();
    }
  }

  Result<RestoreResult> Run() {
    OrderedTasks<BlockTask> tasks(options_.threads);
    for (bool more = true; more || !tasks.empty();) {
      if (options_.cancel != nullptr && options_.cancel->cancelled()) return Status::Cancelled();
      while (more && !tasks.full()) {
        auto block = walker_.Next({});
        if (!block.ok()) return block.status();
        more = *block != nullptr;
        if (!more) break;
        auto task = tasks.Spare();
        task->read = std::move(*block);
        task->position = walker_.position();
        tasks.Begin(std::move(task), [](BlockTask& one) {
          one.error = one.decoder.Decode(one.read->block(), one.read->names, one.decoded);
        });
      }
      if (tasks.empty()) break;
      auto task = tasks.Take();
      ETWPIPE_RETURN_IF_ERROR(AddBlock(*task));
      tasks.GiveBack(std::move(task));
    }
    if (result_.events != archive_.trailer()->events()) {
      return Damaged(fmt::format("{} of {} events can be read", result_.events, archive_.trailer()->events()));
    }
    ETWPIPE_RETURN_IF_ERROR(DrainQueue());
    ETWPIPE_RETURN_IF_ERROR(placer_.Finish());
    if (result_.buffers != archive_.trailer()->restore_buffers()) {
      return Damaged(
          fmt::format("{} of {} buffers can be put together", result_.buffers, archive_.trailer()->restore_buffers()));
    }
    return result_;
  }

 private:
  Status Damaged(const std::string& what) const { return etwp::Damaged(archive_, what); }

  // A block on its way: read in order, decoded on any thread, its records added in order.
  struct BlockTask {
    std::unique_ptr<ReadBlock> read;
    uint64_t position = 0;  // in the archive, behind it
    std::optional<DecodeError> error;
    BlockDecoder decoder;
    DecodedBlock decoded;
  };

  Status AddBlock(const BlockTask& task) {
    if (task.error) return Damaged(fmt::format("the block at {}: {}", task.read->place.offset, task.error->reason));
    for (const auto& row : task.decoded.rows) {
      ETWPIPE_RETURN_IF_ERROR(AddRecord(row.cpu, task.decoded.record(row)));
    }
    result_.events += task.decoded.rows.size();
    if (options_.progress != nullptr) {
      options_.progress->OnProgress({task.position, archive_.file()->size(), result_.events});
    }
    return {};
  }

  // A buffer on its way, and the earlier one whose bytes its pads are made from.
  struct OpenBuffer {
    std::unique_ptr<BufferAssembler> assembler;
    std::shared_ptr<OpenBuffer> reference;
    std::vector<std::shared_ptr<OpenBuffer>> dependents;  // complete, but for this one's bytes

    size_t size() const { return assembler->buffer().image_size; }
  };

  // The records of a processor fill its buffers in the order of the queue.
  Status AddRecord(uint16_t cpu, std::span<const std::byte> record) {
    if (last_ == nullptr || cpu != last_cpu_) {
      last_ = &open_[cpu];
      last_cpu_ = cpu;
    }
    auto& waiting = *last_;
    while (waiting.empty()) {
      const auto taken = TakeBuffer();
      if (!taken.ok()) return taken.status();
      if (!*taken) return Damaged(fmt::format("processor {} has more events than its buffers hold", cpu));
    }
    const auto& buffer = waiting.front();
    if (!buffer->assembler->AddRecord(record)) {
      return Damaged(fmt::format("an event does not fit into buffer {}", buffer->assembler->buffer().ordinal));
    }
    if (!buffer->assembler->complete()) return {};
    ETWPIPE_RETURN_IF_ERROR(Complete(buffer));
    waiting.pop_front();
    return {};
  }

  // Takes the next buffer off the queue; false at its end. One without records is done at once.
  Result<bool> TakeBuffer() {
    auto next = queue_.Next();
    if (!next.ok()) return next.status();
    if (*next == nullptr) return false;
    auto buffer = std::make_shared<OpenBuffer>();
    buffer->assembler = std::move(*next);
    const uint64_t distance = buffer->assembler->buffer().pad_distance;
    if (distance > window_.size()) {
      return Damaged(fmt::format("buffer {} is made from one too long ago", buffer->assembler->buffer().ordinal));
    }
    if (distance > 0) buffer->reference = window_[window_.size() - distance];
    open_bytes_ += buffer->size();
    if (open_bytes_ > kMaxOpenBytes) return Damaged("too many of its buffers are open at a time");
    window_bytes_ += buffer->size();
    window_.push_back(buffer);
    while (window_bytes_ > kPadWindowBytes || window_.size() > kPadWindowBuffers) {
      window_bytes_ -= window_.front()->size();
      window_.pop_front();
    }
    if (buffer->assembler->complete()) {
      ETWPIPE_RETURN_IF_ERROR(Complete(buffer));
    } else {
      open_[buffer->assembler->buffer().cpu].push_back(std::move(buffer));
    }
    return true;
  }

  // A buffer that has its records; it may have to wait for its reference.
  Status Complete(const std::shared_ptr<OpenBuffer>& buffer) {
    if (buffer->reference != nullptr && !buffer->reference->assembler->finished()) {
      buffer->reference->dependents.push_back(buffer);
      return {};
    }
    // Chains may be long: no recursion.
    std::vector<std::shared_ptr<OpenBuffer>> ready{buffer};
    while (!ready.empty()) {
      const auto closing = std::move(ready.back());
      ready.pop_back();
      ETWPIPE_RETURN_IF_ERROR(Close(*closing));
      ready.insert(ready.end(), closing->dependents.begin(), closing->dependents.end());
      closing->dependents.clear();
    }
    return {};
  }

  Status Close(OpenBuffer& open) {
    BufferAssembler& buffer = *open.assembler;
    const auto reference =
        open.reference == nullptr ? std::span<const std::byte>() : open.reference->assembler->image();
    if (!buffer.Finish(reference)) {
      return Damaged(fmt::format("the parts of buffer {} do not fit", buffer.buffer().ordinal));
    }
    open.reference.reset();
    const Status placed = placer_.Place(buffer.buffer(), buffer.image());
    if (placed.code() == StatusCode::kInput) return Damaged(std::string(placed.message()));
    open_bytes_ -= open.size();
    ++result_.buffers;
    return placed;
  }

  Status DrainQueue() {
    while (true) {
      const auto taken = TakeBuffer();
      if (!taken.ok()) return taken.status();
      if (!*taken) break;
    }
    for (const auto& [cpu, waiting] : open_) {
      if (!waiting.empty()) {
        return Damaged(fmt::format("buffer {} lacks events", waiting.front()->assembler->buffer().ordinal));
      }
    }
    return {};
  }

  Archive& archive_;
  BufferPlacer& placer_;
  const RestoreOptions& options_;
  RestoreQueue queue_;
  BlockWalker walker_;
  std::map<uint16_t, std::deque<std::shared_ptr<OpenBuffer>>> open_;
  std::deque<std::shared_ptr<OpenBuffer>>* last_ = nullptr;  // in open_, of last_cpu_
  uint16_t last_cpu_ = 0;
  uint64_t open_bytes_ = 0;
  std::deque<std::shared_ptr<OpenBuffer>> window_;  // what pad_distance may point at
  uint64_t window_bytes_ = 0;
  RestoreResult result_;
};

Status CannotRestore(const Archive& archive) {
  std::string reason;
  return CanRestore(archive, reason) ? Status() : Damaged(archive, reason);
}

}  // namespace

bool CanRestore(const Archive& archive, std::string& reason) {
  reason.clear();
  if (archive.trailer() == nullptr) {
    reason = "the archive lacks its end";
  } else if (!archive.trailer()->exact()) {
    reason = archive.trailer()->not_exact_reason();
    if (reason.empty()) reason = "it is not exact";
  }
  return reason.empty();
}

bool MeantToRestore(const Archive& archive) {
  // Only a writer that meant to be exact kept the buffers, whatever became of it.
  return archive.trailer() == nullptr || archive.trailer()->exact() || archive.trailer()->restore_buffers() > 0;
}

Result<RestoreResult> RestoreEtl(const std::shared_ptr<Archive>& archive, OutputFile& out,
                                 const RestoreOptions& options) {
  ETWPIPE_RETURN_IF_ERROR(CannotRestore(*archive));
  ImagesHash images;
  WrittenHash hash(out);
  std::unique_ptr<BufferPlacer> placer;
  const bool identical = archive->header().compressed_buffers() == 0;
  if (identical) {
    placer = MakeDirectPlacer(out, archive->trailer()->original_size(), hash);
  } else {
    // A spool file without a name; it is never committed.
    auto spool = OutputFile::Create("-", false, OutputFile::Stdout::kSpool, options.spool_dir);
    if (!spool.ok()) return spool.status();
    // We write XPRESS only.
    placer = MakeSpoolPlacer(out, std::move(*spool), FormatOf(*archive) == xca::Format::kXpress, images);
  }
  auto result = Restorer(*archive, *placer, options).Run();
  if (!result.ok()) return result;
  result->identical = identical;
  // Archives of older versions have no hash of their images.
  const std::string& expected = archive->trailer()->images_sha256();
  result->checked = identical || !expected.empty();
  if (identical) {
    const auto written = hash.Finish();
    if (!written.ok()) return written.status();
    if (*written != archive->trailer()->original_sha256()) {
      return Damaged(*archive, "the result differs from the original: its SHA-256 is another one");
    }
  } else if (result->checked && images.Finish() != expected) {
    return Damaged(*archive, "the buffers of the result differ from the original's");
  }
  return result;
}

Status CompareWithOriginal(const std::shared_ptr<Archive>& archive, const InputFile& original,
                           const RestoreOptions& options) {
  ETWPIPE_RETURN_IF_ERROR(CannotRestore(*archive));
  const auto placer = MakeComparingPlacer(original, FormatOf(*archive));
  return Restorer(*archive, *placer, options).Run().status();
}

}  // namespace etwpipe::etwp

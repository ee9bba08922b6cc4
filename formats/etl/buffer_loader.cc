#include "formats/etl/buffer_loader.h"

#include <fmt/format.h>
#include <tbb/task_group.h>

#include <algorithm>

#include "formats/etl/carrier.h"
#include "formats/etl/layout.h"
#include "formats/etl/record.h"
#include "formats/xca/xca.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etl {
namespace {

constexpr size_t kMaxPooledBuffers = 64;

class Loader {
 public:
  Loader(const LoadContext& context, const BufferEntry& entry, Diagnostics* diagnostics, LoadedBuffer& buffer)
      : context_(context), entry_(entry), diagnostics_(diagnostics), buffer_(buffer) {}

  Status Run() {
    Reset();
    ETWPIPE_RETURN_IF_ERROR(ReadFileBytes());
    if (buffer_.raw) return {};
    if (entry_.compressed && !Inflate()) return {};
    if (!entry_.has_records()) {
      if (!entry_.carriers) {
        Count(DiagnosticId::kBackgroundBuffer, 0, entry_.file_size,
              fmt::format("a buffer of type {} holds no event records", entry_.type));
      }
      return {};
    }
    Walk();
    GiveIds();
    return {};
  }

 private:
  void Reset() {
    buffer_.ordinal = entry_.ordinal;
    buffer_.file_offset = entry_.file_offset;
    buffer_.file_size = static_cast<uint32_t>(entry_.file_size);
    buffer_.cpu = entry_.cpu;
    buffer_.compressed = entry_.compressed;
    buffer_.raw = entry_.raw;
    buffer_.data_end = entry_.data_end;
    buffer_.records.clear();
    buffer_.stored.clear();
    buffer_.timestamps.clear();
    buffer_.leading_untimed = 0;
    buffer_.steps_back = 0;
    buffer_.ids.clear();
    buffer_.place_source = context_.own_source;
  }

  Status ReadFileBytes() {
    auto& bytes = entry_.compressed ? buffer_.stored : buffer_.image;
    bytes.resize(entry_.file_size);
    const auto count = context_.file->ReadAt(entry_.file_offset, bytes);
    if (!count.ok()) return count.status();
    if (*count < bytes.size()) {
      Count(DiagnosticId::kFileShrank, *count, bytes.size() - *count, "the file became shorter while it was read");
      bytes.resize(*count);
      buffer_.data_end = static_cast<uint32_t>(std::min<size_t>(buffer_.data_end, *count));
      if (*count < buffer::kHeaderSize) KeepRaw();
    }
    return {};
  }

  void KeepRaw() {
    if (entry_.compressed) buffer_.image.swap(buffer_.stored);
    buffer_.stored.clear();
    buffer_.raw = true;
    buffer_.data_end = 0;
  }

  bool Inflate() {
    const auto data = std::span<const std::byte>(buffer_.stored).subspan(buffer::kHeaderSize);
    buffer_.image.resize(entry_.data_end);
    std::copy_n(buffer_.stored.begin(), buffer::kHeaderSize, buffer_.image.begin());
    const auto result = xca::Decode(static_cast<xca::Format>(context_.format_selector), data,
                                    std::span(buffer_.image).subspan(buffer::kHeaderSize));
    if (result.ok()) return true;
    if (!entry_.truncated) {
      Count(DiagnosticId::kInflateFailed, 0, entry_.file_size,
            fmt::format("{} at byte {} of {}", xca::ErrorText(result.error), result.consumed, data.size()));
    }
    KeepRaw();
    return false;
  }

  void Walk() {
    const auto data = std::span<const std::byte>(buffer_.image).first(buffer_.data_end);
    size_t position = buffer::kHeaderSize;
    int64_t last = 0;
    bool timed = false;
    // The first record of the file is metadata of the trace, not an event.
    if (entry_.file_offset == 0) position = SkipFileHeader(data);
    RecordProbe probe;
    while (position < data.size()) {
      const auto rest = data.subspan(position);
      if (const auto reason = ProbeRecord(rest, probe); !reason.empty()) {
        if (!IsFill(rest)) Count(DiagnosticId::kRecordBad, position, rest.size(), reason);
        return;
      }
      const auto record = rest.first(probe.size);
      if (context_.show_carriers || !IsCarrier(record)) {
        if (probe.has_timestamp) {
          if (timed && probe.timestamp < last) {
            if (buffer_.steps_back++ == 0) buffer_.first_step_back = position;
          }
          last = probe.timestamp;
          timed = true;
        } else if (!timed) {
          ++buffer_.leading_untimed;
        }
        CountOddities(probe, record, position);
        buffer_.records.push_back({static_cast<uint32_t>(position), probe.size});
        buffer_.timestamps.push_back(last);
      }
      position += Align8(probe.size);
    }
  }

  static size_t SkipFileHeader(std::span<const std::byte> data) {
    RecordProbe probe;
    if (data.size() <= buffer::kHeaderSize || !ProbeRecord(data.subspan(buffer::kHeaderSize), probe).empty()) {
      return data.size();
    }
    return buffer::kHeaderSize + Align8(probe.size);
  }

  // Fill before the stated end: nothing is lost there.
  static bool IsFill(std::span<const std::byte> rest) {
    const std::byte first = rest[0];
    if (first != std::byte{0xFF} && first != std::byte{0}) return false;
    return std::all_of(rest.begin(), rest.end(), [first](std::byte b) { return b == first; });
  }

  void CountOddities(const RecordProbe& probe, std::span<const std::byte> record, size_t position) {
    if (diagnostics_ == nullptr) return;
    if (probe.kind == HeaderKind::kUnknown || probe.kind == HeaderKind::kError) {
      Count(DiagnosticId::kUnknownHeader, position, record.size(), "a record header without a known layout");
    } else if (probe.kind == HeaderKind::kSystem32 || probe.kind == HeaderKind::kSystem64) {
      if (LoadAt<uint16_t>(record.data(), 6) == 0) {
        Count(DiagnosticId::kSecondFileHeader, position, record.size(), "another file header record");
      }
    }
  }

  void GiveIds() {
    if (context_.id_map == nullptr) return;
    bool changed = false;
    const IdMap::Answer answer = context_.id_map->Lookup(buffer_, buffer_.ids, changed);
    if (changed && answer != IdMap::Answer::kMismatch) {
      Count(DiagnosticId::kIdMapMismatch, 0, entry_.file_size,
            "records changed since their ids were written; their number and sizes did not, and they keep the ids");
    }
    switch (answer) {
      case IdMap::Answer::kPlaces:
        buffer_.ids.clear();
        buffer_.place_source = 0;
        return;
      case IdMap::Answer::kIds: return;
      case IdMap::Answer::kNone: break;
      case IdMap::Answer::kMismatch:
        Count(DiagnosticId::kIdMapMismatch, 0, entry_.file_size, "carried instance ids do not fit these records");
        break;
    }
    buffer_.ids.clear();
  }

  void Count(DiagnosticId id, size_t position, uint64_t length, std::string_view reason) const {
    if (diagnostics_ == nullptr) return;
    // Inside a compressed buffer a place in the file means little; its start is named, and the place in the text.
    if (entry_.compressed && position != 0) {
      diagnostics_->Add(id, {entry_.file_offset, entry_.file_size},
                        fmt::format("{} (at {} of the inflated buffer)", reason, position));
    } else {
      diagnostics_->Add(id, {entry_.file_offset + position, length}, reason);
    }
  }

  const LoadContext& context_;
  const BufferEntry& entry_;
  Diagnostics* diagnostics_;
  LoadedBuffer& buffer_;
};

}  // namespace

Status LoadBuffer(const LoadContext& context, const BufferEntry& entry, Diagnostics* diagnostics,
                  LoadedBuffer& buffer) {
  return Loader(context, entry, diagnostics, buffer).Run();
}

std::shared_ptr<LoadedBuffer> BufferPool::Take() {
  std::unique_ptr<LoadedBuffer> buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      buffer = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!buffer) buffer = std::make_unique<LoadedBuffer>();
  auto give_back = [pool = weak_from_this()](LoadedBuffer* done) {
    std::unique_ptr<LoadedBuffer> owned(done);
    const auto alive = pool.lock();
    if (!alive) return;
    const std::lock_guard lock(alive->mutex_);
    if (alive->free_.size() < kMaxPooledBuffers) alive->free_.push_back(std::move(owned));
  };
  return {buffer.release(), std::move(give_back)};
}

struct BufferLoader::Slot {
  enum State : int { kWaiting, kRunning, kDone };
  size_t entry = 0;
  std::atomic<int> state{kWaiting};
  std::shared_ptr<LoadedBuffer> buffer;
  Status status;
};

struct BufferLoader::Tasks {
  tbb::task_group group;
};

BufferLoader::BufferLoader(const LoadContext& context, const BufferIndex& index, int threads, Diagnostics* diagnostics)
    : context_(context), index_(index), diagnostics_(diagnostics) {
  if (threads > 1) tasks_ = std::make_unique<Tasks>();
}

BufferLoader::~BufferLoader() {
  if (!tasks_) return;
  // Loads that nobody will take are not worth starting.
  for (auto& slot : slots_) {
    int waiting = Slot::kWaiting;
    slot->state.compare_exchange_strong(waiting, Slot::kDone);
  }
  tasks_->group.wait();
}

void BufferLoader::Run(Slot& slot) {
  slot.buffer = pool_->Take();
  slot.status = LoadBuffer(context_, index_.entries[slot.entry], diagnostics_, *slot.buffer);
}

void BufferLoader::Prefetch(size_t entry) {
  if (!tasks_) return;
  auto slot = std::make_shared<Slot>();
  slot->entry = entry;
  slots_.push_back(slot);
  tasks_->group.run([this, slot] {
    int waiting = Slot::kWaiting;
    if (!slot->state.compare_exchange_strong(waiting, Slot::kRunning)) return;
    Run(*slot);
    slot->state.store(Slot::kDone, std::memory_order_release);
    slot->state.notify_all();
  });
}

Result<std::shared_ptr<LoadedBuffer>> BufferLoader::Take(size_t entry) {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [entry](const auto& slot) { return slot->entry == entry; });
  std::shared_ptr<Slot> slot;
  if (found == slots_.end()) {
    slot = std::make_shared<Slot>();
    slot->entry = entry;
  } else {
    slot = *found;
    slots_.erase(found);
  }
  int waiting = Slot::kWaiting;
  if (slot->state.compare_exchange_strong(waiting, Slot::kRunning)) {
    Run(*slot);
  } else {
    while (slot->state.load(std::memory_order_acquire) != Slot::kDone) slot->state.wait(Slot::kRunning);
  }
  if (!slot->status.ok()) return slot->status;
  return std::move(slot->buffer);
}

}  // namespace etwpipe::etl

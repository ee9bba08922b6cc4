#include "formats/etl/buffer_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "formats/etl/layout.h"
#include "formats/xca/xca.h"
#include "pipeline/byte_reader.h"
#include "pipeline/event.h"

namespace etwpipe::etl {
namespace {

constexpr uint64_t kScanLimit = 16u << 20;
constexpr uint64_t kScanWindow = 1 << 20;
constexpr uint64_t kMaxRawEntry = 1 << 20;
// How far a sequence number may be from the last one for a header found by scanning to be believed.
constexpr int64_t kSequenceReach = 1 << 16;
// Bytes that may stay unread after the last byte of compressed data (etl-format.md 6.1: 0 or 4), and some more.
constexpr uint64_t kUnreadBytes = 8;

class Indexer {
 public:
  Indexer(const InputFile& file, const IndexArgs& args) : file_(file), args_(args) {}

  Result<BufferIndex> Run() {
    while (position_ < file_.size()) ETWPIPE_RETURN_IF_ERROR(Step());
    return std::move(index_);
  }

 private:
  Status Step() {
    const uint64_t left = file_.size() - position_;
    if (left < buffer::kHeaderSize) return SkipTo(file_.size(), "the file ends inside a buffer header", true);
    std::byte bytes[buffer::kHeaderSize];
    if (const auto count = file_.ReadAt(position_, bytes); !count.ok() || *count < sizeof bytes) {
      if (!count.ok()) return count.status();
      position_ = file_.size();
      Count(DiagnosticId::kFileShrank, position_, 0, "the file became shorter while it was indexed");
      return {};
    }
    const BufferHeader header = ReadBufferHeader(bytes);
    if (const std::string reason = WhyBad(header); !reason.empty()) return Recover(reason);
    return Accept(header, left);
  }

  std::string WhyBad(const BufferHeader& header) const {
    if (header.buffer_size < buffer::kHeaderSize || header.buffer_size > kMaxBufferBytes) {
      return fmt::format("a buffer claims {} bytes", header.buffer_size);
    }
    if (header.data_end < buffer::kHeaderSize) return "a buffer claims to end inside its header";
    if (header.compressed() && header.data_end > kMaxBufferBytes) {
      return fmt::format("a compressed buffer claims {} inflated bytes", header.data_end);
    }
    if (!args_.compressed_file && !header.compressed() && args_.nominal_buffer_size != 0 &&
        header.buffer_size > args_.nominal_buffer_size && position_ != 0) {
      return fmt::format("a buffer claims {} bytes where the file's are {}", header.buffer_size,
                         args_.nominal_buffer_size);
    }
    return {};
  }

  Status Accept(const BufferHeader& header, uint64_t left) {
    BufferEntry entry;
    entry.file_offset = position_;
    entry.ordinal = index_.entries.size() - split_;
    entry.sequence = header.sequence;
    entry.file_size = std::min<uint64_t>(header.buffer_size, left);
    entry.data_end = header.data_end;
    entry.cpu = header.cpu;
    entry.type = header.type;
    entry.compressed = header.compressed();
    entry.truncated = header.buffer_size > left;
    if (entry.truncated && entry.compressed) {
      const auto size = DataSize(position_);
      if (!size.ok()) return size.status();
      if (*size && **size + kUnreadBytes < left) {
        entry.truncated = false;
        Push(entry);
        return ShrinkLast(**size);
      }
    }
    if (entry.truncated) {
      Count(DiagnosticId::kFileTruncated, position_, left,
            fmt::format("the file ends {} bytes before the end of a buffer of {}", header.buffer_size - left,
                        header.buffer_size));
      ++index_.damaged;
    }
    if (!entry.compressed) {
      if (header.data_end > header.buffer_size) {
        Count(DiagnosticId::kRecordBad, position_ + header.buffer_size, header.data_end - header.buffer_size,
              fmt::format("a buffer of {} bytes claims data up to {}; cut to the buffer", header.buffer_size,
                          header.data_end));
      }
      entry.data_end = static_cast<uint32_t>(std::min<uint64_t>(header.data_end, entry.file_size));
    }
    Push(entry);
    return {};
  }

  void Push(const BufferEntry& entry) {
    const auto image_size = static_cast<uint32_t>(entry.compressed ? entry.data_end : entry.file_size);
    index_.max_image_size = std::max(index_.max_image_size, image_size);
    index_.compressed += entry.compressed ? 1 : 0;
    ++index_.buffers;
    last_sequence_ = entry.sequence;
    position_ += entry.file_size;
    index_.entries.push_back(entry);
  }

  Status Recover(const std::string& reason) {
    if (!args_.compressed_file) return RecoverByMultiple(reason);
    return RecoverByScan(reason);
  }

  // Uncompressed buffers stand at multiples of one size, so the next place is known.
  Status RecoverByMultiple(const std::string& reason) {
    const uint64_t step = args_.nominal_buffer_size != 0 ? args_.nominal_buffer_size : buffer::kHeaderSize * 1024;
    uint64_t next = position_;
    std::byte bytes[buffer::kHeaderSize];
    const uint64_t start = position_;
    while (true) {
      next = (next / step + 1) * step;
      if (next >= file_.size()) return SkipTo(file_.size(), reason, false);
      const auto count = file_.ReadAt(next, bytes);
      if (!count.ok()) return count.status();
      if (*count < sizeof bytes) return SkipTo(file_.size(), reason, false);
      position_ = next;
      const bool good = WhyBad(ReadBufferHeader(bytes)).empty();
      position_ = start;
      if (good) return SkipTo(next, reason, false);
    }
  }

  // Compressed buffers stand anywhere. A header that makes no sense may have been reached by the size of the buffer
  // before it: if that one does not decode it is skipped too, and if it decodes from fewer bytes than it states,
  // buffers stand inside it.
  Status RecoverByScan(const std::string& reason) {
    uint64_t from = position_ + 1;
    if (!index_.entries.empty() && index_.entries.back().compressed) {
      const BufferEntry last = index_.entries.back();
      const auto size = DataSize(last.file_offset);
      if (!size.ok()) return size.status();
      if (*size && **size + kUnreadBytes < last.file_size) return ShrinkLast(**size);
      if (!*size) {
        index_.entries.pop_back();
        --index_.buffers;
        --index_.compressed;
        position_ = last.file_offset;
        from = last.file_offset + buffer::kHeaderSize;
      }
    }
    const auto next = ScanForHeader(from);
    if (!next.ok()) return next.status();
    if (!next->has_value()) return SkipTo(file_.size(), reason + "; none that makes sense follows", false);
    return SkipTo(**next, reason, false);
  }

  // The last entry's data takes `size` bytes only: it ends where the next header stands.
  Status ShrinkLast(uint64_t size) {
    BufferEntry& last = index_.entries.back();
    const auto next = ScanForHeader(last.file_offset + size);
    if (!next.ok()) return next.status();
    const uint64_t end = next->value_or(file_.size());
    Count(DiagnosticId::kBufferSizeBad, last.file_offset, last.file_size,
          fmt::format("a buffer states {} bytes and its data ends after {}", last.file_size, size));
    last.file_size = end - last.file_offset;
    position_ = end;
    return {};
  }

  Result<std::optional<uint64_t>> ScanForHeader(uint64_t from) {
    std::vector<std::byte> window(kScanWindow + buffer::kHeaderSize);
    const uint64_t limit = std::min(from + kScanLimit, file_.size());
    for (uint64_t at = from; at < limit; at += kScanWindow) {
      const auto count = file_.ReadAt(at, window);
      if (!count.ok()) return count.status();
      for (size_t i = 0; i + buffer::kHeaderSize <= *count && i < kScanWindow && at + i < limit; ++i) {
        if (!Plausible(window.data() + i, file_.size() - at - i)) continue;
        const auto decodes = Decodes(at + i);
        if (!decodes.ok()) return decodes.status();
        if (*decodes) return std::optional(at + i);
      }
    }
    return std::optional<uint64_t>();
  }

  bool Plausible(const std::byte* bytes, uint64_t left) const {
    const BufferHeader header = ReadBufferHeader(bytes);
    const uint32_t largest = args_.nominal_buffer_size != 0 ? args_.nominal_buffer_size : kMaxBufferBytes;
    const auto distance =
        static_cast<int64_t>(static_cast<uint64_t>(header.sequence) - static_cast<uint64_t>(last_sequence_));
    return header.buffer_size > buffer::kHeaderSize && header.buffer_size <= left &&
           header.buffer_size <= largest + buffer::kHeaderSize && header.data_end > buffer::kHeaderSize &&
           header.data_end <= largest && (header.flags & ~buffer::kKnownFlags) == 0 && header.type < buffer::kTypeMax &&
           header.sequence >= 0 && distance > -kSequenceReach && distance < kSequenceReach &&
           (header.compressed() || header.data_end <= header.buffer_size);
  }

  Result<bool> Decodes(uint64_t offset) {
    const auto size = DataSize(offset);
    if (!size.ok()) return size.status();
    return size->has_value();
  }

  // Bytes of the file that the buffer at `offset` needs to decode to the size its header states; nullopt if it does
  // not. A stored buffer is taken at its word.
  Result<std::optional<uint64_t>> DataSize(uint64_t offset) {
    std::byte bytes[buffer::kHeaderSize];
    if (const auto count = file_.ReadAt(offset, bytes); !count.ok() || *count < sizeof bytes) {
      if (!count.ok()) return count.status();
      return std::optional<uint64_t>();
    }
    const BufferHeader header = ReadBufferHeader(bytes);
    if (!header.compressed()) return std::optional<uint64_t>(header.buffer_size);
    scratch_in_.resize(header.buffer_size - buffer::kHeaderSize);
    const auto count = file_.ReadAt(offset + buffer::kHeaderSize, scratch_in_);
    if (!count.ok()) return count.status();
    scratch_out_.resize(header.data_end - buffer::kHeaderSize);
    const auto result = xca::Decode(static_cast<xca::Format>(args_.format_selector),
                                    std::span(scratch_in_).first(*count), scratch_out_);
    if (!result.ok()) return std::optional<uint64_t>();
    return std::optional<uint64_t>(buffer::kHeaderSize + result.consumed);
  }

  Result<bool> AllZero(uint64_t begin, uint64_t end) {
    scratch_in_.resize(kMaxRawEntry);
    for (uint64_t at = begin; at < end; at += kMaxRawEntry) {
      const auto count = file_.ReadAt(at, std::span(scratch_in_).first(std::min(kMaxRawEntry, end - at)));
      if (!count.ok()) return count.status();
      const auto part = std::span(scratch_in_).first(*count);
      if (std::any_of(part.begin(), part.end(), [](std::byte b) { return b != std::byte{0}; })) return false;
    }
    return true;
  }

  // Makes [position_, end) a raw range of one ordinal, in pieces that are small enough to hold.
  Status SkipTo(uint64_t end, const std::string& reason, bool short_tail) {
    const uint64_t length = end - position_;
    bool harmless = short_tail && length < 8;
    if (!harmless && end == file_.size()) {
      const auto zero = AllZero(position_, end);
      if (!zero.ok()) return zero.status();
      harmless = *zero;
    }
    if (harmless) {
      Count(DiagnosticId::kTrailingBytes, position_, length, fmt::format("{} bytes after the last buffer", length));
    } else {
      Count(short_tail ? DiagnosticId::kFileTruncated : DiagnosticId::kBufferSkipped, position_, length, reason);
      ++index_.damaged;
      index_.buffers += short_tail ? 0 : 1;
    }
    const uint64_t ordinal = index_.entries.size() - split_;
    for (bool first = true; position_ < end; first = false) {
      BufferEntry entry;
      entry.file_offset = position_;
      entry.file_size = std::min(kMaxRawEntry, end - position_);
      entry.ordinal = ordinal;
      entry.raw = true;
      position_ += entry.file_size;
      index_.entries.push_back(entry);
      split_ += first ? 0 : 1;
    }
    return {};
  }

  void Count(DiagnosticId id, uint64_t offset, uint64_t length, const std::string& reason) const {
    if (args_.diagnostics != nullptr) args_.diagnostics->Add(id, {offset, length}, reason);
  }

  const InputFile& file_;
  const IndexArgs& args_;
  BufferIndex index_;
  uint64_t position_ = 0;
  uint64_t split_ = 0;  // entries that share an ordinal with the one before
  int64_t last_sequence_ = 0;
  std::vector<std::byte> scratch_in_;
  std::vector<std::byte> scratch_out_;
};

}  // namespace

bool BufferHeader::compressed() const { return (flags & buffer::kFlagCompressed) != 0; }

bool BufferEntry::has_records() const {
  return !raw && !carriers && type != buffer::kTypeCtxSwap && type != buffer::kTypeDbgInfo;
}

BufferHeader ReadBufferHeader(const std::byte* bytes) {
  BufferHeader header;
  header.buffer_size = LoadAt<uint32_t>(bytes, buffer::kBufferSize);
  const auto offset = LoadAt<uint32_t>(bytes, buffer::kOffset);
  const auto saved = LoadAt<uint32_t>(bytes, buffer::kSavedOffset);
  // Offset is authoritative; SavedOffset is smaller in some header buffers and 0 in old files (etl-format.md 1.2).
  header.data_end = offset >= buffer::kHeaderSize ? offset : saved;
  header.sequence = LoadAt<int64_t>(bytes, buffer::kSequenceNumber);
  header.flags = LoadAt<uint16_t>(bytes, buffer::kFlag);
  header.type = LoadAt<uint16_t>(bytes, buffer::kType);
  header.cpu = (header.flags & buffer::kFlagProcessorIndex) != 0
                   ? LoadAt<uint16_t>(bytes, buffer::kProcessor) & buffer::kProcessorMask
                   : LoadAt<uint8_t>(bytes, buffer::kProcessor);
  return header;
}

Result<BufferIndex> IndexBuffers(const InputFile& file, const IndexArgs& args) { return Indexer(file, args).Run(); }

}  // namespace etwpipe::etl

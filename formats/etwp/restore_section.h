// What puts the buffers of an original .etl back as they were: the bytes of the file that are no event records
// (FORMAT.md, "Restore section").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "formats/etwp/column_set.h"
#include "pipeline/source_buffer.h"
#include "pipeline/status.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Buffers with their bytes outside of records, apart from the records.
struct RestoreBuffers {
  enum Flags : uint64_t { kCompressed = 1, kRaw = 2, kTailOnes = 4, kOffsets = 8 };
  struct Buffer {
    uint64_t ordinal = 0;
    uint64_t file_offset = 0;
    uint64_t file_size = 0;
    uint64_t image_size = 0;
    uint64_t flags = 0;
    uint64_t records = 0;
    uint64_t first_record = 0;  ///< offset; only with records
    uint64_t gap_size = 0;
    uint64_t pad_distance = 0;  ///< buffers back to the one whose bytes the gaps are the difference to; 0 for none
    uint64_t tail_size = 0;     ///< stored bytes of the tail
    uint16_t cpu = 0;

    bool has(Flags flag) const { return (flags & flag) != 0; }
  };
  std::vector<Buffer> buffers;
  std::vector<uint64_t> offsets;   ///< of all records of buffers with kOffsets
  std::vector<std::byte> headers;  ///< first min(72, image size) bytes of each
  std::vector<std::byte> gaps;
  std::vector<std::byte> tails;

  /// Takes what is needed of a buffer. Cheap; copies only bytes outside of records.
  void Add(const SourceBuffer& source);
  /// Adds all of `other`.
  void Append(const RestoreBuffers& other);
  void Clear();
  /// Bytes that this takes, about.
  size_t size_bytes() const;
};

/// Compresses them into a restore frame.
Status EncodeRestore(const RestoreBuffers& restore, uint64_t first_buffer, int level, ColumnWriter& columns,
                     Compressor& compressor, v1::Restore& out);

/// Reads a restore frame. Any frame is safe; what does not add up is an error.
std::optional<DecodeError> DecodeRestore(const v1::Restore& frame, RestoreBuffers& restore);

/// Puts one buffer together from its own bytes and its records in order.
class BufferAssembler {
 public:
  /// Buffer `index` of a decoded frame. `offset_at`, `header_at`, `gap_at` and `tail_at` say where its parts start in
  /// the frame's lists.
  struct Place {
    size_t index = 0;
    size_t offset_at = 0;
    size_t header_at = 0;
    size_t gap_at = 0;
    size_t tail_at = 0;
  };
  BufferAssembler(std::shared_ptr<const RestoreBuffers> restore, const Place& place);

  const RestoreBuffers::Buffer& buffer() const { return restore_->buffers[place_.index]; }
  /// True if no record is missing.
  bool complete() const { return added_ == buffer().records; }
  /// Adds the next record; false if it does not fit.
  bool AddRecord(std::span<const std::byte> record);
  /// The image, when complete; false if the parts do not fill it exactly. `reference` is the image of the buffer that
  /// pad_distance points at; empty without one.
  bool Finish(std::span<const std::byte> reference);
  bool finished() const { return finished_; }
  std::span<const std::byte> image() const { return {image_.get(), buffer().image_size}; }

 private:
  bool AddGap(size_t count);

  std::shared_ptr<const RestoreBuffers> restore_;
  Place place_;
  std::unique_ptr<std::byte[]> image_;
  size_t position_ = 0;  // end of what is in place
  size_t gap_used_ = 0;
  uint64_t added_ = 0;
  bool finished_ = false;
  std::vector<std::pair<size_t, size_t>> gap_places_;  // offset and size, of buffers with a reference
};

/// Where the parts of the buffer after that one start; the parts of buffer 0 start at 0.
BufferAssembler::Place NextPlace(const RestoreBuffers& restore, const BufferAssembler::Place& place);

}  // namespace etwpipe::etwp

// One output buffer while it is filled: records of one processor behind a 72-byte header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "formats/etl/layout.h"

namespace etwpipe::etl {

/// What goes into the header of a written buffer (etl-format.md 9.1, 9.2).
struct BufferFields {
  int64_t time_stamp = 0;       ///< raw ticks of the last record
  int64_t sequence_number = 0;  ///< dense, 0 for the header buffer
  uint16_t cpu = 0;
  uint16_t flags = buffer::kFlagProcessorIndex;
  uint16_t type = buffer::kTypeGeneric;
  uint32_t state = buffer::kStateFlush;
};

/// Appends records, 8-aligned with zero pads. Memory behind them is not touched before Finish(), so that a buffer
/// takes what it holds. Reusable after Clear().
class BufferBuilder {
 public:
  /// `buffer_size` bytes in all, at least 72.
  explicit BufferBuilder(uint32_t buffer_size)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(buffer_size)), size_(buffer_size) {}

  bool empty() const { return used_ == buffer::kHeaderSize; }
  /// End of the data so far, header included; a multiple of 8.
  uint32_t used() const { return static_cast<uint32_t>(used_); }
  uint32_t buffer_size() const { return size_; }
  bool Fits(size_t record_size) const { return used_ + Align8(record_size) <= size_; }

  /// Room for a record of `record_size` bytes, to be filled by the caller; its pads are zeroed. Only if Fits().
  std::span<std::byte> Allocate(size_t record_size) {
    std::byte* place = bytes_.get() + used_;
    const size_t aligned = Align8(record_size);
    std::memset(place + record_size, 0, aligned - record_size);
    used_ += aligned;
    return {place, record_size};
  }
  /// Copies a record. Only if Fits().
  void Append(std::span<const std::byte> record) {
    const auto place = Allocate(record.size());
    std::memcpy(place.data(), record.data(), record.size());
  }
  /// Copies a record with the pad bytes that follow it in its source (`padded` is a multiple of 8). Only if Fits().
  void AppendPadded(std::span<const std::byte> padded) {
    std::memcpy(bytes_.get() + used_, padded.data(), padded.size());
    used_ += padded.size();
  }

  /// Room for the header, whose content is undefined, and the data so far; valid until the builder changes.
  std::span<const std::byte> image() const { return {bytes_.get(), used_}; }
  /// Writes the header, fills the rest with 0xFF, and shows the whole buffer; valid until the builder changes.
  std::span<const std::byte> Finish(const BufferFields& fields);

  /// Empty again.
  void Clear() { used_ = buffer::kHeaderSize; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  uint32_t size_;
  size_t used_ = buffer::kHeaderSize;
};

/// Writes the 72-byte header of a buffer of `buffer_size` bytes on disk with data up to `data_end`.
void WriteBufferHeader(std::byte* header, const BufferFields& fields, uint32_t buffer_size, uint32_t data_end);

}  // namespace etwpipe::etl

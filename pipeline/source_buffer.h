// One container of the input: the bytes that event rows point into, and what is needed to put it back as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etwpipe {

/// Where one event record stands in its buffer.
struct RecordPlace {
  uint32_t offset = 0;  ///< bytes from the start of the image
  uint16_t size = 0;    ///< bytes, without padding
};

/// Bytes of the input and their records. Immutable once made; kept alive by the pins of the batches that use it.
struct SourceBuffer {
  uint64_t ordinal = 0;      ///< 0-based number of the buffer in the file
  uint64_t file_offset = 0;  ///< bytes
  uint32_t file_size = 0;    ///< bytes it takes in the file
  uint16_t cpu = 0;
  bool compressed = false;  ///< in the file; `image` is always inflated
  /// No buffer but a range of the file that could not be read as one (damage, trailing bytes, a buffer that does not
  /// decompress): `image` is file_size bytes exactly as they stand in the file, and there are no records.
  bool raw = false;
  /// Header and data as they stand in memory when inflated. Bytes outside `records` are pads, fill or damage.
  std::vector<std::byte> image;
  uint32_t data_end = 0;  ///< end of the valid data, from the image's start
  std::vector<RecordPlace> records;
  /// The buffer's bytes in the file when it is compressed, header included; empty otherwise.
  std::vector<std::byte> stored;

  std::span<const std::byte> record(size_t index) const {
    return std::span(image).subspan(records[index].offset, records[index].size);
  }
};

}  // namespace etwpipe

// Where the buffers of an .etl file are: read from their 72-byte headers only (etl-format.md section 1).
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/diagnostics.h"
#include "pipeline/platform.h"
#include "pipeline/status.h"

namespace etwpipe::etl {

/// What a buffer header says, checked against the file.
struct BufferHeader {
  uint32_t buffer_size = 0;  ///< bytes in the file
  uint32_t data_end = 0;     ///< end of valid data in the inflated image, header included
  int64_t sequence = 0;
  uint16_t cpu = 0;
  uint16_t flags = 0;
  uint16_t type = 0;

  bool compressed() const;
};

/// Reads a header without judging it. `bytes` has at least 72.
BufferHeader ReadBufferHeader(const std::byte* bytes);

/// One buffer of the file, or a range of it that is none.
struct BufferEntry {
  uint64_t file_offset = 0;
  uint64_t ordinal = 0;
  int64_t sequence = 0;
  uint64_t file_size = 0;  ///< bytes in the file; of a truncated one, what is there
  uint32_t data_end = 0;   ///< as BufferHeader, cut to what is there
  uint16_t cpu = 0;
  uint16_t type = 0;
  bool compressed = false;
  bool truncated = false;
  bool raw = false;       ///< a range that is no buffer: skipped damage or trailing bytes
  bool carriers = false;  ///< holds nothing but our own carrier events

  bool has_records() const;
};

/// Buffers in file order. Skipped ranges are entries too and count as one ordinal each.
struct BufferIndex {
  std::vector<BufferEntry> entries;
  uint32_t max_image_size = 0;  ///< largest inflated buffer
  uint64_t buffers = 0;         ///< skipped ranges included, bytes after the last buffer not
  uint64_t compressed = 0;
  uint64_t damaged = 0;  ///< skipped ranges and truncated buffers
};

struct IndexArgs {
  uint32_t nominal_buffer_size = 0;  ///< of the log-file header; 0 if it makes no sense
  bool compressed_file = false;      ///< log-file mode says so
  uint32_t format_selector = 3;      ///< xca::Format number of compressed buffers
  Diagnostics* diagnostics = nullptr;
};

/// Indexes a whole file. Only failing reads are errors; damage is counted and skipped:
/// in an uncompressed file to the next multiple of the nominal size, in a compressed one to the next header that makes
/// sense and whose data decodes, at most 16 MiB on.
Result<BufferIndex> IndexBuffers(const InputFile& file, const IndexArgs& args);

}  // namespace etwpipe::etl

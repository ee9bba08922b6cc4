// The buffers of an index as per-processor streams, loaded in turn.
#pragma once

#include <memory>
#include <vector>

#include "formats/etl/buffer_loader.h"

namespace etwpipe::etl {

/// Entries of one processor in stream order: by sequence number, then by place in the file.
struct CpuStream {
  uint16_t cpu = 0;
  std::vector<size_t> entries;  ///< indexes into BufferIndex::entries
};

/// Streams by processor number. Entries that hold no records (raw ranges, carriers, background buffers) are in `rest`,
/// in file order.
struct CpuStreams {
  std::vector<CpuStream> streams;
  std::vector<size_t> rest;
};
CpuStreams SplitStreams(const BufferIndex& index, Diagnostics* diagnostics);

/// What a stream must remember from buffer to buffer.
struct StreamClock {
  int64_t last = 0;  ///< timestamp of the stream's last record; at first that of the file header
  bool started = false;
};

/// Completes a buffer that is next in its stream: records without a timestamp inherit the last one before them, and
/// steps back are counted.
void ContinueStream(StreamClock& clock, LoadedBuffer& buffer, Diagnostics* diagnostics);

}  // namespace etwpipe::etl

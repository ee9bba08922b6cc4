// A buffer that the .etl sink writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "formats/etl/buffer_builder.h"
#include "pipeline/event.h"
#include "pipeline/sink.h"
#include "pipeline/source_buffer.h"

namespace etwpipe::etl {

/// One buffer on its way to the file.
struct RelogBlock : SinkBlock {
  uint64_t ordinal = 0;  ///< of the buffer in the file; known to Encode()
  BufferFields fields;
  std::shared_ptr<const SourceBuffer> copy;  ///< either a buffer of the input ...
  std::unique_ptr<BufferBuilder> built;      ///< ... or one of ours
  std::vector<RecordPlace> places;           ///< of `built`
  std::vector<EventInstanceId> ids;
  // Made by Encode().
  std::vector<std::byte> packed;
  std::span<const std::byte> stored;                                    ///< compressed data to write; empty: plain
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> id_entries;  ///< first record, entry

  std::span<const RecordPlace> records() const {
    return copy ? std::span<const RecordPlace>(copy->records) : std::span<const RecordPlace>(places);
  }
  uint32_t data_end() const { return copy ? copy->data_end : built->used(); }
};

}  // namespace etwpipe::etl

// Kept records into output buffers.
//
// Writer policy (design.md section 8): kept records of one processor are packed and a buffer closes when the next
// record does not fit; a buffer kept whole is copied when that processor's open buffer is empty or more than 3/4 full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "formats/etl/buffer_builder.h"
#include "formats/etl/relog_block.h"
#include "formats/etl/relog_chunk.h"
#include "pipeline/sink.h"
#include "pipeline/status.h"

namespace etwpipe::etl {

/// Makes the buffers of a relogged file in the order in which they are written. One thread at a time, but for
/// TakeBuilder() and GiveBuilder(), which any thread may call.
class BufferPacker {
 public:
  struct Options {
    std::string path;          ///< of the output, for messages
    uint32_t buffer_size = 0;  ///< bytes; grows where the file header needs more
    bool compress = false;
    int64_t base_ticks = 0;                ///< timestamp of the file header
    uint64_t next_injected = 1;            ///< counter of the next injected event, as the input says
    std::vector<std::byte> header_record;  ///< the log-file header record
  };
  explicit BufferPacker(Options options);
  ~BufferPacker();
  BufferPacker(const BufferPacker&) = delete;
  BufferPacker& operator=(const BufferPacker&) = delete;

  /// Adds a chunk and appends the buffers that are complete, first of all the header buffer. kOutput if a record fits
  /// no buffer.
  Status Add(std::unique_ptr<RelogChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  /// After the last chunk: the buffers that remain.
  Status End(std::vector<std::unique_ptr<SinkBlock>>& blocks);

  /// Fixed after the first call of Add() or End().
  uint32_t buffer_size() const { return buffer_size_; }
  /// Raw ticks of the latest record so far.
  int64_t max_timestamp() const { return max_timestamp_; }
  uint64_t next_injected() const { return next_injected_; }
  /// Sequence number for a buffer that the caller adds; after End().
  int64_t TakeSequence() { return next_sequence_++; }

  /// An empty builder of buffer_size() bytes.
  std::unique_ptr<BufferBuilder> TakeBuilder();
  /// Takes a builder back for later use, or frees it if there are enough.
  void GiveBuilder(std::unique_ptr<BufferBuilder> builder);

 private:
  struct OpenBuffer;  // without a builder between CloseBuffer() and OpenFor()

  Status CutHeaderBuffer(RelogChunk* first, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  Status CutPending(std::vector<std::unique_ptr<SinkBlock>>& blocks);
  Status Pack(const RelogChunk& chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  size_t PackRun(OpenBuffer& open, const RelogChunk& chunk, size_t begin);
  void PackRecord(OpenBuffer& open, std::span<const std::byte> padded, uint16_t size, EventInstanceId id,
                  int64_t timestamp, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  void CloseBuffer(OpenBuffer& open, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  void CopyWhole(std::vector<std::unique_ptr<SinkBlock>>& blocks);
  OpenBuffer& OpenFor(uint16_t cpu);

  Options options_;
  uint32_t buffer_size_;
  bool header_cut_ = false;
  int64_t next_sequence_ = 1;
  int64_t max_timestamp_;
  uint64_t next_injected_;
  std::map<uint16_t, std::unique_ptr<OpenBuffer>> open_;
  std::vector<std::unique_ptr<RelogChunk>> pending_;  // parts of one buffer, until its last part has come
  std::mutex builders_mutex_;
  std::vector<std::unique_ptr<BufferBuilder>> builders_;
};

}  // namespace etwpipe::etl

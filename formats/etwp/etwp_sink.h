// Writes compact archives (sink.etwp), format version 2 (FORMAT.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/etwp/block_encoder.h"
#include "formats/etwp/dictionary.h"
#include "formats/etwp/event_chunk.h"
#include "formats/etwp/images_hash.h"
#include "formats/etwp/original_hash.h"
#include "formats/etwp/pad_predictor.h"
#include "formats/etwp/restore_section.h"
#include "formats/etwp/statistics.h"
#include "pipeline/platform.h"
#include "pipeline/sink.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

constexpr uint32_t kMaxBlockBytes = 32u << 20;

enum class Level : uint8_t { kFast, kDefault, kMax };

enum class Layout : uint8_t {
  kColumns,
  kRows,  ///< plain Event messages for readers that want it simple; neither annotations nor a restore section
};

struct EtwpSinkOptions {
  std::string path;  ///< "-" is standard output, written as a stream
  bool force = false;
  std::string spool_dir;
  Level level = Level::kDefault;
  Layout layout = Layout::kColumns;
  bool normalize = false;   ///< drop what only an exact copy needs: pads, fill, stale header fields
  bool keep_paths = false;  ///< store the names of the source files
  /// Asked at the end for schemas to embed, as text; empty if there are none. Those the input carries go on anyway.
  std::function<std::string()> schemas;
  OutputCheck check;  ///< of the finished file; not asked where it is streamed
  uint32_t block_bytes =
      0;  ///< bytes of records and annotations per block, at most kMaxBlockBytes; 0: what suits the level
  /// The .etl that is read, for its SHA-256. Without it the archive is not exact.
  std::shared_ptr<InputFile> original;
};

/// zstd's level for one of ours.
int ZstdLevel(Level level);

class EtwpSink : public Sink {
 public:
  explicit EtwpSink(EtwpSinkOptions options);
  ~EtwpSink() override;

  /// Where the original can be read twice, what it says of its own events is asked for beforehand, else by the end.
  SinkInfo info() const override {
    const bool columns = options_.layout == Layout::kColumns;
    const bool before = columns && options_.original != nullptr;
    return {.order = Order::kTime,
            .stores_annotations = columns,
            .facts = kSchemas,
            .facts_at_end = !before,
            .block_bytes = options_.block_bytes};
  }
  Status Begin(const BeginArgs& args) override;
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>& blocks) override;
  Status Encode(SinkBlock& block) const override;
  Status Write(SinkBlock& block) override;
  Status Finish() override;
  uint64_t bytes_written() const override;

  /// After Finish(): whether the archive gives its original back.
  bool exact() const { return not_exact_.empty(); }

 private:
  struct Block;
  struct Part;
  struct Worker;

  Result<std::unique_ptr<Block>> CloseBlock();
  Status EncodeFirst(Block& block);
  void CutRestore(bool all, std::vector<std::unique_ptr<SinkBlock>>& blocks);
  Status NumberAnnotations(const EventChunk& chunk, uint32_t begin, uint32_t end);
  Result<v1::FrameEntry> Append(const v1::Frame& frame);
  Result<v1::FrameEntry> AppendBytes(std::span<const std::byte> frame);
  Status WritePrefix();
  Status FlushIndexPart();
  Status CheckExact();
  void FillTrailer(v1::Trailer& trailer);
  std::unique_ptr<Worker> TakeWorker() const;
  void GiveWorker(std::unique_ptr<Worker> worker) const;

  EtwpSinkOptions options_;
  std::unique_ptr<OutputFile> out_;
  Diagnostics* diagnostics_ = nullptr;
  v1::TraceHeader header_;
  TraceContext rows_trace_;                    // of the input, with providers of its own: for rows
  std::vector<std::string> embedded_schemas_;  // of the input
  std::string not_exact_;                      // why; empty while exact
  bool keep_restore_ = false;
  bool hash_images_ = false;  // the original has compressed buffers, which a restored file compresses anew

  // Prepare
  const TraceContext* trace_ = nullptr;
  std::unique_ptr<ChunkMaker> chunks_;

  // Cut
  bool wants_prefix_ = false;
  BlockPrefix prefix_;         // null until the first block is closed
  v1::Columns first_columns_;  // of that block, until their copy is written
  DictionaryWriter dictionary_;
  StatisticsBuilder statistics_;
  v1::Dictionary fresh_;  // entries that the open block uses first
  std::vector<AnnotationInfo> declared_;
  std::vector<Part> parts_;  // of the open block
  uint64_t open_events_ = 0;
  uint64_t open_weight_ = 0;
  uint64_t events_ = 0;  // in closed blocks
  uint64_t next_injected_ = 1;
  PadPredictor pads_;
  RestoreBuffers restore_;
  uint64_t restore_buffers_ = 0;  // in closed frames
  uint64_t restore_records_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> covered_;  // (offset, size) in the original of every buffer
  ImagesHash images_;

  // Encode
  mutable std::mutex workers_mutex_;
  mutable std::vector<std::unique_ptr<Worker>> workers_;

  // Write
  v1::Index index_;  // the part being filled
  std::vector<v1::FrameEntry> index_parts_;
  std::optional<v1::FrameEntry> prefix_entry_;  // once it is written
  uint64_t blocks_ = 0;
  int64_t min_timestamp_ = 0;
  int64_t max_timestamp_ = 0;
  std::unique_ptr<OriginalHash> hasher_;
};

}  // namespace etwpipe::etwp

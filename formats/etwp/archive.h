// An opened archive: header, dictionary, index and trailer, and a walk over its blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/dictionary.h"
#include "formats/etwp/frame.h"
#include "pipeline/platform.h"
#include "pipeline/trace_context.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// What is known of a block before it is read.
struct BlockSummary {
  uint64_t first_event = 0;
  uint32_t events = 0;
  uint64_t record_bytes = 0;
  int64_t min_timestamp = 0;  ///< raw ticks
  int64_t max_timestamp = 0;
  std::vector<uint32_t> kinds;  ///< kind numbers, ascending; look them up with KindHeader()
  /// What only the index knows (proto/archive.proto); null without one. Lives as long as the archive.
  const v1::BlockEntry* entry = nullptr;
};

/// Returns true for blocks that nobody needs. Called in the order of the file, from one thread at a time.
using SkipBlock = std::function<bool(const BlockSummary&)>;

/// Whether the file is an archive, by its first bytes or its tail. Not for a stream. False if it cannot be read.
bool LooksLikeArchive(const InputFile& file);

class Archive {
 public:
  /// Opens an archive. `start`: bytes at the start of a stream that were read already to recognise it. Damage found on
  /// the way goes to `diagnostics` (may be null). Without an end (cut off, damaged, or a stream) there is no index and
  /// no trailer, and blocks are found from sync word to sync word. Errors: kInput when the file is no archive, was
  /// written for newer readers, or lost both copies of its header.
  static Result<std::shared_ptr<Archive>> Open(std::shared_ptr<InputFile> file, Diagnostics* diagnostics,
                                               std::vector<std::byte> start = {});

  const std::shared_ptr<InputFile>& file() const { return file_; }
  const TraceInfo& info() const { return info_; }
  const v1::TraceHeader& header() const { return header_; }
  /// The whole index as one message; without entries if there is none.
  const v1::Index& index() const { return index_; }
  bool has_index() const { return has_index_; }
  /// Null without an index, or if the trailer is damaged.
  const v1::Trailer* trailer() const { return trailer_ ? &*trailer_ : nullptr; }
  /// Null without an index, or if there are none, or they are damaged.
  const v1::Statistics* statistics() const { return statistics_ ? &*statistics_ : nullptr; }
  /// True for a stream whose one walk has begun.
  bool used_up() const { return file_->sequential() && stream_ == nullptr; }
  /// Tells `diagnostics` (may be null) of damage in frames that neither opening nor a BlockWalker looks at: those for
  /// restoring, and dictionaries that the complete one stands for. Nothing without an index: a walk meets them all.
  Status CheckUnread(Diagnostics* diagnostics) const;
  /// Makes dictionary() know the prefix, if there is one to be had: from the first block or else from its copy. It is
  /// looked for once. A Status only when the file cannot be read.
  Status FindPrefix();
  /// As far as it is known: all of it with an index; otherwise a BlockWalker adds what it meets.
  Dictionary& dictionary() { return dictionary_; }
  const Dictionary& dictionary() const { return dictionary_; }

 private:
  Archive() = default;
  Status ReadFirstFrame(std::vector<std::byte> start);
  Status TakeHeader(const v1::TraceHeader& header);
  Status ReadEnd(Diagnostics* diagnostics);
  Result<std::string> ReadIndex(const Tail& tail);
  Status ReadDictionaries(Diagnostics* diagnostics);
  Status ScanFrames();
  bool TakePrefix(const v1::Columns& columns);

  std::shared_ptr<InputFile> file_;
  TraceInfo info_;
  v1::TraceHeader header_;
  bool has_header_ = false;
  std::string first_frame_fault_;
  uint64_t after_first_frame_ = 0;
  v1::Index index_;
  bool has_index_ = false;
  std::optional<v1::Trailer> trailer_;
  std::optional<v1::Statistics> statistics_;
  Dictionary dictionary_;
  bool dictionary_complete_ = false;  // read in one piece; the dictionaries between the blocks were not looked at
  std::optional<v1::Columns> first_columns_;  // of the first block, once a walk without an index met it
  bool prefix_sought_ = false;
  std::unique_ptr<FrameWalker> stream_;  // the one walk over a stream, until a BlockWalker takes it

  friend class BlockWalker;
};

/// A block with a right checksum and its names; its columns are not looked at yet.
struct ReadBlock {
  DiagnosticPlace place;
  BlockNames names;
  ReadFrame frame;

  const v1::Block& block() const { return frame.body.block(); }
};

/// Walks the blocks of an archive in order, by the index or from sync word to sync word. Damage is reported and passed
/// over. One thread at a time.
class BlockWalker {
 public:
  /// Both must live as long; `diagnostics` may be null. A stream can be walked once.
  BlockWalker(Archive& archive, Diagnostics* diagnostics);

  /// The next block that `skip` (may be empty) does not pass over; null at the end.
  Result<std::unique_ptr<ReadBlock>> Next(const SkipBlock& skip);
  /// Bytes of the file that are done.
  uint64_t position() const { return position_; }
  /// The trailer, once a walk without an index met it.
  const v1::Trailer* trailer() const { return trailer_ ? &*trailer_ : nullptr; }

 private:
  Result<std::unique_ptr<ReadBlock>> NextByIndex(const SkipBlock& skip);
  Result<std::unique_ptr<ReadBlock>> NextBySync(const SkipBlock& skip);
  Result<bool> Accept(ReadBlock& block);
  void Report(DiagnosticId id, DiagnosticPlace place, std::string_view reason) const;

  Archive& archive_;
  Diagnostics* diagnostics_;
  std::unique_ptr<FrameWalker> frames_;
  int next_entry_ = 0;
  uint64_t next_event_ = 0;
  uint64_t position_ = 0;
  bool ended_ = false;
  std::optional<v1::Trailer> trailer_;
};

}  // namespace etwpipe::etwp

// Events of a block to columns and back (FORMAT.md, "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/etwp/column_set.h"
#include "formats/etwp/dictionary.h"
#include "formats/etwp/record_template.h"
#include "pipeline/annotation.h"
#include "pipeline/status.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Largest number of events of a block that a reader accepts.
constexpr uint32_t kMaxBlockEvents = 1 << 20;

/// One event on its way into a block. Views bytes of a chunk.
struct BlockRow {
  const std::byte* record = nullptr;
  uint64_t instance_id = 0;
  int64_t timestamp = 0;
  const RecordTemplate* kind = nullptr;
  uint32_t kind_number = 0;
  uint16_t size = 0;
  uint16_t cpu = 0;
  uint16_t extended_size = 0;
};

/// An annotation of a block's events: per row the column that holds its value and the row there; null for none.
struct BlockAnnotation {
  struct Cell {
    const AnnotationColumn* column = nullptr;
    uint32_t row = 0;
  };
  uint32_t number = 0;
  AnnotationType type = AnnotationType::kU64;
  std::vector<Cell> cells;
};

struct BlockEvents {
  uint64_t first_event = 0;
  std::vector<BlockRow> rows;
  std::vector<BlockAnnotation> annotations;  ///< ascending numbers; those without a value in the block are left out
};

/// A block taken apart again. Records stand 8-aligned in `bytes`, with at least 8 readable bytes after the last.
struct DecodedBlock {
  struct Row {
    uint64_t instance_id = 0;
    int64_t timestamp = 0;
    uint32_t offset = 0;  ///< of the record in `bytes`
    uint16_t size = 0;
    uint16_t cpu = 0;
    uint16_t kind = 0;  ///< index into Block.kinds
  };
  struct Annotation {
    AnnotationInfo info;
    std::vector<uint64_t> present;  ///< per row 0 or 1
    std::vector<uint64_t> values;   ///< per row; index into texts, or begin in `lists`, by type
    std::vector<std::string> texts;
    std::vector<uint64_t> lists;       ///< the values of all lists
    std::vector<uint64_t> list_sizes;  ///< per row
  };
  std::vector<Row> rows;
  std::vector<std::byte> bytes;
  std::vector<Annotation> annotations;

  std::span<const std::byte> record(const Row& row) const { return {bytes.data() + row.offset, row.size}; }
};

/// Names that a block uses, looked up in the dictionary.
struct BlockNames {
  std::vector<const RecordTemplate*> kinds;        ///< parallel to Block.kinds
  std::vector<const AnnotationInfo*> annotations;  ///< parallel to Block.annotations
};
/// Fails with the reason when the dictionary lacks one.
std::optional<DecodeError> FindNames(const v1::Block& block, const Dictionary& dictionary, BlockNames& names);

/// Takes a block apart. Any block is safe: sizes are checked before anything is allocated, and what does not add up is
/// an error.
std::optional<DecodeError> DecodeBlock(const v1::Block& block, const BlockNames& names, DecodedBlock& decoded);

/// Makes blocks, one at a time; keeps its working memory.
class BlockEncoder {
 public:
  /// Writes `events` (at least one) as a block, decodes it again and compares. A kind that does not come back byte for
  /// byte is stored as raw records. `level` is zstd's.
  Status Encode(const BlockEvents& events, int level, v1::Block& block);

  /// Adds events and bytes of each kind of the block just made.
  void CountKinds(v1::BlockEntry& entry) const;

  /// For tests: kinds stored as raw records from the start.
  void set_raw_kinds(std::vector<uint32_t> kinds) { raw_kinds_ = std::move(kinds); }

 private:
  Status EncodeOnce(const BlockEvents& events, std::span<const uint32_t> raw_kinds, int level, v1::Block& block);
  void AddHeaderColumns(std::span<const BlockRow> rows);
  void AddKindColumns(std::span<const BlockRow> rows, const v1::Block& block);
  void AddAnnotation(const BlockAnnotation& annotation);

  std::vector<uint32_t> raw_kinds_;
  Compressor compressor_;
  ColumnWriter columns_;
  std::vector<BlockRow> rows_;
  std::vector<uint32_t> order_;       // rows grouped by kind
  std::vector<uint32_t> group_ends_;  // per kind of the block, into order_
  std::vector<uint64_t> kind_index_;  // per row
  std::vector<uint64_t> numbers_[8];
  DecodedBlock check_;
};

}  // namespace etwpipe::etwp

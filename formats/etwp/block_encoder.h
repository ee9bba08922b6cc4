// Events of a block to columns (FORMAT.md, "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "formats/etwp/block_decoder.h"
#include "formats/etwp/column_set.h"
#include "formats/etwp/payload_encoder.h"
#include "formats/etwp/record_template.h"
#include "pipeline/annotation.h"
#include "pipeline/status.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

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

/// Makes blocks, one at a time; keeps its working memory.
class BlockEncoder {
 public:
  /// Writes `events` (at least one) as a block, decodes it again and compares. A kind that does not come back byte for
  /// byte is stored as raw records, and its rows then say so. `level` is zstd's.
  Status Encode(BlockEvents& events, int level, v1::Block& block);
  /// For other frames, too: it takes tens of MiB.
  Compressor& compressor() { return compressor_; }
  /// How much the choice of encodings and predictions tries out.
  void set_effort(Effort effort) { columns_.numbers().set_effort(effort); }
  /// What the next blocks are compressed with; null for nothing.
  void set_prefix(BlockPrefix prefix) { prefix_ = std::move(prefix); }

  /// Adds events and bytes of each kind of the block just made of those rows.
  void CountKinds(std::span<const BlockRow> rows, v1::BlockEntry& entry) const;

  /// For tests: kinds stored as raw records from the start.
  void set_raw_kinds(std::vector<uint32_t> kinds) { raw_kinds_ = std::move(kinds); }

 private:
  struct ExtendedColumns {
    std::vector<uint64_t> counts;
    std::vector<uint64_t> codes;
  };

  Status EncodeOnce(BlockEvents& events, std::span<const uint32_t> raw_kinds, int level, v1::Block& block);
  void AddOrder(std::span<const BlockRow> rows, const v1::Block& block);
  void AddHeaderColumns(std::span<const BlockRow> rows);
  void AddPayloads(std::span<const BlockRow> rows, const v1::Block& block);
  void AddKindColumns(std::span<const BlockRow> rows, const v1::Block& block);
  void AddExtended(const BlockRow& row, ExtendedColumns& columns);
  void AddAnnotation(const BlockAnnotation& annotation);
  void Release();

  std::vector<uint32_t> raw_kinds_;
  BlockPrefix prefix_;
  bool large_ = false;  // the block at hand
  Compressor compressor_;
  ColumnWriter columns_;
  PayloadEncoder payloads_;
  TableWriter extended_table_;
  std::vector<ExtendedColumns> extended_;  // per kind of the block
  std::vector<uint32_t> order_;            // rows grouped by kind
  std::vector<uint32_t> group_ends_;       // per kind of the block, into order_
  std::vector<uint64_t> kind_index_;       // per row
  std::vector<uint64_t> forms_;            // per row, of kinds with a layout
  std::vector<uint64_t> numbers_[8];
  BlockDecoder decoder_;
  DecodedBlock check_;
};

}  // namespace etwpipe::etwp

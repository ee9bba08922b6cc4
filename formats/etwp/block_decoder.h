// Columns of a block back to events (FORMAT.md, "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/etwp/column_set.h"
#include "formats/etwp/dictionary.h"
#include "formats/etwp/record_template.h"
#include "pipeline/annotation.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Largest number of events of a block that a reader accepts.
constexpr uint32_t kMaxBlockEvents = 1 << 20;
/// Largest product of its events and its annotations.
constexpr uint64_t kMaxBlockNotes = uint64_t{1} << 25;
/// Largest number of values in all lists of its annotations, and of texts.
constexpr uint64_t kMaxBlockListValues = uint64_t{1} << 23;
constexpr uint64_t kMaxBlockTexts = uint64_t{1} << 22;

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
    std::vector<uint64_t> lists;       ///< the values of all lists; of lists of texts indexes into texts
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
  BlockPrefix prefix;                              ///< null where the block needs none
};
/// Fails with the reason when the dictionary lacks one, or the prefix that the block needs.
std::optional<DecodeError> FindNames(const v1::Block& block, const Dictionary& dictionary, BlockNames& names);

/// Takes blocks apart, one at a time; keeps its working memory.
class BlockDecoder {
 public:
  BlockDecoder();
  BlockDecoder(BlockDecoder&&) noexcept;
  BlockDecoder& operator=(BlockDecoder&&) noexcept;
  ~BlockDecoder();

  /// Any block is safe: sizes are checked before anything is allocated, and what does not add up is an error.
  std::optional<DecodeError> Decode(const v1::Block& block, const BlockNames& names, DecodedBlock& decoded);

  /// Told of each event in order; `record` has the bytes that `row` says and is valid during the call. False ends the
  /// block there, which is no error.
  using Look = std::function<bool(const DecodedBlock::Row& row, const std::byte* record)>;
  /// The same for a block of columns, but keeps no events: of `decoded` only the annotations count.
  std::optional<DecodeError> Walk(const v1::Block& block, const BlockNames& names, const Look& look,
                                  DecodedBlock& decoded);

 private:
  class Decoding;
  std::unique_ptr<Decoding> decoding_;
};

/// The same for a single block.
std::optional<DecodeError> DecodeBlock(const v1::Block& block, const BlockNames& names, DecodedBlock& decoded);

}  // namespace etwpipe::etwp

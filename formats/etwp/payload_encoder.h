// Payloads of a block to columns of their fields (FORMAT.md, "Payloads").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/etwp/column_set.h"
#include "formats/etwp/compact_numbers.h"
#include "formats/etwp/payload_layout.h"
#include "formats/etwp/payload_splitter.h"
#include "formats/etwp/prediction.h"
#include "formats/etwp/value_tables.h"

namespace etwpipe::etwp {

/// Collects the payloads of a block, then writes their columns. Views the payloads.
class PayloadEncoder {
 public:
  /// `layouts`: one per kind of the block, null where it has none. `events`: how many payloads of each will come, if
  /// that is known.
  void Start(std::span<const PayloadLayout* const> layouts, std::span<const size_t> events = {});
  /// Takes the next event's payload, of a kind with a layout. Returns the value of COLUMN_PAYLOAD_FORM.
  uint64_t Add(size_t kind, std::span<const std::byte> payload, const HeaderFacts& facts);
  /// Ends the payloads; gives back what only they need.
  void EndPayloads();
  /// Writes the columns of a kind, which has that number in the file, and gives their memory back. Once per kind.
  void WriteKind(size_t kind, uint32_t number, ColumnWriter& columns);
  /// Writes the tables.
  void WriteTables(ColumnWriter& columns) const;
  /// Gives the memory of the block back, but for what is small.
  void Release();

 private:
  struct FieldColumn {
    CompactNumbers values;  // numbers; or 2 * table entry + 1 if it is new there
    CompactNumbers last;    // what kFromLast predicts for each
    CompactNumbers row;     // what kFromRow does; empty where it cannot
    CompactNumbers below;   // what kFromNearest does
    std::vector<uint64_t> counts;
    std::vector<size_t> starts;  // of a pair's first array: where each array starts in values
    uint64_t previous = 0;       // of an array in the payload at hand
    TableWriter* table = nullptr;
  };
  struct Kind {
    const PayloadLayout* layout = nullptr;
    std::vector<FieldColumn> fields;
    std::vector<size_t> arrays;      // fields that are in one
    std::vector<HeaderFacts> facts;  // per payload that has fields
    std::vector<uint32_t> before;    // per such payload the one before on its processor, counted from 1; 0 for none
  };

  /// Appends what stands in the column of the field for values [begin, end), told from the prediction.
  void AddPredicted(const Kind& kind, size_t field, uint32_t prediction, size_t begin, size_t end);
  struct Choice {
    uint32_t prediction = kNoPrediction;
    /// ENCODING_CONSTANT where it is not known.
    v1::Encoding encoding = v1::ENCODING_CONSTANT;
    size_t cost = 0;  // of the column, about
  };
  Choice ChoosePrediction(const Kind& kind, size_t field, NumberEncoder& numbers);
  void FillPaired(const Kind& kind, size_t field);
  uint32_t& LastOnProcessor(size_t kind, uint16_t cpu);

  PayloadSplitter splitter_;
  PredictionState state_;
  bool all_rows_ = true;  // state_ left no row out
  std::vector<Kind> kinds_;
  Tables<TableWriter> tables_;
  KeyIndex processors_;                      // by kind and processor, to the place in last_on_processor_
  std::vector<uint32_t> last_on_processor_;  // payload of the kind, counted from 1
  size_t processor_values_ = 0;              // that a reader would keep for these
  std::vector<uint64_t> scalars_;
  std::vector<uint64_t> column_;
};

}  // namespace etwpipe::etwp

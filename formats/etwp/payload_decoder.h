// Payloads of a block out of the columns of their fields (FORMAT.md, "Payloads").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/etwp/column_set.h"
#include "formats/etwp/payload_layout.h"
#include "formats/etwp/prediction.h"
#include "formats/etwp/value_tables.h"

namespace etwpipe::etwp {

/// Gives the payloads of a block in the order of its events. Any columns are safe.
class PayloadDecoder {
 public:
  /// `layouts` as in the writer; `numbers` are those of the kinds in the file. False if a column cannot be what it
  /// should. `columns` and the layouts must outlive this.
  bool Start(std::span<const PayloadLayout* const> layouts, std::span<const uint32_t> numbers,
             const ColumnReader& columns);
  /// Writes the fields of the next event of `kind` to `to`, `room` bytes at most; false if something does not add up.
  /// size() tells how many bytes they take.
  bool Next(size_t kind, const HeaderFacts& facts, std::byte* to, size_t room);
  size_t size() const { return at_; }
  /// Whether every column is used up.
  bool at_end() const;

 private:
  struct FieldColumn {
    NumberCursor values;
    NumberCursor counts;
    uint32_t prediction = kNoPrediction;
    TableReader* table = nullptr;
    uint64_t mask = 0;    // of a number
    uint16_t simple = 0;  // how many fields from this one on are single numbers, a struct's end not minded
    uint8_t width = 0;
    bool key = false;
  };
  struct Kind {
    const PayloadLayout* layout = nullptr;
    bool by_processor = false;  // a column predicts from the payload before on the processor
    std::vector<FieldColumn> fields;
  };

  bool CheckPrediction(const PayloadLayout& layout, size_t field, uint32_t prediction) const;
  bool Range(size_t begin, size_t end);
  bool SimpleNumbers(size_t begin, size_t end);
  bool Elements(size_t index);
  bool One(size_t index);
  bool Number(size_t index);
  bool Pair(size_t index, uint64_t count);
  bool Value(size_t index);
  bool Put(std::span<const std::byte> bytes);
  bool PutNumber(uint64_t value, size_t width);
  uint64_t Predicted(size_t index, uint32_t prediction) const;
  bool FindRows(uint64_t key);
  // Bounds the work that a payload may make.
  bool Step() { return ++steps_ <= AllowedSteps(at_); }

  PredictionState state_;
  std::vector<Kind> kinds_;
  Tables<TableReader> tables_;
  size_t entries_ = 0;            // of all tables
  std::vector<uint64_t> values_;  // per field of the payload at hand, the last one; tables count from 1

  size_t kind_ = 0;
  Kind* at_kind_ = nullptr;
  HeaderFacts facts_;
  std::span<uint64_t> row_;
  std::span<const uint64_t> below_;
  std::span<uint64_t> before_;    // on the processor
  std::vector<uint64_t> second_;  // the second array of a pair, between the two
  std::byte* to_ = nullptr;
  size_t room_ = 0;
  size_t at_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace etwpipe::etwp

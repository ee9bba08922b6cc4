// Columns of a block or restore frame: named byte strings with an encoding each, compressed together
// (FORMAT.md, "Columns").
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/etwp/number_codec.h"
#include "pipeline/diagnostics.h"
#include "pipeline/status.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Why a frame with a right checksum cannot be used.
struct DecodeError {
  DiagnosticId id = DiagnosticId::kArchiveFrameBad;
  std::string reason;
};

/// The column of numbers that has the sizes of the rows of a column of bytes; COLUMN_UNKNOWN if there is none.
constexpr uint32_t SizesOf(uint32_t id) {
  switch (id) {
    case v1::COLUMN_PAYLOAD: return v1::COLUMN_PAYLOAD_SIZE;
    case v1::COLUMN_TABLE: return v1::COLUMN_TABLE_SIZE;
    default: return v1::COLUMN_UNKNOWN;
  }
}

/// Working memory of compression; one per thread at a time.
class Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {}

  /// Compresses `head` and then `content` at zstd `level` as one frame; a zstd block ends at each of `cuts` (ascending
  /// offsets in both together). Whoever inflates it needs the same `prefix`, unless it is empty.
  Status Compress(std::span<const std::byte> head, std::span<const std::byte> content, std::span<const size_t> cuts,
                  int level, std::span<const std::byte> prefix, std::string& out);

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
};

/// Collects columns. Reusable after Clear(), with its memory kept.
class ColumnWriter {
 public:
  void Clear();
  /// The same, with its memory given back.
  void Release();
  /// Adds a column of numbers in the encoding that suits it; nothing if all are zero and nothing is predicted.
  /// `chosen`: what Choose() said of them, if it was asked already; not of a constant.
  void AddNumbers(uint32_t id, uint32_t of, std::span<const uint64_t> values, uint32_t prediction = 0,
                  v1::Encoding chosen = v1::ENCODING_CONSTANT);
  /// What chooses the encodings; how much it tries is its owner's business.
  NumberEncoder& numbers() { return numbers_; }
  /// A column of bytes: append to the result, then call one of the three below. An empty column is left out.
  std::vector<std::byte>& BeginBytes(uint32_t id, uint32_t of);
  void EndBytes() { EndBytesAs(v1::ENCODING_BYTES); }
  /// The bytes are rows of those sizes, which are another column's values (SizesOf()); they may be smaller by place.
  void EndRows(std::span<const uint64_t> sizes);
  /// The bytes are such a column already.
  void EndBytesAs(v1::Encoding encoding);
  /// Names an encoding that a reader of these columns must know.
  void Require(v1::Encoding encoding) { required_.push_back(encoding); }

  /// Writes directory and columns, compressed, with `prefix` if it is not empty. Fails when they exceed the bound of a
  /// frame.
  Status Finish(int level, Compressor& compressor, v1::Columns& out, std::span<const std::byte> prefix = {});

 private:
  void Add(uint32_t id, uint32_t of, v1::Encoding encoding, uint32_t prediction, size_t begin);
  std::optional<v1::Encoding> ByPlace(std::span<const std::byte> bytes, std::span<const uint64_t> sizes);

  struct Pending {
    uint32_t id = 0;
    uint32_t of = 0;
    size_t begin = 0;
  };
  NumberEncoder numbers_;
  v1::ColumnDirectory directory_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> rows_;
  Pending pending_;
  std::vector<v1::Encoding> required_;
};

/// Whether columns are compressed with a prefix.
bool NeedsPrefix(const v1::Columns& columns);
/// Replaces `content` by the inflated directory and columns; sizes are checked before allocating. `prefix`: what they
/// were compressed with, if they need it.
std::optional<DecodeError> InflateColumns(const v1::Columns& columns, std::span<const std::byte> prefix,
                                          std::vector<std::byte>& content);

/// Opens columns again. Everything is checked: sizes before allocating, each column consumed to its last byte.
class ColumnReader {
 public:
  /// Inflates, with `prefix` if the columns need it. The error says what is wrong; nullopt when all is well.
  std::optional<DecodeError> Open(const v1::Columns& columns, std::span<const std::byte> prefix = {});

  /// Replaces `out` by the `count` values of a column; zeros where it is absent. False when it does not hold exactly
  /// `count`.
  bool Numbers(uint32_t id, uint32_t of, size_t count, std::vector<uint64_t>& out) const;
  /// A column of bytes; empty where absent. Valid as long as this object is unchanged. False on another encoding.
  bool Bytes(uint32_t id, uint32_t of, std::span<const std::byte>& out) const;
  /// The bytes of a column as they stand; false if it is absent or has another encoding. Valid like Bytes().
  bool Encoded(uint32_t id, uint32_t of, v1::Encoding encoding, std::span<const std::byte>& out) const;
  /// A column of numbers whose count only its reader will know; zeros without end where it is absent. Valid like
  /// Bytes().
  bool Cursor(uint32_t id, uint32_t of, NumberCursor& out) const;
  /// ColumnDirectory.prediction of a column, 0 where it is absent.
  uint32_t PredictionOf(uint32_t id, uint32_t of) const;

 private:
  struct Column {
    uint64_t key = 0;  // id, then of
    uint32_t encoding = 0;
    uint32_t prediction = 0;
    size_t begin = 0;  // in content_, or of a column of rows in rows_
    size_t length = 0;
  };
  bool ReadRows();
  const Column* Find(uint32_t id, uint32_t of) const;

  std::vector<std::byte> content_;
  std::vector<std::byte> rows_;  // of columns that stood transposed
  std::vector<Column> columns_;  // by key
};

}  // namespace etwpipe::etwp

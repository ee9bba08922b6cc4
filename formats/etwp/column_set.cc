#include "formats/etwp/column_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "formats/etwp/byte_rows.h"
#include "formats/etwp/frame.h"

namespace etwpipe::etwp {
namespace {

// Columns shorter than this share a zstd block with their neighbours (archive-experiments.md section 5).
constexpr size_t kMinCompressedPart = 4096;
// Rows that are worth a look, and bytes of them that are looked at.
constexpr size_t kMinRows = 4;
constexpr size_t kRowSample = 128 << 10;

// A million columns: five numbers of at most three bytes each, but for the lengths.
constexpr size_t kMaxDirectory = 16 << 20;
constexpr int kMaxColumns = 1 << 20;

constexpr size_t kLargeContent = 512 << 10;
constexpr int kTableLog = 20;
constexpr int kMinWindowLog = 10;  // zstd takes none below

DecodeError Bad(std::string reason) { return {DiagnosticId::kArchiveFrameBad, std::move(reason)}; }

constexpr uint64_t KeyOf(uint32_t id, uint32_t of) { return uint64_t{id} << 32 | of; }

}  // namespace

Status Compressor::Compress(std::span<const std::byte> head, std::span<const std::byte> content,
                            std::span<const size_t> cuts, int level, std::span<const std::byte> prefix,
                            std::string& out) {
  ZSTD_CCtx* context = context_.get();
  if (context == nullptr) return Status::Internal("zstd: no memory");
  const size_t size = head.size() + content.size();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
  // Larger tables would take up to 80 MiB and gain nothing on columns.
  if (size + prefix.size() > kLargeContent) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, kTableLog);
    ZSTD_CCtx_setParameter(context, ZSTD_c_chainLog, kTableLog);
  }
  ZSTD_CCtx_setPledgedSrcSize(context, size);
  if (!prefix.empty()) {
    const int window = std::max(static_cast<int>(std::bit_width(size + prefix.size())), kMinWindowLog);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window);
    ZSTD_CCtx_refPrefix(context, prefix.data(), prefix.size());
  }
  out.resize(ZSTD_compressBound(size) + 16 * (cuts.size() + 1));
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const auto feed = [&](std::span<const std::byte> bytes, ZSTD_EndDirective then) -> Status {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    const size_t left = ZSTD_compressStream2(context, &output, &input, then);
    if (ZSTD_isError(left)) return Status::Internal(fmt::format("zstd: {}", ZSTD_getErrorName(left)));
    const bool all = input.pos == input.size && (then == ZSTD_e_continue || left == 0);
    return all ? Status() : Status::Internal("zstd: the output exceeds its bound");
  };
  for (size_t at = 0, part = 0; part <= cuts.size(); ++part) {
    const bool last = part == cuts.size();
    const size_t end = last ? size : cuts[part];
    if (at < head.size()) {
      const size_t of_head = std::min(end, head.size());
      ETWPIPE_RETURN_IF_ERROR(feed(head.subspan(at, of_head - at), ZSTD_e_continue));
      at = of_head;
    }
    ETWPIPE_RETURN_IF_ERROR(feed(content.subspan(at - head.size(), end - at), last ? ZSTD_e_end : ZSTD_e_flush));
    at = end;
  }
  out.resize(output.pos);
  return {};
}

void ColumnWriter::Clear() {
  directory_.Clear();
  bytes_.clear();
  required_.clear();
}

void ColumnWriter::Release() {
  Clear();
  bytes_ = {};
  rows_ = {};
}

void ColumnWriter::Add(uint32_t id, uint32_t of, v1::Encoding encoding, uint32_t prediction, size_t begin) {
  directory_.add_id(id);
  directory_.add_of(of);
  directory_.add_encoding(static_cast<uint32_t>(encoding));
  directory_.add_length(static_cast<uint32_t>(bytes_.size() - begin));
  directory_.add_prediction(prediction);
}

void ColumnWriter::AddNumbers(uint32_t id, uint32_t of, std::span<const uint64_t> values, uint32_t prediction,
                              v1::Encoding chosen) {
  if (values.empty()) return;
  if (chosen == v1::ENCODING_CONSTANT) chosen = numbers_.Choose(values).encoding;
  if (chosen == v1::ENCODING_CONSTANT && values.front() == 0 && prediction == 0) return;
  const size_t begin = bytes_.size();
  NumberEncoder::Write(values, chosen, bytes_);
  Add(id, of, chosen, prediction, begin);
}

std::vector<std::byte>& ColumnWriter::BeginBytes(uint32_t id, uint32_t of) {
  pending_ = {id, of, bytes_.size()};
  return bytes_;
}

// The encoding by place that makes the rows smaller, if one does, with the bytes in rows_.
std::optional<v1::Encoding> ColumnWriter::ByPlace(std::span<const std::byte> bytes, std::span<const uint64_t> sizes) {
  if (sizes.size() < kMinRows) return std::nullopt;
  const bool equal = std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
  if (equal && sizes.front() < 2) return std::nullopt;
  const auto write = [&](std::span<const std::byte> rows, size_t count) {
    rows_.clear();
    if (equal) {
      WriteTransposed(rows, sizes.front(), rows_);
    } else {
      WriteGrouped(rows, sizes.first(count), rows_);
    }
  };
  size_t count = 0;
  size_t sampled = 0;
  for (; count < sizes.size() && (count < kMinRows || sampled + sizes[count] <= kRowSample); ++count) {
    sampled += sizes[count];
  }
  const auto sample = bytes.first(sampled);
  write(sample, count);
  if (numbers_.PackedSize(rows_) >= numbers_.PackedSize(sample)) return std::nullopt;
  if (count < sizes.size()) write(bytes, sizes.size());
  return equal ? v1::ENCODING_TRANSPOSED : v1::ENCODING_GROUPED;
}

void ColumnWriter::EndRows(std::span<const uint64_t> sizes) {
  const auto encoding = ByPlace(std::span<const std::byte>(bytes_).subspan(pending_.begin), sizes);
  if (encoding) {
    bytes_.resize(pending_.begin);
    bytes_.insert(bytes_.end(), rows_.begin(), rows_.end());
  }
  EndBytesAs(encoding.value_or(v1::ENCODING_BYTES));
}

void ColumnWriter::EndBytesAs(v1::Encoding encoding) {
  if (bytes_.size() > pending_.begin) Add(pending_.id, pending_.of, encoding, 0, pending_.begin);
}

Status ColumnWriter::Finish(int level, Compressor& compressor, v1::Columns& out, std::span<const std::byte> prefix) {
  const size_t directory_size = directory_.ByteSizeLong();
  const size_t size = directory_size + bytes_.size();
  if (size > kMaxContent) {
    return Status::Internal(
        fmt::format("columns of {} bytes exceed the bound of a frame, {} bytes", size, kMaxContent));
  }
  std::string directory;
  if (!directory_.SerializeToString(&directory)) return Status::Internal("a column directory cannot be serialised");

  bool used[v1::Encoding_ARRAYSIZE] = {};
  for (const v1::Encoding encoding : required_) used[encoding] = true;
  std::vector<size_t> cuts;
  size_t at = directory_size;
  size_t part = 0;
  for (int i = 0; i < directory_.length_size(); ++i) {
    used[directory_.encoding(i)] = true;
    const size_t length = directory_.length(i);
    if (length >= kMinCompressedPart || at - part >= kMinCompressedPart) {
      if (at > part) cuts.push_back(at);
      part = at;
    }
    at += length;
  }
  out.Clear();
  for (uint32_t encoding = 0; encoding < v1::Encoding_ARRAYSIZE; ++encoding) {
    if (used[encoding]) out.add_encodings(encoding);
  }
  out.set_directory_length(static_cast<uint32_t>(directory_size));
  out.set_content_length(static_cast<uint32_t>(size));
  ETWPIPE_RETURN_IF_ERROR(
      compressor.Compress(std::as_bytes(std::span(directory)), bytes_, cuts, level, prefix, *out.mutable_content()));
  if (out.content().size() < size) {
    out.set_compression(v1::Columns::COMPRESSION_ZSTD);
    if (!prefix.empty()) out.add_encodings(v1::ENCODING_PREFIXED);
    return {};
  }
  out.set_compression(v1::Columns::COMPRESSION_NONE);
  out.mutable_content()->assign(directory);
  out.mutable_content()->append(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  return {};
}

bool NeedsPrefix(const v1::Columns& columns) {
  const auto& encodings = columns.encodings();
  return std::find(encodings.begin(), encodings.end(), v1::ENCODING_PREFIXED) != encodings.end();
}

std::optional<DecodeError> InflateColumns(const v1::Columns& columns, std::span<const std::byte> prefix,
                                          std::vector<std::byte>& content) {
  for (const uint32_t encoding : columns.encodings()) {
    if (!IsKnownEncoding(encoding)) {
      return DecodeError{DiagnosticId::kArchiveEncodingUnknown,
                         fmt::format("it uses encoding {}, which this version does not know", encoding)};
    }
  }
  const bool prefixed = NeedsPrefix(columns);
  if (prefixed && prefix.empty()) return Bad("it needs a prefix where there is none");
  const size_t size = columns.content_length();
  if (size > kMaxContent) return Bad(fmt::format("it declares {} bytes of columns", size));
  if (columns.directory_length() > kMaxDirectory) return Bad("its column directory is too long");
  if (columns.directory_length() > size) return Bad("its column directory is longer than its content");
  if (columns.compression() == v1::Columns::COMPRESSION_NONE) {
    if (columns.content().size() != size) return Bad("its content has another length than declared");
    const auto* bytes = reinterpret_cast<const std::byte*>(columns.content().data());
    content.assign(bytes, bytes + size);
  } else if (columns.compression() == v1::Columns::COMPRESSION_ZSTD) {
    const auto& packed = columns.content();
    if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) {
      return Bad("its zstd frame states another size than declared");
    }
    const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
    if (context == nullptr) return Bad("zstd: no memory");
    if (prefixed) ZSTD_DCtx_refPrefix(context.get(), prefix.data(), prefix.size());
    content.resize(size);
    const size_t inflated = ZSTD_decompressDCtx(context.get(), content.data(), size, packed.data(), packed.size());
    if (ZSTD_isError(inflated)) return Bad(fmt::format("zstd: {}", ZSTD_getErrorName(inflated)));
    if (inflated != size) return Bad("its zstd frame is shorter than declared");
  } else {
    return DecodeError{DiagnosticId::kArchiveEncodingUnknown,
                       fmt::format("it uses compression {}, which this version does not know",
                                   static_cast<int>(columns.compression()))};
  }
  return std::nullopt;
}

std::optional<DecodeError> ColumnReader::Open(const v1::Columns& columns, std::span<const std::byte> prefix) {
  columns_.clear();
  if (auto error = InflateColumns(columns, prefix, content_)) return error;
  const size_t size = content_.size();
  v1::ColumnDirectory directory;
  if (!directory.ParseFromArray(content_.data(), static_cast<int>(columns.directory_length()))) {
    return Bad("its column directory cannot be parsed");
  }
  const int count = directory.id_size();
  if (count > kMaxColumns) return Bad("it has too many columns");
  if (directory.of_size() != count || directory.encoding_size() != count || directory.length_size() != count ||
      (directory.prediction_size() != count && directory.prediction_size() != 0)) {
    return Bad("its column directory is inconsistent");
  }
  size_t at = columns.directory_length();
  columns_.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const size_t length = directory.length(i);
    if (length > size - at) return Bad("a column reaches past the content");
    if (!IsKnownEncoding(directory.encoding(i))) {
      return DecodeError{
          DiagnosticId::kArchiveEncodingUnknown,
          fmt::format("a column uses encoding {}, which this version does not know", directory.encoding(i))};
    }
    const uint32_t prediction = directory.prediction_size() == 0 ? 0 : directory.prediction(i);
    columns_.push_back({KeyOf(directory.id(i), directory.of(i)), directory.encoding(i), prediction, at, length});
    at += length;
  }
  if (at != size) return Bad("its columns do not fill the content");
  std::sort(columns_.begin(), columns_.end(), [](const Column& a, const Column& b) { return a.key < b.key; });
  const auto twice = std::adjacent_find(columns_.begin(), columns_.end(),
                                        [](const Column& a, const Column& b) { return a.key == b.key; });
  if (twice != columns_.end()) return Bad("a column occurs twice");
  if (!ReadRows()) return Bad("a column of rows makes no sense");
  return std::nullopt;
}

bool ColumnReader::ReadRows() {
  rows_.clear();
  for (Column& column : columns_) {
    const auto bytes = std::span<const std::byte>(content_).subspan(column.begin, column.length);
    const size_t begin = rows_.size();
    if (column.encoding == v1::ENCODING_TRANSPOSED) {
      if (!ReadTransposed(bytes, rows_)) return false;
    } else if (column.encoding == v1::ENCODING_GROUPED) {
      const uint32_t sizes = SizesOf(static_cast<uint32_t>(column.key >> 32));
      NumberCursor cursor;
      if (sizes == v1::COLUMN_UNKNOWN || !Cursor(sizes, static_cast<uint32_t>(column.key), cursor)) return false;
      if (!ReadGrouped(bytes, cursor, rows_)) return false;
    } else {
      continue;
    }
    column.begin = begin;
    column.length = rows_.size() - begin;
  }
  return true;
}

const ColumnReader::Column* ColumnReader::Find(uint32_t id, uint32_t of) const {
  const uint64_t key = KeyOf(id, of);
  const auto found = std::lower_bound(columns_.begin(), columns_.end(), key,
                                      [](const Column& column, uint64_t wanted) { return column.key < wanted; });
  return found != columns_.end() && found->key == key ? &*found : nullptr;
}

bool ColumnReader::Numbers(uint32_t id, uint32_t of, size_t count, std::vector<uint64_t>& out) const {
  const Column* column = Find(id, of);
  if (column == nullptr) {
    out.assign(count, 0);
    return true;
  }
  NumberCursor cursor;
  if (!cursor.Open(column->encoding, std::span(content_).subspan(column->begin, column->length))) return false;
  // Every value but those of a constant takes a byte at least.
  if (column->encoding != v1::ENCODING_CONSTANT && count > column->length) return false;
  out.resize(count);
  for (uint64_t& value : out) {
    if (!cursor.Next(value)) return false;
  }
  return cursor.at_end();
}

bool ColumnReader::Cursor(uint32_t id, uint32_t of, NumberCursor& out) const {
  const Column* column = Find(id, of);
  if (column == nullptr) {
    out.Reset();
    return true;
  }
  return out.Open(column->encoding, std::span(content_).subspan(column->begin, column->length));
}

uint32_t ColumnReader::PredictionOf(uint32_t id, uint32_t of) const {
  const Column* column = Find(id, of);
  return column == nullptr ? 0 : column->prediction;
}

bool ColumnReader::Encoded(uint32_t id, uint32_t of, v1::Encoding encoding, std::span<const std::byte>& out) const {
  const Column* column = Find(id, of);
  if (column == nullptr || column->encoding != static_cast<uint32_t>(encoding)) return false;
  out = std::span(content_).subspan(column->begin, column->length);
  return true;
}

bool ColumnReader::Bytes(uint32_t id, uint32_t of, std::span<const std::byte>& out) const {
  out = {};
  const Column* column = Find(id, of);
  if (column == nullptr) return true;
  const bool rows = column->encoding == v1::ENCODING_TRANSPOSED || column->encoding == v1::ENCODING_GROUPED;
  if (!rows && column->encoding != v1::ENCODING_BYTES) return false;
  out = std::span(rows ? rows_ : content_).subspan(column->begin, column->length);
  return true;
}

}  // namespace etwpipe::etwp

#include "formats/etwp/restore_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "formats/etl/layout.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/pad_predictor.h"
#include "pipeline/event.h"

namespace etwpipe::etwp {
namespace {

using etl::Align8;
using Buffer = RestoreBuffers::Buffer;

constexpr uint64_t kMaxRestoreBuffers = 1 << 20;

void AppendBytes(std::span<const std::byte> from, std::vector<std::byte>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

size_t HeaderBytes(const Buffer& buffer) { return std::min<size_t>(etl::buffer::kHeaderSize, buffer.image_size); }

struct NumberColumn {
  uint32_t id;
  uint64_t Buffer::*member;
};
constexpr NumberColumn kNumberColumns[] = {
    {v1::RESTORE_ORDINAL, &Buffer::ordinal},
    {v1::RESTORE_FILE_OFFSET, &Buffer::file_offset},
    {v1::RESTORE_FILE_SIZE, &Buffer::file_size},
    {v1::RESTORE_IMAGE_SIZE, &Buffer::image_size},
    {v1::RESTORE_FLAGS, &Buffer::flags},
    {v1::RESTORE_RECORDS, &Buffer::records},
    {v1::RESTORE_GAP_SIZE, &Buffer::gap_size},
    {v1::RESTORE_TAIL_SIZE, &Buffer::tail_size},
    {v1::RESTORE_PAD_DISTANCE, &Buffer::pad_distance},
};

}  // namespace

void RestoreBuffers::Add(const SourceBuffer& source) {
  const auto image = std::span<const std::byte>(source.image);
  Buffer buffer;
  buffer.ordinal = source.ordinal;
  buffer.file_offset = source.file_offset;
  buffer.file_size = source.file_size;
  buffer.image_size = image.size();
  buffer.cpu = source.cpu;
  buffer.flags = source.raw ? uint64_t{kRaw} : source.compressed ? uint64_t{kCompressed} : 0;
  buffer.records = source.records.size();

  const size_t header = HeaderBytes(buffer);
  AppendBytes(image.first(header), headers);
  const size_t gaps_before = gaps.size();
  size_t position = header;
  if (!source.records.empty()) {
    buffer.first_record = source.records.front().offset;
    size_t expected = buffer.first_record;
    const bool consecutive = std::all_of(source.records.begin(), source.records.end(), [&](const RecordPlace& place) {
      const bool fits = place.offset == expected;
      expected = place.offset + Align8(place.size);
      return fits;
    });
    if (!consecutive) {
      buffer.flags |= kOffsets;
      for (const auto& place : source.records) offsets.push_back(place.offset);
    }
    ForEachGap(source, [&](size_t offset, size_t size) { AppendBytes(image.subspan(offset, size), gaps); });
    position =
        std::min<size_t>(Align8(size_t{source.records.back().offset} + source.records.back().size), image.size());
  }
  buffer.gap_size = gaps.size() - gaps_before;
  const auto tail = image.subspan(position);
  const bool ones =
      !tail.empty() && std::all_of(tail.begin(), tail.end(), [](std::byte b) { return b == std::byte{0xFF}; });
  if (ones) {
    buffer.flags |= kTailOnes;
  } else {
    buffer.tail_size = tail.size();
    AppendBytes(tail, tails);
  }
  buffers.push_back(buffer);
}

void RestoreBuffers::Append(const RestoreBuffers& other) {
  buffers.insert(buffers.end(), other.buffers.begin(), other.buffers.end());
  offsets.insert(offsets.end(), other.offsets.begin(), other.offsets.end());
  AppendBytes(other.headers, headers);
  AppendBytes(other.gaps, gaps);
  AppendBytes(other.tails, tails);
}

void RestoreBuffers::Clear() {
  buffers.clear();
  offsets.clear();
  headers.clear();
  gaps.clear();
  tails.clear();
}

size_t RestoreBuffers::size_bytes() const {
  return buffers.size() * 16 + offsets.size() * 4 + headers.size() + gaps.size() + tails.size();
}

Status EncodeRestore(const RestoreBuffers& restore, uint64_t first_buffer, int level, ColumnWriter& columns,
                     Compressor& compressor, v1::Restore& out) {
  out.set_first_buffer(first_buffer);
  out.set_buffers(static_cast<uint32_t>(restore.buffers.size()));
  columns.Clear();
  std::vector<uint64_t> values;
  for (const auto& column : kNumberColumns) {
    values.clear();
    for (const auto& buffer : restore.buffers) values.push_back(buffer.*column.member);
    columns.AddNumbers(column.id, 0, values);
  }
  values.clear();
  for (const auto& buffer : restore.buffers) values.push_back(buffer.cpu);
  columns.AddNumbers(v1::RESTORE_CPU, 0, values);
  values.clear();
  for (const auto& buffer : restore.buffers) {
    if (buffer.records > 0) values.push_back(buffer.first_record);
  }
  columns.AddNumbers(v1::RESTORE_FIRST_RECORD, 0, values);
  columns.AddNumbers(v1::RESTORE_OFFSETS, 0, restore.offsets);
  const auto add_bytes = [&](uint32_t id, const std::vector<std::byte>& bytes) {
    AppendBytes(bytes, columns.BeginBytes(id, 0));
    columns.EndBytes();
  };
  add_bytes(v1::RESTORE_HEADER, restore.headers);
  add_bytes(v1::RESTORE_GAPS, restore.gaps);
  add_bytes(v1::RESTORE_TAIL, restore.tails);
  return columns.Finish(level, compressor, *out.mutable_columns());
}

std::optional<DecodeError> DecodeRestore(const v1::Restore& frame, RestoreBuffers& restore) {
  restore.Clear();
  const auto bad = [](std::string reason) { return DecodeError{DiagnosticId::kArchiveFrameBad, std::move(reason)}; };
  const size_t count = frame.buffers();
  if (count == 0 || count > kMaxRestoreBuffers) return bad(fmt::format("it declares {} buffers", count));
  ColumnReader columns;
  if (auto error = columns.Open(frame.columns())) return error;
  constexpr const char* kMisfit = "a restore column does not fit its buffers";
  restore.buffers.resize(count);
  std::vector<uint64_t> values;
  for (const auto& column : kNumberColumns) {
    if (!columns.Numbers(column.id, 0, count, values)) return bad(kMisfit);
    for (size_t i = 0; i < count; ++i) restore.buffers[i].*column.member = values[i];
  }
  if (!columns.Numbers(v1::RESTORE_CPU, 0, count, values)) return bad(kMisfit);
  for (size_t i = 0; i < count; ++i) {
    if (values[i] > 0xFFFF) return bad(kMisfit);
    restore.buffers[i].cpu = static_cast<uint16_t>(values[i]);
  }
  const auto with_records = static_cast<size_t>(std::count_if(restore.buffers.begin(), restore.buffers.end(),
                                                              [](const Buffer& buffer) { return buffer.records > 0; }));
  if (!columns.Numbers(v1::RESTORE_FIRST_RECORD, 0, with_records, values)) return bad(kMisfit);
  size_t next_first = 0;
  uint64_t offsets = 0;
  uint64_t headers = 0;
  uint64_t gaps = 0;
  uint64_t tails = 0;
  for (auto& buffer : restore.buffers) {
    if (buffer.image_size > kMaxBufferBytes || buffer.records > kMaxBufferBytes / 4) return bad(kMisfit);
    if (buffer.gap_size > buffer.image_size || buffer.tail_size > buffer.image_size) return bad(kMisfit);
    if (buffer.has(RestoreBuffers::kCompressed) && buffer.image_size < etl::buffer::kHeaderSize) return bad(kMisfit);
    if (buffer.records > 0) buffer.first_record = values[next_first++];
    if (buffer.has(RestoreBuffers::kOffsets)) offsets += buffer.records;
    headers += HeaderBytes(buffer);
    gaps += buffer.gap_size;
    tails += buffer.tail_size;
  }
  if (offsets > kMaxContent / 8 || !columns.Numbers(v1::RESTORE_OFFSETS, 0, offsets, restore.offsets))
    return bad(kMisfit);
  std::span<const std::byte> bytes;
  if (!columns.Bytes(v1::RESTORE_HEADER, 0, bytes) || bytes.size() != headers) return bad(kMisfit);
  restore.headers.assign(bytes.begin(), bytes.end());
  if (!columns.Bytes(v1::RESTORE_GAPS, 0, bytes) || bytes.size() != gaps) return bad(kMisfit);
  restore.gaps.assign(bytes.begin(), bytes.end());
  if (!columns.Bytes(v1::RESTORE_TAIL, 0, bytes) || bytes.size() != tails) return bad(kMisfit);
  restore.tails.assign(bytes.begin(), bytes.end());
  return std::nullopt;
}

BufferAssembler::BufferAssembler(std::shared_ptr<const RestoreBuffers> restore, const Place& place)
    : restore_(std::move(restore)),
      place_(place),
      image_(std::make_unique_for_overwrite<std::byte[]>(buffer().image_size)) {
  position_ = HeaderBytes(buffer());
  if (position_ != 0) std::memcpy(image_.get(), restore_->headers.data() + place_.header_at, position_);
}

bool BufferAssembler::AddGap(size_t count) {
  if (count > buffer().gap_size - gap_used_ || count > buffer().image_size - position_) return false;
  if (count != 0) std::memcpy(image_.get() + position_, restore_->gaps.data() + place_.gap_at + gap_used_, count);
  if (count != 0 && buffer().pad_distance != 0) gap_places_.emplace_back(position_, count);
  gap_used_ += count;
  position_ += count;
  return true;
}

bool BufferAssembler::AddRecord(std::span<const std::byte> record) {
  if (complete()) return false;
  size_t offset = added_ == 0 ? buffer().first_record : Align8(position_);
  if (buffer().has(RestoreBuffers::kOffsets)) offset = restore_->offsets[place_.offset_at + added_];
  if (offset < position_ || !AddGap(offset - position_) || record.size() > buffer().image_size - position_)
    return false;
  if (!record.empty()) std::memcpy(image_.get() + position_, record.data(), record.size());
  position_ += record.size();
  ++added_;
  return true;
}

bool BufferAssembler::Finish(std::span<const std::byte> reference) {
  if (!complete()) return false;
  if (!AddGap(buffer().gap_size - gap_used_)) return false;
  for (const auto& [offset, size] : gap_places_) {
    for (size_t i = offset; i < std::min(offset + size, reference.size()); ++i) image_[i] ^= reference[i];
  }
  const size_t tail = buffer().image_size - position_;
  if (buffer().has(RestoreBuffers::kTailOnes)) {
    std::fill_n(image_.get() + position_, tail, std::byte{0xFF});
  } else {
    if (tail != buffer().tail_size) return false;
    if (tail != 0) std::memcpy(image_.get() + position_, restore_->tails.data() + place_.tail_at, tail);
  }
  finished_ = true;
  return true;
}

BufferAssembler::Place NextPlace(const RestoreBuffers& restore, const BufferAssembler::Place& place) {
  const Buffer& buffer = restore.buffers[place.index];
  auto next = place;
  ++next.index;
  next.offset_at += buffer.has(RestoreBuffers::kOffsets) ? buffer.records : 0;
  next.header_at += HeaderBytes(buffer);
  next.gap_at += buffer.gap_size;
  next.tail_at += buffer.tail_size;
  return next;
}

}  // namespace etwpipe::etwp

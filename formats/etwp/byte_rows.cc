#include "formats/etwp/byte_rows.h"

#include <algorithm>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

constexpr size_t kMostRows = size_t{1} << 22;

struct Row {
  uint32_t begin = 0;
  uint32_t size = 0;
};

// Calls copy(place) for each byte in the order in which groups stand: by ascending size, in a group by place.
template <typename Copy>
void ForEachPlace(std::vector<Row>& rows, Copy copy) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.size < b.size; });
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if(begin, rows.end(), [&](const Row& row) { return row.size != begin->size; });
    for (uint32_t place = 0; place < begin->size; ++place) {
      for (auto row = begin; row != end; ++row) copy(row->begin + place);
    }
    begin = end;
  }
}

}  // namespace

void WriteTransposed(std::span<const std::byte> bytes, size_t row, std::vector<std::byte>& to) {
  uint64_t rest = row;
  for (; rest >= 0x80; rest >>= 7) to.push_back(static_cast<std::byte>(rest | 0x80));
  to.push_back(static_cast<std::byte>(rest));
  for (size_t place = 0; place < row; ++place) {
    for (size_t at = place; at < bytes.size(); at += row) to.push_back(bytes[at]);
  }
}

bool ReadTransposed(std::span<const std::byte> bytes, std::vector<std::byte>& to) {
  ByteReader reader(bytes);
  const uint64_t row = reader.ReadVarint();
  if (reader.failed() || row == 0 || reader.remaining() % row != 0) return false;
  const auto places = bytes.subspan(reader.position());
  const size_t rows = places.size() / row;
  const size_t begin = to.size();
  to.resize(begin + places.size());
  const std::byte* from = places.data();
  for (size_t place = 0; place < row && rows > 0; ++place) {
    std::byte* at = to.data() + begin + place;
    for (size_t i = 0; i < rows; ++i, at += row) *at = *from++;
  }
  return true;
}

void WriteGrouped(std::span<const std::byte> bytes, std::span<const uint64_t> sizes, std::vector<std::byte>& to) {
  std::vector<Row> rows;
  rows.reserve(sizes.size());
  uint32_t begin = 0;
  for (const uint64_t size : sizes) {
    rows.push_back({begin, static_cast<uint32_t>(size)});
    begin += static_cast<uint32_t>(size);
  }
  to.reserve(to.size() + bytes.size());
  ForEachPlace(rows, [&](size_t place) { to.push_back(bytes[place]); });
}

bool ReadGrouped(std::span<const std::byte> bytes, NumberCursor sizes, std::vector<std::byte>& to) {
  std::vector<Row> rows;
  for (size_t total = 0; total < bytes.size();) {
    uint64_t size = 0;
    if (rows.size() == kMostRows || !sizes.Next(size) || size > bytes.size() - total) return false;
    rows.push_back({static_cast<uint32_t>(total), static_cast<uint32_t>(size)});
    total += size;
  }
  const size_t begin = to.size();
  to.resize(begin + bytes.size());
  const std::byte* from = bytes.data();
  ForEachPlace(rows, [&](size_t place) { to[begin + place] = *from++; });
  return true;
}

}  // namespace etwpipe::etwp

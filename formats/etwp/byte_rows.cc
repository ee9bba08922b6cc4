#include "formats/etwp/byte_rows.h"

#include <cstdint>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {

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

}  // namespace etwpipe::etwp

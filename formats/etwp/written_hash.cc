#include "formats/etwp/written_hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace etwpipe::etwp {

Status WrittenHash::Add(uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (offset < position_) return Status::Input(fmt::format("byte {} is written twice", offset));
  if (offset > position_) {
    ahead_.emplace(offset, offset + bytes.size());
    return {};
  }
  hash_.Update(bytes);
  position_ += bytes.size();
  while (!ahead_.empty() && ahead_.begin()->first <= position_) {
    ETWPIPE_RETURN_IF_ERROR(ReadBack(ahead_.begin()->second));
    ahead_.erase(ahead_.begin());
  }
  return {};
}

Status WrittenHash::ReadBack(uint64_t end) {
  while (position_ < end) {
    const auto part = std::span(bytes_).first(std::min<uint64_t>(bytes_.size(), end - position_));
    ETWPIPE_RETURN_IF_ERROR(out_.ReadAt(position_, part));
    hash_.Update(part);
    position_ += part.size();
  }
  return {};
}

Result<std::string> WrittenHash::Finish() {
  ETWPIPE_RETURN_IF_ERROR(ReadBack(out_.size()));
  return hash_.Finish();
}

}  // namespace etwpipe::etwp

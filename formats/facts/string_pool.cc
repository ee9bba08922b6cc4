#include "formats/facts/string_pool.h"

#include <cstring>
#include <functional>

namespace etwpipe::facts {

StringId StringPool::Intern(std::string_view text) {
  if (text.empty()) return 0;
  if (views_.size() * 2 > slots_.size()) Grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>()(text) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (views_[slots_[slot]] == text) return slots_[slot];
  }
  if (bytes_ + text.size() > max_bytes_) {
    ++refused_;
    return 0;
  }
  const auto id = static_cast<StringId>(views_.size());
  views_.push_back(Copy(text));
  return slots_[slot] = id;
}

std::string_view StringPool::Copy(std::string_view text) {
  if (text.size() > free_bytes_) {
    const size_t size = text.size() > kChunkBytes / 4 ? text.size() : kChunkBytes;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    bytes_ += size;
    char* chunk = chunks_.back().get();
    if (size != kChunkBytes) {
      std::memcpy(chunk, text.data(), text.size());
      return {chunk, text.size()};
    }
    free_ = chunk;
    free_bytes_ = size;
  }
  char* place = free_;
  std::memcpy(place, text.data(), text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return {place, text.size()};
}

void StringPool::Grow() {
  slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
  const size_t mask = slots_.size() - 1;
  for (size_t id = 1; id < views_.size(); ++id) {
    size_t slot = std::hash<std::string_view>()(views_[id]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<StringId>(id);
  }
}

void StringPool::Freeze() {
  slots_ = {};
  views_.shrink_to_fit();
}

uint64_t StringPool::memory() const {
  return bytes_ + views_.capacity() * sizeof(views_[0]) + slots_.capacity() * sizeof(slots_[0]);
}

}  // namespace etwpipe::facts

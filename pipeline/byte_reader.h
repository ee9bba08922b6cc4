// The one way to read file bytes: a bounds-checked little-endian cursor.
//
// A read past the end yields zeros and sets a sticky failure, so a decoder reads a whole structure and asks once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace etwpipe {

static_assert(std::endian::native == std::endian::little, "little-endian hosts only");

/// Reads one integer at `offset`; the caller has checked that it lies inside. Unaligned places are fine.
template <typename T>
requires std::is_trivially_copyable_v<T>
inline T LoadAt(const std::byte* bytes, size_t offset = 0) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

/// Writes one integer at `offset`; the caller has checked that it lies inside.
template <typename T>
requires std::is_trivially_copyable_v<T>
inline void StoreAt(std::byte* bytes, size_t offset, T value) { std::memcpy(bytes + offset, &value, sizeof value); }

/// Cursor over bytes it does not own; views it hands out live as long as those bytes.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Next little-endian value, or zero (and failed()) when fewer bytes are left.
  template <typename T>
  requires std::is_trivially_copyable_v<T> T Read() {
    T value{};
    if (remaining() < sizeof value) {
      Fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }

  /// Next `count` bytes, or an empty view (and failed()).
  std::span<const std::byte> ReadBytes(size_t count) {
    if (remaining() < count) {
      Fail();
      return {};
    }
    auto view = bytes_.subspan(position_, count);
    position_ += count;
    return view;
  }

  /// Unsigned LEB128, at most 64 bits; zero (and failed()) when cut off or too long.
  uint64_t ReadVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (remaining() == 0) break;
      const auto byte = std::to_integer<uint64_t>(bytes_[position_++]);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    Fail();
    return 0;
  }

  void Skip(size_t count) { (void)ReadBytes(count); }
  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  /// True once any read went past the end; it stays so.
  bool failed() const { return failed_; }

 private:
  void Fail() {
    failed_ = true;
    position_ = bytes_.size();
  }

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace etwpipe

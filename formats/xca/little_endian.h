#ifndef ETWPIPE_FORMATS_XCA_LITTLE_ENDIAN_H_
#define ETWPIPE_FORMATS_XCA_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Unaligned little-endian access for the inner loops of this folder, which check bounds themselves, once per loop turn
// instead of once per read. Not for use outside formats/xca.
namespace etwpipe::xca::internal {

[[nodiscard]] inline unsigned Load8(const std::byte* p) { return std::to_integer<unsigned>(*p); }

[[nodiscard]] inline std::uint32_t Load16(const std::byte* p) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint16_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  } else {
    return Load8(p) | Load8(p + 1) << 8;
  }
}

[[nodiscard]] inline std::uint32_t Load32(const std::byte* p) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  } else {
    return Load16(p) | Load16(p + 2) << 16;
  }
}

[[nodiscard]] inline std::uint64_t Load64(const std::byte* p) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  } else {
    return Load32(p) | std::uint64_t{Load32(p + 4)} << 32;
  }
}

inline void Store16(std::byte* p, std::uint32_t value) {
  p[0] = static_cast<std::byte>(value & 0xFF);
  p[1] = static_cast<std::byte>(value >> 8 & 0xFF);
}

inline void Store32(std::byte* p, std::uint32_t value) {
  Store16(p, value & 0xFFFF);
  Store16(p + 2, value >> 16);
}

inline void Store64(std::byte* p, std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(p, &value, sizeof value);
  } else {
    Store32(p, static_cast<std::uint32_t>(value));
    Store32(p + 4, static_cast<std::uint32_t>(value >> 32));
  }
}

}  // namespace etwpipe::xca::internal

#endif  // ETWPIPE_FORMATS_XCA_LITTLE_ENDIAN_H_

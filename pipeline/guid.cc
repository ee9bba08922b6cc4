#include "pipeline/guid.h"

#include <openssl/evp.h>

#include <cassert>
#include <cstring>

namespace etwpipe {
namespace {

// Where text position i of the 32 hex digits lands: the first three fields are stored little-endian.
constexpr std::array<uint8_t, 16> kByteOfDigitPair = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string ToString(const Guid& guid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (size_t pair = 0; pair < 16; ++pair) {
    if (pair == 4 || pair == 6 || pair == 8 || pair == 10) text += '-';
    const auto byte = std::to_integer<unsigned>(guid.bytes[kByteOfDigitPair[pair]]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Guid> ParseGuid(std::string_view text) {
  if (text.size() == 38 && text.front() == '{' && text.back() == '}') text = text.substr(1, 36);
  if (text.size() != 36) return std::nullopt;
  Guid guid;
  size_t at = 0;
  for (size_t pair = 0; pair < 16; ++pair) {
    if ((pair == 4 || pair == 6 || pair == 8 || pair == 10) && text[at++] != '-') return std::nullopt;
    const int high = HexValue(text[at++]);
    const int low = HexValue(text[at++]);
    if (high < 0 || low < 0) return std::nullopt;
    guid.bytes[kByteOfDigitPair[pair]] = static_cast<std::byte>(high << 4 | low);
  }
  return guid;
}

Guid GuidOf(std::string_view text) {
  const auto guid = ParseGuid(text);
  assert(guid.has_value());
  return guid.value_or(Guid{});
}

Guid ProviderGuidFromName(std::string_view name) {
  // Namespace 482c2db2-c390-47c8-87f8-1a15bfc130fb, in the byte order it is hashed in.
  std::string message = "\x48\x2C\x2D\xB2\xC3\x90\x47\xC8\x87\xF8\x1A\x15\xBF\xC1\x30\xFB";
  for (char c : name) {
    message += '\0';
    message += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_Digest(message.data(), message.size(), digest.data(), &length, EVP_sha1(), nullptr);
  Guid guid;
  std::memcpy(guid.bytes.data(), digest.data(), 16);
  // The hash bytes are taken as the stored form; byte 7 holds the version nibble.
  guid.bytes[7] = (guid.bytes[7] & std::byte{0x0F}) | std::byte{0x50};
  return guid;
}

}  // namespace etwpipe

size_t std::hash<etwpipe::Guid>::operator()(const etwpipe::Guid& guid) const noexcept {
  uint64_t low;
  uint64_t high;
  std::memcpy(&low, guid.bytes.data(), 8);
  std::memcpy(&high, guid.bytes.data() + 8, 8);
  uint64_t mixed = (low ^ (high * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
  mixed ^= mixed >> 32;
  return static_cast<size_t>(mixed * 0xD6E8FEB86659FD93ull);
}

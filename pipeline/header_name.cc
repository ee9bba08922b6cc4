#include "pipeline/header_name.h"

#include <array>
#include <cstddef>

namespace etwpipe {
namespace {

// In the order of HeaderKind.
constexpr std::array<std::string_view, kHeaderKinds> kNames = {
    "UNKNOWN",        "SYSTEM32",   "SYSTEM64",   "COMPACT32",  "COMPACT64",  "FULL_HEADER32",
    "FULL_HEADER64",  "INSTANCE32", "INSTANCE64", "PERFINFO32", "PERFINFO64", "EVENT_HEADER32",
    "EVENT_HEADER64", "MESSAGE",    "TIMED",      "ERROR"};

struct UnknownName {
  std::array<char, 10> text{'U', 'N', 'K', 'N', 'O', 'W', 'N'};
  uint8_t size = 7;
};

constexpr std::array<UnknownName, 256> MakeUnknownNames() {
  std::array<UnknownName, 256> names{};
  for (unsigned type = 0; type < 256; ++type) {
    UnknownName& name = names[type];
    if (type >= 100) name.text[name.size++] = static_cast<char>('0' + type / 100);
    if (type >= 10) name.text[name.size++] = static_cast<char>('0' + type / 10 % 10);
    name.text[name.size++] = static_cast<char>('0' + type % 10);
  }
  return names;
}

constexpr std::array<UnknownName, 256> kUnknownNames = MakeUnknownNames();

}  // namespace

std::string_view HeaderName(HeaderKind kind, uint8_t header_type) {
  if (kind != HeaderKind::kUnknown) return kNames[static_cast<size_t>(kind)];
  const UnknownName& name = kUnknownNames[header_type];
  return {name.text.data(), name.size};
}

std::optional<HeaderIdentity> HeaderFromName(std::string_view name) {
  for (size_t kind = 1; kind < kHeaderKinds; ++kind) {
    if (kNames[kind] == name) return HeaderIdentity{static_cast<HeaderKind>(kind), 0};
  }
  for (size_t type = 0; type < kUnknownNames.size(); ++type) {
    const auto header_type = static_cast<uint8_t>(type);
    if (HeaderName(HeaderKind::kUnknown, header_type) == name) return HeaderIdentity{HeaderKind::kUnknown, header_type};
  }
  return std::nullopt;
}

}  // namespace etwpipe

// A GUID as it stands in files: 16 bytes, the first three fields little-endian.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace etwpipe {

struct Guid {
  std::array<std::byte, 16> bytes{};

  friend bool operator==(const Guid&, const Guid&) = default;
  friend auto operator<=>(const Guid&, const Guid&) = default;
};
static_assert(sizeof(Guid) == 16 && alignof(Guid) == 1);

/// Lower-case text without braces: 68fdd900-4a3e-11d1-84f4-0000f80464e3.
std::string ToString(const Guid& guid);

/// Reads the text form in any case, with or without braces; nullopt when it is not one.
std::optional<Guid> ParseGuid(std::string_view text);

/// The GUID an EventSource or TraceLogging provider of this name gets: SHA-1 over a fixed namespace and the
/// upper-case name in UTF-16BE, marked as version 5 (public in the .NET EventSource documentation). ASCII names only.
Guid ProviderGuidFromName(std::string_view name);

/// A GUID from text known to be well formed, for constants.
Guid GuidOf(std::string_view text);

}  // namespace etwpipe

template <>
struct std::hash<etwpipe::Guid> {
  size_t operator()(const etwpipe::Guid& guid) const noexcept;
};

// Names of record headers, as outputs show them and expressions compare them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/event.h"

namespace etwpipe {

/// SYSTEM64, PERFINFO32, EVENT_HEADER64, MESSAGE ... (etl-format.md section 2.1); UNKNOWN<n> for HeaderKind::kUnknown,
/// n being the type byte of the marker. The view lives for ever.
std::string_view HeaderName(HeaderKind kind, uint8_t header_type);

/// A header as HeaderName() tells them apart.
struct HeaderIdentity {
  HeaderKind kind = HeaderKind::kUnknown;
  uint8_t header_type = 0;  ///< only for kUnknown
};

/// The header of that exact name; nullopt if there is none.
std::optional<HeaderIdentity> HeaderFromName(std::string_view name);

constexpr size_t kHeaderKinds = static_cast<size_t>(HeaderKind::kError) + 1;

}  // namespace etwpipe

// Lengths of time as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etwpipe {

/// Nanoseconds of `10s`, `1.5s`, `5ms`, `3us`, `10ns`: a decimal number, at once followed by its unit. Exact: a
/// fraction finer than a nanosecond, and what exceeds 64 bits, is an error. nullopt on an error, with the reason for a
/// person.
std::optional<int64_t> ParseDuration(std::string_view text, std::string* reason);

/// The same without a unit: `10` or `1.5`, in seconds.
std::optional<int64_t> ParseSeconds(std::string_view text, std::string* reason);

}  // namespace etwpipe

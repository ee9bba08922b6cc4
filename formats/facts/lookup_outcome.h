// How sure an answer of a fact table is.
#pragma once

#include <cstdint>
#include <string_view>

namespace etwpipe::facts {

/// Of a lookup by id or address and time (semantics.md 7.1, 7.2).
enum class LookupOutcome : uint8_t {
  kExact,       ///< one record is alive at that time
  kBackfilled,  ///< none is; the nearest later one is taken (it was loaded before it was told of)
  kStale,       ///< none is, and none comes later; the nearest earlier one is taken
  kAmbiguous,   ///< several are alive and nothing tells them apart; the one that began last is taken
  kUnknown,     ///< nothing is known
};

constexpr std::string_view ToString(LookupOutcome outcome) {
  switch (outcome) {
    case LookupOutcome::kExact: return "exact";
    case LookupOutcome::kBackfilled: return "backfilled";
    case LookupOutcome::kStale: return "stale";
    case LookupOutcome::kAmbiguous: return "ambiguous";
    case LookupOutcome::kUnknown: return "unknown";
  }
  return "";
}

}  // namespace etwpipe::facts

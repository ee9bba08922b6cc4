// Keyword names in masks: keyword & JitKeyword.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/guid.h"

namespace etwpipe::where {

/// The mask of a keyword of a built-in provider; `name` with or without "Keyword" at its end. nullopt if the provider
/// has none of that name.
std::optional<uint64_t> KeywordMask(const Guid& provider, std::string_view name);

}  // namespace etwpipe::where

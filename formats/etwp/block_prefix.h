// What the blocks of a long archive are compressed with: the columns of its first one (FORMAT.md, "Prefix").
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "formats/etwp/column_set.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// The inflated columns of the first block, shared by everything that is compressed with them. Null: there is none.
using BlockPrefix = std::shared_ptr<const std::vector<std::byte>>;

/// Its bytes, none without one. Valid as long as the prefix.
inline std::span<const std::byte> BytesOf(const BlockPrefix& prefix) {
  return prefix == nullptr ? std::span<const std::byte>() : std::span<const std::byte>(*prefix);
}

/// Inflates the columns of the first block, or of its copy. An error if they need a prefix themselves.
std::optional<DecodeError> MakePrefix(const v1::Columns& columns, BlockPrefix& prefix);

}  // namespace etwpipe::etwp

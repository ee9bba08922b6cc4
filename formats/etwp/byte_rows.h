// Rows of bytes stored by their places: the first byte of each row, the second of each, and so on (FORMAT.md,
// "Columns"). What stands at one place of payloads that nobody has a schema for is mostly alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/etwp/number_codec.h"

namespace etwpipe::etwp {

/// Appends a varint with `row`, then `bytes`, which are whole rows of so many bytes, by place. `row` is at least 1.
void WriteTransposed(std::span<const std::byte> bytes, size_t row, std::vector<std::byte>& to);

/// Appends the rows again; false, and nothing appended, if `bytes` cannot be such.
bool ReadTransposed(std::span<const std::byte> bytes, std::vector<std::byte>& to);

/// Appends `bytes`, rows that have those sizes one after another, as one group per size, each by place. The sizes are
/// not in the result.
void WriteGrouped(std::span<const std::byte> bytes, std::span<const uint64_t> sizes, std::vector<std::byte>& to);

/// Appends the rows again; false, and nothing appended, if they have not as many bytes as the sizes say. Sizes are
/// taken up to the last byte, at most 2^22.
bool ReadGrouped(std::span<const std::byte> bytes, NumberCursor sizes, std::vector<std::byte>& to);

}  // namespace etwpipe::etwp

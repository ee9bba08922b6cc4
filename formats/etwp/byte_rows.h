// Rows of bytes stored by their places: the first byte of each row, the second of each, and so on (FORMAT.md,
// "Columns"). What stands at one place of payloads that nobody has a schema for is mostly alike.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace etwpipe::etwp {

/// Appends a varint with `row`, then `bytes`, which are whole rows of so many bytes, by place. `row` is at least 1.
void WriteTransposed(std::span<const std::byte> bytes, size_t row, std::vector<std::byte>& to);

/// Appends the rows again; false, and nothing appended, if `bytes` cannot be such.
bool ReadTransposed(std::span<const std::byte> bytes, std::vector<std::byte>& to);

}  // namespace etwpipe::etwp

// Arrays of characters, which people read as one text.
#pragma once

#include <cstddef>
#include <span>

#include "formats/schema/decoder.h"
#include "formats/schema/value_text.h"

namespace etwpipe::schema {

/// Reads the array that begins at token `at` as one text if it is an array of characters: of the character types, or of
/// 8- and 16-bit integers shown as strings. Returns the token behind the array, 0 if it is another one or no array.
size_t ReadCharacters(const EventSchema& schema, std::span<const Token> tokens, size_t at,
                      std::span<const std::byte> payload, Value& value);

}  // namespace etwpipe::schema

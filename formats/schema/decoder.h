// Finds the values of an event in its payload. Knows bytes and lengths only; value_text.h says what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/schema/event_schema.h"

namespace etwpipe::schema {

enum class TokenKind : uint8_t { kValue, kArrayBegin, kArrayEnd, kStructBegin, kStructEnd };

/// One step through the fields of an event in their order. An array is kArrayBegin, its elements, kArrayEnd; a struct
/// likewise, also as an element.
struct Token {
  TokenKind kind;
  uint16_t property;  ///< index into EventSchema::properties
  uint16_t offset;    ///< of the value's own bytes in the payload, without counts before it
  uint16_t size;      ///< in bytes, without a terminator; kArrayBegin: elements
};

enum class DecodeOutcome : uint8_t {
  kComplete,  ///< every property, every byte
  kExtra,     ///< every property; bytes are left over
  kShort,     ///< the payload ends early: the tokens are those properties that are whole, and a last string that lacks
              ///< its terminator
  kBad,       ///< a length or count makes no sense: the tokens are what stands before it
};

/// Room for the fields of one event, for use again and again.
struct DecodedFields {
  std::vector<Token> tokens;
  uint16_t consumed = 0;  ///< payload bytes that the tokens cover
  DecodeOutcome outcome = DecodeOutcome::kComplete;

 private:
  friend DecodeOutcome Decode(const EventSchema&, std::span<const std::byte>, uint32_t, DecodedFields&);
  friend std::optional<std::span<const std::byte>> FindValue(const EventSchema&, size_t, std::span<const std::byte>,
                                                             uint32_t, DecodedFields&);
  std::vector<uint64_t> numbers_;  // last value of each property, for counts and lengths
};

/// Splits `payload` by `schema`. Never reads outside it, never fails as a whole, gives at most 4 tokens a byte and
/// a property plus 64; no allocation once `fields` is warm. `pointer_size` is that of the event.
DecodeOutcome Decode(const EventSchema& schema, std::span<const std::byte> payload, uint32_t pointer_size,
                     DecodedFields& fields);

/// The value bytes of one top-level property that is no array and no struct, without decoding what it need not;
/// nullopt where the payload ends before it. Fast where EventSchema::FixedOffset() knows the place.
std::optional<std::span<const std::byte>> FindValue(const EventSchema& schema, size_t property,
                                                    std::span<const std::byte> payload, uint32_t pointer_size,
                                                    DecodedFields& scratch);

}  // namespace etwpipe::schema

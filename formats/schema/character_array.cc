#include "formats/schema/character_array.h"

namespace etwpipe::schema {
namespace {

bool IsCharacter(const Property& property) {
  switch (property.in) {
    case InType::kAnsiChar:
    case InType::kUnicodeChar: return true;
    case InType::kInt8:
    case InType::kUInt8:
    case InType::kUInt16: return property.out == OutType::kString;
    default: return false;
  }
}

}  // namespace

size_t ReadCharacters(const EventSchema& schema, std::span<const Token> tokens, size_t at,
                      std::span<const std::byte> payload, Value& value) {
  const Property& property = schema.properties[tokens[at].property];
  if (tokens[at].kind != TokenKind::kArrayBegin || !IsCharacter(property)) return 0;
  const size_t first = at + 1;
  size_t end = first;
  while (tokens[end].kind != TokenKind::kArrayEnd) ++end;
  // The elements stand side by side in the payload.
  const size_t begin = tokens[first].offset;
  const size_t size = end == first ? 0 : size_t{tokens[end - 1].offset} + tokens[end - 1].size - begin;
  Property text;
  text.in = FixedSize(property.in, 8) == 2 ? InType::kCountedUtf16 : InType::kCountedAnsi;
  ReadValue(text, payload.subspan(begin, size), value);
  return end + 1;
}

}  // namespace etwpipe::schema

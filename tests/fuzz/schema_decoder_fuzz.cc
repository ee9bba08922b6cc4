// The input is a schema text, a NUL, and a payload for its events.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/schema/schema_text.h"
#include "tests/fuzz/decode_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etwpipe::schema;
  constexpr size_t kMaxInput = 1 << 14;
  constexpr size_t kMaxSchemas = 16;
  if (size > kMaxInput) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(all.find('\0'), size);
  const auto schemas = ParseSchemaText(all.substr(0, end), "fuzz", SchemaOrigin::kEmbedded);
  if (!schemas.ok()) return 0;
  const auto payload = std::as_bytes(std::span(data, size)).subspan(std::min(end + 1, size));
  for (size_t i = 0; i < std::min(schemas->size(), kMaxSchemas); ++i) CheckDecode(*schemas->at(i), payload);
  return 0;
}

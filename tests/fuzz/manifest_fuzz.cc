// The input is a manifest, behind one byte that seeds the payload its events are then decoded from. Every schema must
// be finished, have valid text and decode any payload within its bounds.
#include <utf8.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "formats/schema/decoder.h"
#include "formats/schema/manifest.h"

namespace etwpipe::schema {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool IsText(std::string_view text) { return utf8::is_valid(text.begin(), text.end()); }

void CheckSchema(const EventSchema& schema, std::span<const std::byte> payload) {
  Require(schema.provider != nullptr);
  Require(!schema.name.empty() && IsText(schema.name) && IsText(schema.symbol) && IsText(schema.message));
  Require(schema.properties.size() <= kMaxProperties && schema.top_level <= schema.properties.size());
  for (const Property& property : schema.properties) Require(IsText(property.name));
  EventSchema copy = schema;
  Require(copy.Finish().ok());
  DecodedFields fields;
  for (const uint32_t pointer_size : {4u, 8u}) {
    (void)Decode(schema, payload, pointer_size, fields);
    Require(fields.consumed <= payload.size());
  }
}

void Run(uint8_t seed, std::string_view text) {
  std::vector<std::byte> payload(256);
  uint32_t state = seed;
  for (std::byte& byte : payload) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>((state >> 24) % 9);
  }
  const auto parsed = ParseManifest(text, "fuzz", SchemaOrigin::kManifestFile);
  if (!parsed.ok()) {
    Require(parsed.status().message().starts_with("fuzz: "));
    return;
  }
  Require(parsed->problems.size() <= 1001);
  for (const std::string& problem : parsed->problems) Require(IsText(problem));
  for (const auto& schema : parsed->schemas) CheckSchema(*schema, payload);
}

}  // namespace
}  // namespace etwpipe::schema

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  etwpipe::schema::Run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

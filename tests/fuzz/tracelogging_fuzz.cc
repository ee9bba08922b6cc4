// The input is an opcode, the u16 size of a metadata blob, the blob, the u8 size of provider traits, the traits, and a
// payload.
#include <cstddef>
#include <cstdint>

#include "formats/schema/tracelogging.h"
#include "pipeline/byte_reader.h"
#include "tests/fuzz/decode_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etwpipe;
  using namespace etwpipe::schema;
  ByteReader reader(std::as_bytes(std::span(data, size)));
  EventHeader row;
  row.opcode = reader.Read<uint8_t>();
  const auto metadata = reader.ReadBytes(reader.Read<uint16_t>());
  const auto traits = reader.ReadBytes(reader.Read<uint8_t>());
  const Guid provider;
  const auto schema = SchemaFromTraceLogging({row, provider, metadata, traits});
  if (!schema.ok()) {
    // Only a name that is cut makes an error: what follows it never does.
    Require(schema.status().message().find("name is cut") != std::string_view::npos);
    return 0;
  }
  const std::string& name = (*schema)->name;
  Require(utf8::is_valid(name.begin(), name.end()) && !(*schema)->provider->name.empty());
  CheckDecode(**schema, reader.ReadBytes(reader.remaining()));
  return 0;
}

// The input is a list of blocks: a byte that tells events (even) from maps (odd), a u16 size, the bytes. What is left
// when a size does not fit is a payload for the events.
#include <cstddef>
#include <cstdint>

#include "formats/schema/event_info.h"
#include "formats/schema/schema_text.h"
#include "pipeline/byte_reader.h"
#include "tests/fuzz/decode_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etwpipe;
  using namespace etwpipe::schema;
  const auto input = std::as_bytes(std::span(data, size));
  EventInfoCollector collector;
  ByteReader reader(input);
  size_t payload_begin = 0;
  while (true) {
    payload_begin = reader.position();
    const auto kind = reader.Read<uint8_t>();
    const auto block = reader.ReadBytes(reader.Read<uint16_t>());
    if (reader.failed()) break;
    if (kind % 2 == 0) {
      collector.AddEvent(block);
    } else {
      collector.AddMap(block);
    }
  }
  std::vector<std::string> problems;
  const auto schemas = collector.Finish(problems);
  Require(problems.size() <= EventInfoCollector::kMaxProblems + 1);
  for (const auto& schema : schemas) {
    Require(!schema->name.empty() && !schema->provider->name.empty());
    CheckDecode(*schema, input.subspan(payload_begin));
  }
  return 0;
}

// The input is a series of chunk records: u8 provider and emitter (4 bits each), u8 timestamp, u16 payload size,
// payload. Whatever comes, the schemas are sorted, one for each event, and those of a provider that wrote a chunk.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "formats/schema/event_source_manifests.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::schema {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Run(std::span<const std::byte> input) {
  EventSourceManifests manifests;
  std::set<Guid> providers;
  ByteReader reader(input);
  for (EventInstanceId instance = 1; reader.remaining() >= 4; ++instance) {
    const auto who = reader.Read<uint8_t>();
    EventHeader row;
    row.kind = HeaderKind::kEvent64;
    row.id = 0xFFFE;
    row.instance_id = instance;
    row.tid = who & 0xFu;
    row.timestamp = reader.Read<uint8_t>();
    const size_t size = std::min<size_t>(reader.Read<uint16_t>(), reader.remaining());
    const auto payload = reader.ReadBytes(size);
    row.record = payload.data();
    row.record_size = static_cast<uint16_t>(size);
    Guid provider;
    provider.bytes.fill(static_cast<std::byte>(who >> 4));
    providers.insert(provider);
    manifests.Add(row, provider);
  }
  std::vector<std::string> problems;
  const auto schemas = manifests.Finish(problems);
  using Key = std::tuple<Guid, uint16_t, uint16_t>;
  Key last;
  for (size_t i = 0; i < schemas.size(); ++i) {
    const Key key(schemas[i]->provider->guid, schemas[i]->key.number, schemas[i]->key.first_version);
    Require(providers.contains(std::get<0>(key)));
    Require(i == 0 || last < key);
    last = key;
  }
  Require(manifests.Finish(problems).empty());
}

}  // namespace
}  // namespace etwpipe::schema

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etwpipe::schema::Run(std::as_bytes(std::span(data, size)));
  return 0;
}

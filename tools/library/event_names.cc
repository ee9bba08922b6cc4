#include "tools/library/event_names.h"

#include <fmt/format.h>

#include "formats/schema/provider_names.h"
#include "formats/schema/utf16.h"

namespace etwpipe::session {

const std::shared_ptr<const EventNames>& EventNameTable::Find(const EventHeader& row, const schema::EventSchema* schema,
                                                              uint64_t generation) {
  if (generation_ != generation || known_.size() >= kMaxKinds) {
    generation_ = generation;
    known_.clear();
  }
  const bool classic = schema::SchemaRegistry::IsClassic(row.kind);
  Kind kind;
  kind.schema = schema;
  if (schema == nullptr) {
    const uint64_t number = classic ? row.opcode : row.id;
    kind.provider_and_number = uint64_t{row.provider} << 32 | uint64_t{classic} << 16 | number;
  }
  auto& names = known_[kind];
  if (names != nullptr) return names;
  auto made = std::make_shared<EventNames>();
  if (schema != nullptr) {
    made->provider = schema->provider->name;
    made->name = schema->name;
  } else {
    made->provider = schema::NameOrGuid(trace_.provider_guid(row));
    made->name = classic ? fmt::format("Opcode({})", row.opcode) : fmt::format("Event({})", row.id);
  }
  made->name = made->provider + "/" + made->name;
  made->wide_name = schema::Utf8ToUtf16(made->name);
  names = std::move(made);
  return names;
}

}  // namespace etwpipe::session

// Names of events that are none of a build: provider/task/opcode.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "formats/schema/schema_registry.h"
#include "pipeline/trace_context.h"

namespace etwpipe::session {

struct EventNames {
  std::string name;          ///< provider/task/opcode; provider/Event(id) where nobody knows the event
  std::u16string wide_name;  ///< the same
  std::string provider;      ///< its GUID where nobody knows a name
};

/// Names by kind of event. One thread at a time.
class EventNameTable {
 public:
  explicit EventNameTable(const TraceContext& trace) : trace_(trace) {}

  /// The names of an event whose schema is `schema`, null where nobody knows it. `generation`: SchemaLookup's.
  const std::shared_ptr<const EventNames>& Find(const EventHeader& row, const schema::EventSchema* schema,
                                                uint64_t generation);

 private:
  // More kinds than this are forgotten: a hostile file cannot fill the memory.
  static constexpr size_t kMaxKinds = 1 << 16;
  struct Kind {
    const schema::EventSchema* schema = nullptr;
    uint64_t provider_and_number = 0;  // of events without a schema
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  struct KindHash {
    size_t operator()(const Kind& kind) const {
      return std::hash<const void*>()(kind.schema) ^ kind.provider_and_number * 0x9E3779B97F4A7C15u;
    }
  };

  const TraceContext& trace_;
  uint64_t generation_ = 0;
  std::unordered_map<Kind, std::shared_ptr<const EventNames>, KindHash> known_;
};

}  // namespace etwpipe::session

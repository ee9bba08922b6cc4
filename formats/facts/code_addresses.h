// Code addresses that events carry in their payload.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "formats/schema/decoder.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/trace_context.h"

namespace etwpipe::facts {

/// Finds the instruction pointer of an event: SampledProfile, exceptions, page faults (semantics.md 7.5). One hash per
/// event; one thread at a time.
class CodeAddresses {
 public:
  CodeAddresses(const schema::SchemaRegistry& registry, const TraceContext& trace) : lookup_(registry, trace) {}
  /// nullopt for events that carry none, and for the address 0.
  std::optional<uint64_t> Of(const EventHeader& row);

 private:
  schema::SchemaLookup lookup_;
  uint64_t generation_ = 0;
  std::unordered_map<const schema::EventSchema*, int> places_;  // property; -1: none
  schema::DecodedFields scratch_;
};

}  // namespace etwpipe::facts

// The layout and the names of one kind of event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/schema/property.h"
#include "pipeline/guid.h"
#include "pipeline/status.h"

namespace etwpipe::schema {

/// Who described an event; in the order in which they are asked (the first four).
enum class SchemaOrigin : uint8_t {
  kTraceLogging,  ///< metadata in the event
  kEventSource,   ///< a manifest that an EventSource wrote into the trace
  kEventInfo,     ///< TRACE_EVENT_INFO that a merge wrote into the trace
  kEmbedded,      ///< schemas that etwpipe wrote into the trace
  kManifestFile,  ///< a file the user gave
  kBuiltIn,
};
std::string_view ToString(
    SchemaOrigin origin);  ///< tracelogging, eventsource, event-info, embedded, manifest, built-in

/// What all events of a provider share.
struct ProviderSchema {
  Guid guid;
  std::string name;
  struct Keyword {
    std::string name;  ///< without a common suffix "Keyword"
    uint64_t mask = 0;
    friend bool operator==(const Keyword&, const Keyword&) = default;
  };
  std::vector<Keyword> keywords;

  friend bool operator==(const ProviderSchema&, const ProviderSchema&) = default;
};

/// Which events a schema describes. Classic (MOF) events are told apart by their opcode, the others by their id.
struct EventKey {
  bool classic = false;
  uint16_t number = 0;         ///< opcode or id
  uint16_t first_version = 0;  ///< versions first..last, both inclusive
  uint16_t last_version = 0;

  friend bool operator==(const EventKey&, const EventKey&) = default;
};

constexpr size_t kMaxProperties = 4096;

/// Immutable once Finish() succeeded; shared by all threads.
struct EventSchema {
  std::shared_ptr<const ProviderSchema> provider;
  EventKey key;
  SchemaOrigin origin = SchemaOrigin::kBuiltIn;
  std::string name;  ///< what stands behind `provider_name/`: Process/DCStart, GC/Start
  std::string symbol;
  std::string task_name;
  std::string opcode_name;
  std::string channel_name;
  std::string message;  ///< template with %1 .. %n for the top-level properties; may be empty
  std::string note;     ///< for people: explain-event prints it
  uint64_t keyword = 0;
  uint16_t task = 0;
  uint8_t opcode = 0;
  uint8_t level = 0;
  std::vector<Property> properties;
  uint16_t top_level = 0;  ///< properties[0 .. top_level) are the event's own; the others are members of structs
  std::vector<std::shared_ptr<const ValueMap>> maps;

  /// Checks every index (members, counts, lengths, maps; no struct inside itself; nesting at most kMaxDepth) and
  /// computes what follows. Of two properties of one name side by side the second becomes `name#2`. An error names the
  /// property.
  Status Finish();
  static constexpr int kMaxDepth = 64;

  /// Index of the top-level property of that name, or nullopt-like -1. Case matters.
  int IndexOf(std::string_view property_name) const;
  /// Byte offset of top-level property `index` if it is the same in every event of that pointer size, else kMoves.
  uint32_t FixedOffset(size_t index, uint32_t pointer_size) const { return offsets_[pointer_size == 8 ? 1 : 0][index]; }
  static constexpr uint32_t kMoves = 0xFFFFFFFF;

 private:
  void TellNamesApart(size_t begin, size_t end);

  std::array<std::vector<uint32_t>, 2> offsets_;
};

}  // namespace etwpipe::schema

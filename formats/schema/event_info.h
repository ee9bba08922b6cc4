// Schemas that a merge wrote into a trace: TRACE_EVENT_INFO and EVENT_MAP_INFO blocks (etl-format.md section 7.4).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "formats/schema/event_schema.h"
#include "pipeline/guid.h"
#include "pipeline/status.h"

namespace etwpipe::schema {

/// Provider of the records that hold the blocks, and their opcodes.
inline constexpr std::string_view kMetaDataGuid = "bbccf6c1-6cd1-48c4-80ff-839482e37671";
inline constexpr uint8_t kEventInfoOpcode = 32;
inline constexpr uint8_t kEventMapInfoOpcode = 33;

/// An event as its block describes it, without its maps.
struct EventInfo {
  std::shared_ptr<EventSchema> schema;  ///< not finished; its ProviderSchema is its own
  /// Property index and name of the map of each property that has one.
  std::vector<std::pair<uint16_t, std::string>> map_names;
};

/// Reads the payload of an EventInfo record. EventSchema::name follows PerfView: the task's name, then `/` and the
/// opcode's unless that is 0 or has no name; without a task the event's symbol, or EventID(n). Blanks around names are
/// cut off. An error where the block is cut, points outside itself, or describes no manifest event.
Result<EventInfo> ReadEventInfo(std::span<const std::byte> payload);

/// A map and the provider it belongs to.
struct EventMapInfo {
  Guid provider;
  std::shared_ptr<const ValueMap> map;
};
/// Reads the payload of an EventMapInfo record. An error where it is cut, points outside itself, or is no map of
/// numbers.
Result<EventMapInfo> ReadEventMapInfo(std::span<const std::byte> payload);

/// Collects the blocks of a trace, in any order. Of equal keys the first counts. Bounded: what comes after kMaxBytes of
/// blocks is left out.
class EventInfoCollector {
 public:
  static constexpr size_t kMaxBytes = size_t{32} << 20;
  static constexpr size_t kMaxProblems = 32;

  void AddEvent(std::span<const std::byte> payload);
  void AddMap(std::span<const std::byte> payload);

  /// The finished schemas by provider, id and version, maps resolved; those of one provider share its ProviderSchema.
  /// `problems` gets what was left out or is missing, in words, at most kMaxProblems and a count of the others.
  /// The collector is empty afterwards.
  std::vector<std::shared_ptr<const EventSchema>> Finish(std::vector<std::string>& problems);

 private:
  using EventId = std::tuple<Guid, uint16_t, uint16_t>;  // provider, id, version
  using MapId = std::pair<Guid, std::string>;

  bool HasRoom(size_t bytes);
  void Problem(std::string text);

  std::map<EventId, EventInfo> events_;
  std::map<MapId, std::shared_ptr<const ValueMap>> maps_;
  std::vector<std::string> problems_;
  size_t more_problems_ = 0;
  size_t bytes_ = 0;
};

}  // namespace etwpipe::schema

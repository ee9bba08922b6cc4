// Manifests that EventSources wrote into a trace, in chunks (etl-format.md 7.3).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/schema/event_schema.h"
#include "pipeline/event.h"

namespace etwpipe::schema {

/// Collects the chunks, in any order, and makes schemas of them at the end. One thread at a time.
class EventSourceManifests {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;  ///< of chunks, each distinct one counted once
  static constexpr size_t kMaxManifests = 4096;          ///< distinct ones

  /// Takes an event; anything but an EVENT_HEADER record of the id 0xFFFE is ignored. `provider` is the GUID of
  /// row.provider. Copies what it keeps.
  void Add(const EventHeader& row, const Guid& provider);

  /// Schemas of all complete manifests (origin kEventSource), by provider and id, one for each (provider, id, version),
  /// and one for the chunk records of each provider. Where manifests of a provider differ, what was written later
  /// counts. `problems` gets a sentence about each manifest that is incomplete, broken or superseded, and about what
  /// the limits cost. Forgets everything.
  std::vector<std::shared_ptr<const EventSchema>> Finish(std::vector<std::string>& problems);

 private:
  struct Chunk {
    Guid provider;
    uint32_t pid = 0;
    uint32_t tid = 0;
    int64_t timestamp = 0;
    EventInstanceId instance_id = 0;
    uint16_t version = 0;  // major, minor
    uint16_t total = 0;
    uint16_t number = 0;
    uint32_t text = 0;  // index into texts_
  };
  // A manifest as the texts of its chunks, and when it was last written.
  struct Manifest {
    Guid provider;
    std::vector<uint32_t> texts;
    int64_t timestamp = 0;
    EventInstanceId instance_id = 0;
  };

  std::vector<Manifest> Assemble(std::vector<std::string>& problems);
  uint32_t Intern(std::string_view text);

  std::vector<Chunk> chunks_;
  std::vector<std::unique_ptr<const std::string>> texts_;
  std::unordered_map<std::string_view, uint32_t> text_indices_;  // views of texts_
  size_t bytes_ = 0;
  uint64_t dropped_ = 0;
  uint64_t no_chunks_ = 0;
};

}  // namespace etwpipe::schema

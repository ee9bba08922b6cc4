// Carrier events: records of the `etwpipe` provider that keep instance ids, their sources and schemas in a relogged
// file.
//
// Layout of their fields: proto/PROVIDER.md. They stand in buffers of their own at the end of the file, on CPU 0, with
// pid = tid = 0xFFFFFFFF and the file's largest event timestamp (design.md section 5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/etl/id_map.h"
#include "pipeline/guid.h"
#include "pipeline/trace_context.h"

namespace etwpipe::etl {

/// 56e4a0cd-0f35-5584-7110-f7ea1385f7bd (design.md section 2).
const Guid& EtwpipeProvider();

enum CarrierId : uint16_t { kCarrierIdMap = 1, kCarrierSourceHeader = 2, kCarrierSchema = 3 };

/// Largest payload of binary data in one carrier record, whatever the buffer size.
constexpr size_t kMaxCarrierData = 60 * 1024;
/// Bytes a carrier record needs besides its binary data, at most.
constexpr size_t kCarrierOverhead = 512;

/// True for a record that is one of our carriers. `record` has passed ProbeRecord().
bool IsCarrier(std::span<const std::byte> record);

/// What the SourceHeader carrier says.
struct SourceHeaderCarrier {
  std::vector<SourceRecording> sources;
  uint64_t next_injected = 1;  ///< counter for the next injected event of a later run
};

/// Schemas as text (formats/schema/SCHEMA_TEXT.md), put together from the parts of their carriers.
class SchemaCarriers {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;  ///< of all texts; what goes beyond is left out

  /// Takes a part; parts of one text follow one another. False if it makes no sense.
  bool Add(uint32_t text, uint32_t part, uint32_t parts, std::span<const std::byte> data);
  /// The complete texts.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::string open_;  // parts so far of the text that comes next
  uint32_t next_part_ = 0;
  size_t bytes_ = 0;
};

/// Whole records, at most 64 KiB each; `timestamp` is the file's largest.
std::vector<std::byte> BuildIdMapCarrier(const IdMapWriter::Carrier& carrier, int64_t timestamp);
/// As many SourceHeader records as the table needs, each fitting `max_record` bytes.
std::vector<std::vector<std::byte>> BuildSourceHeaderCarriers(const SourceHeaderCarrier& header, size_t max_record,
                                                              int64_t timestamp);

/// The records that hold the texts, in order, each fitting `max_record` bytes.
std::vector<std::vector<std::byte>> BuildSchemaCarriers(const std::vector<std::string>& texts, size_t max_record,
                                                        int64_t timestamp);

/// What the carriers of a file say.
struct CarriedFacts {
  IdMap& map;
  SourceHeaderCarrier header;
  SchemaCarriers schemas;
  bool has_ids = false;  ///< whether there is a carrier of instance ids or their sources
};

/// Reads the payload of a carrier record; false if it makes no sense.
bool ReadCarrier(std::span<const std::byte> record, CarriedFacts& facts);

}  // namespace etwpipe::etl

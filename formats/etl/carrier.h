// Carrier events: records of the `etwpipe` provider that keep instance ids and their sources in a relogged file.
//
// Layout of their fields: proto/PROVIDER.md. They stand in buffers of their own at the end of the file, on CPU 0, with
// pid = tid = 0xFFFFFFFF and the file's largest event timestamp (design.md section 5).
#pragma once

#include <cstdint>
#include <span>
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

/// Whole records, at most 64 KiB each; `timestamp` is the file's largest.
std::vector<std::byte> BuildIdMapCarrier(const IdMapWriter::Carrier& carrier, int64_t timestamp);
/// As many SourceHeader records as the table needs, each fitting `max_record` bytes.
std::vector<std::vector<std::byte>> BuildSourceHeaderCarriers(const SourceHeaderCarrier& header, size_t max_record,
                                                              int64_t timestamp);

/// Reads the payload of a carrier record into `map` or `header`; false if it makes no sense.
bool ReadCarrier(std::span<const std::byte> record, IdMap& map, SourceHeaderCarrier& header);

}  // namespace etwpipe::etl

// The instance ids of a relogged file, as runs: what IdMap carriers hold (design.md section 5).
//
// A map is a list of entries, each about consecutive records of one buffer:
//
//   varint  buffers since the previous entry's buffer (0: the same buffer, its next records); the first entry's buffer
//   and
//           record stand in the carrier
//   varint  records n, shifted left by 1; bit 0 set: every id equals its place, and no runs follow
//   u64     xxh3-64 over the bytes from the first covered record to the end of the last one's padding
//   u32     low half of the xxh3-64 over the sizes (u16) of the covered records
//   runs    until n records are covered, each one varint t:
//             t & 3 == 0, 1: 1 or 2 records; t & 3 == 2: 3 records and a varint more
//             t >> 2 is the gap, in ids, between the run's first id and the id expected next: the previous id plus the
//             previous record's padded size / 8 (at the start of an entry: the record's place, source 0)
//             t & 3 == 3: u64 first id, varint records, varint stride between ids (t >> 2 is 0)
//           inside a run of the first three kinds each id is the expected one
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/event.h"
#include "pipeline/source_buffer.h"

namespace etwpipe::etl {

/// The ids of one buffer's records, encoded as one entry without its leading buffer distance. `image` is the buffer,
/// `records` its records in order; `ids` has one id per record; `ordinal` is the buffer's place in its file.
std::vector<std::byte> EncodeIdEntry(std::span<const std::byte> image, std::span<const RecordPlace> records,
                                     std::span<const EventInstanceId> ids, uint64_t ordinal);

/// The carried ids of a file, ready to be asked per buffer.
class IdMap {
 public:
  /// Adds the entries of one carrier. False if they make no sense; entries before the bad place are kept.
  bool AddCarrier(uint64_t first_buffer, uint64_t first_record, std::span<const std::byte> data);
  bool empty() const { return entries_.empty(); }

  enum class Answer : uint8_t {
    kPlaces,    ///< ids equal places, source 0
    kIds,       ///< `ids` holds one per record
    kNone,      ///< the map does not cover this buffer wholly
    kMismatch,  ///< it does, but the records are not those it was made for
  };
  /// The ids of a buffer's records. `changed`: their bytes are not those the map was made for, and their number and
  /// sizes are, so that the ids still name them. Any thread.
  Answer Lookup(const SourceBuffer& buffer, std::vector<EventInstanceId>& ids, bool& changed) const;

 private:
  struct Entry {
    uint64_t buffer;
    uint64_t first_record;
    uint64_t record_count;
    size_t data_begin;  // of the part after the count, in data_
    size_t data_end;
  };
  bool DecodeEntry(const Entry& entry, const SourceBuffer& buffer, std::vector<EventInstanceId>& ids, bool& all_places,
                   bool& changed) const;

  std::vector<std::byte> data_;
  std::vector<Entry> entries_;  // by (buffer, first_record)
};

/// Gathers encoded entries of successive buffers into carrier payloads of bounded size.
class IdMapWriter {
 public:
  struct Carrier {
    uint64_t first_buffer = 0;
    uint64_t first_record = 0;
    std::vector<std::byte> data;
  };
  explicit IdMapWriter(size_t max_payload) : max_payload_(max_payload) {}

  /// Adds the entry of buffer `ordinal`; buffers come in ascending order. `first_record` is not 0 for the later entries
  /// of a buffer whose ids took several.
  void Add(uint64_t ordinal, uint64_t first_record, std::span<const std::byte> entry);
  const std::vector<Carrier>& carriers() const { return carriers_; }

 private:
  size_t max_payload_;
  uint64_t last_buffer_ = 0;
  std::vector<Carrier> carriers_;
};

}  // namespace etwpipe::etl

#include "formats/etwp/record_rows.h"

#include <algorithm>
#include <array>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {

void ParseRow(std::span<const std::byte> record, uint32_t pointer_size, etl::ProviderResolver& providers,
              EventHeader& row) {
  etl::RecordProbe probe;
  if (etl::ProbeRecord(record, probe).empty() && probe.size == record.size()) {
    // What does not fit counts as payload, as when the recording was read first; that was reported then.
    (void)etl::ParseRecord(record, pointer_size, providers, row);
    return;
  }
  row = EventHeader{};
  row.record = record.data();
  row.record_size = static_cast<uint16_t>(record.size());
  if (record.size() >= 4) row.header_type = LoadAt<uint8_t>(record.data(), 2);
}

bool KindHeader(const RecordTemplate& kind, uint32_t pointer_size, etl::ProviderResolver& providers, EventHeader& row) {
  if (kind.raw() || !kind.has(v1::Slot::FIELD_SIZE)) return false;
  std::array<std::byte, RecordTemplate::kMaxHeader> record;
  std::copy(kind.header().begin(), kind.header().end(), record.begin());
  // The parser compares the size that the record states.
  StoreAt<uint16_t>(record.data(), kind.slot(v1::Slot::FIELD_SIZE), static_cast<uint16_t>(kind.header_size()));
  ParseRow(std::span(record).first(kind.header_size()), pointer_size, providers, row);
  row.record = nullptr;
  row.record_size = 0;
  return row.kind != HeaderKind::kUnknown;
}

}  // namespace etwpipe::etwp

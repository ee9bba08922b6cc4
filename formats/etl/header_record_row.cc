#include "formats/etl/header_record_row.h"

#include "pipeline/byte_reader.h"
#include "pipeline/guid.h"

namespace etwpipe::etl {

std::optional<EventHeader> HeaderRecordRow(const TraceContext& trace) {
  const auto& record = trace.info.header_record;
  const auto provider = trace.providers->Intern(GuidOf("68fdd900-4a3e-11d1-84f4-0000f80464e3"));
  if (record.empty() || !provider) return std::nullopt;
  EventHeader row;
  row.kind = trace.info.header_kind;
  row.provider = *provider;
  row.flags = kHasProvider | kHasPid | kHasTimestamp;
  row.record = record.data();
  row.record_size = static_cast<uint16_t>(record.size());
  ByteReader reader(record);
  row.version = reader.Read<uint8_t>();
  reader.Skip(5);
  row.opcode = reader.Read<uint8_t>();
  reader.Skip(1);
  row.tid = reader.Read<uint32_t>();
  row.pid = reader.Read<uint32_t>();
  return row;
}

}  // namespace etwpipe::etl

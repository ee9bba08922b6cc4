#include "stages/injected_event.h"

namespace etwpipe {

EventHeader InjectEvent(EventBatch& batch, const TraceContext& trace, const etl::EventFields& fields,
                        std::span<const std::byte> payload, uint16_t cpu) {
  EventHeader row;
  const size_t size = etl::RecordSize(fields, payload.size());
  const auto provider = trace.providers->Intern(fields.provider);
  if (size > 0xFFFF || !provider) return row;
  const auto record = batch.arena.Allocate(size);
  if (etl::WriteRecord(record, fields, payload) == 0) return row;
  row.timestamp = fields.timestamp;
  row.keyword = fields.keyword;
  row.record = record.data();
  row.provider = *provider;
  row.pid = fields.pid;
  row.tid = fields.tid;
  row.id = fields.id;
  row.task = fields.task;
  row.version = fields.version;
  row.cpu = cpu;
  row.record_size = static_cast<uint16_t>(size);
  row.extended_begin = static_cast<uint16_t>(etl::RecordSize(etl::EventFields{}, 0));
  row.payload_begin = static_cast<uint16_t>(size - payload.size());
  row.opcode = fields.opcode;
  row.level = fields.level;
  row.channel = fields.channel;
  row.header_type = fields.type;
  row.kind = fields.type == etl::kTypeEvent32 ? HeaderKind::kEvent32 : HeaderKind::kEvent64;
  row.flags = kHasPid | kHasTimestamp | kHasProvider | kInjected;
  if (row.kind == HeaderKind::kEvent64) row.flags |= kPointer64;
  if (!fields.items.empty()) row.flags |= kHasExtended;
  return row;
}

}  // namespace etwpipe

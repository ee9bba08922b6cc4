#include "stages/enrich_method/rundown_events.h"

#include "formats/etl/tracelogging_builder.h"
#include "formats/facts/clr_payloads.h"
#include "formats/facts/method_lives.h"
#include "pipeline/byte_reader.h"
#include "stages/injected_event.h"

namespace etwpipe {
namespace {

// semantics.md 6.1, 6.2.
constexpr std::string_view kRundown = "a669021c-c450-4609-a035-5af59af4df18";
constexpr uint16_t kMethodDCEndVerbose = 144;
constexpr size_t kFixedBytes = 36;  // of a method record, before the names

// What the rundown events of methods and the marks around them have in common (clr-events.tsv).
etl::EventFields RundownFields(uint16_t id, uint8_t version, uint8_t opcode, uint64_t keyword, uint32_t pid,
                               int64_t timestamp) {
  etl::EventFields fields;
  fields.provider = GuidOf(kRundown);
  fields.id = id;
  fields.version = version;
  fields.level = 4;
  fields.opcode = opcode;
  fields.task = 1;
  fields.keyword = keyword;
  fields.pid = pid;
  fields.timestamp = timestamp;
  return fields;
}

bool Append(EventBatch& batch, const TraceContext& trace, const etl::EventFields& fields,
            const etl::PayloadWriter& payload) {
  const EventHeader row = InjectEvent(batch, trace, fields, payload.bytes(), 0);
  if (row.record == nullptr) return false;
  batch.rows.push_back(row);
  return true;
}

}  // namespace

std::optional<MethodKey> DescribedMethod(const facts::ClrEventKind& kind, const EventHeader& row) {
  if (kind.subject != facts::ClrSubject::kMethod || !kind.verbose) return std::nullopt;
  const auto payload = row.payload();
  if (payload.size() < kFixedBytes) return std::nullopt;
  const bool is_32bit = row.pointer_size() == 4;
  return MethodKey(row.pid, facts::CodeAddress(LoadAt<uint64_t>(payload.data()), is_32bit),
                   facts::CodeAddress(LoadAt<uint64_t>(payload.data(), 16), is_32bit));
}

std::optional<RuntimeKey> MarkedRuntime(const facts::ClrEventKind& kind, const EventHeader& row) {
  const bool is_mark = kind.subject == facts::ClrSubject::kInit || kind.subject == facts::ClrSubject::kComplete;
  if (!is_mark || kind.action != facts::ClrAction::kRundownEnd) return std::nullopt;
  return RuntimeKey(row.pid, facts::ReadMarkerInstance(row));
}

bool AppendRundownEvent(EventBatch& batch, const TraceContext& trace, const facts::MethodVersion& method,
                        int64_t timestamp) {
  etl::PayloadWriter payload;
  payload.Add(method.method_id).Add(method.module_id).Add(method.start_address).Add(method.size).Add(method.token);
  payload.Add(method.flags).AddUnicode(method.namespace_name()).AddUnicode(method.name());
  payload.AddUnicode(method.signature()).Add(method.clr_instance.value_or(0));
  const bool has_rejit = method.rejit_id != 0;
  if (has_rejit) payload.Add(method.rejit_id);
  const uint8_t version = has_rejit ? 2 : 1;
  return Append(batch, trace, RundownFields(kMethodDCEndVerbose, version, 40, 0x30, method.pid, timestamp), payload);
}

void AppendRundownMark(EventBatch& batch, const TraceContext& trace, RundownMark mark, const RuntimeKey& runtime,
                       int64_t timestamp) {
  const bool init = mark == RundownMark::kInit;
  const uint16_t id = init ? 148 : 146;
  etl::PayloadWriter payload;
  payload.Add(runtime.second.value_or(0));
  Append(batch, trace, RundownFields(id, 1, init ? 17 : 15, 0x20038, runtime.first, timestamp), payload);
}

}  // namespace etwpipe

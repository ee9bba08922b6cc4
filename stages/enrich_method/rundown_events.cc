#include "stages/enrich_method/rundown_events.h"

#include "formats/etl/tracelogging_builder.h"
#include "pipeline/byte_reader.h"
#include "stages/injected_event.h"

namespace etwpipe {
namespace {

// semantics.md 6.1, 6.2.
constexpr std::string_view kRuntime = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
constexpr std::string_view kRundown = "a669021c-c450-4609-a035-5af59af4df18";
constexpr uint16_t kVerboseLoad = 143;    // of the runtime provider; MethodDCStartVerbose of the rundown provider
constexpr uint16_t kVerboseUnload = 144;  // of the runtime provider; MethodDCEndVerbose of the rundown provider
constexpr size_t kFixedBytes = 36;        // before the names

}  // namespace

bool DescribesMethod(const EventHeader& row, const TraceContext& trace, MethodKey& key) {
  static const Guid runtime = GuidOf(kRuntime);
  static const Guid rundown = GuidOf(kRundown);
  if (row.id != kVerboseLoad && row.id != kVerboseUnload) return false;
  const Guid& provider = trace.provider_guid(row);
  const auto payload = row.payload();
  if ((provider != runtime && provider != rundown) || payload.size() < kFixedBytes) return false;
  key = {row.pid, LoadAt<uint64_t>(payload.data()), LoadAt<uint64_t>(payload.data(), 16)};
  return true;
}

bool AppendRundownEvent(EventBatch& batch, const TraceContext& trace, const facts::MethodVersion& method,
                        int64_t timestamp) {
  if (!method.named() || method.size == 0) return false;
  etl::PayloadWriter payload;
  payload.Add(method.method_id).Add(method.module_id).Add(method.start_address).Add(method.size).Add(method.token);
  payload.Add(method.flags).AddUnicode(method.namespace_name()).AddUnicode(method.name());
  payload.AddUnicode(method.signature()).Add(method.clr_instance.value_or(0));
  const bool has_rejit = method.rejit_id != 0;
  if (has_rejit) payload.Add(method.rejit_id);
  etl::EventFields fields;
  fields.provider = GuidOf(kRundown);
  fields.id = kVerboseUnload;
  fields.version = has_rejit ? 2 : 1;
  fields.level = 4;
  fields.opcode = 40;
  fields.task = 1;
  fields.keyword = 0x30;
  fields.pid = method.pid;
  fields.timestamp = timestamp;
  const EventHeader row = InjectEvent(batch, trace, fields, payload.bytes(), 0);
  if (row.record == nullptr) return false;
  batch.rows.push_back(row);
  return true;
}

}  // namespace etwpipe

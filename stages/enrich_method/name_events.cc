#include "stages/enrich_method/name_events.h"

#include <vector>

#include "formats/etl/tracelogging_builder.h"
#include "stages/injected_event.h"

namespace etwpipe {
namespace {

constexpr std::string_view kProvider = "56e4a0cd-0f35-5584-7110-f7ea1385f7bd";
constexpr uint8_t kTraceLoggingChannel = 11;

EventHeader Build(EventBatch& batch, const TraceContext& trace, const EventHeader& about, uint16_t id,
                  const etl::TraceLoggingSchema& schema, const etl::PayloadWriter& payload) {
  static const std::vector<std::byte> traits = etl::ProviderTraits("etwpipe");
  const etl::ExtendedItem items[] = {{etl::kExtProviderTraits, traits}, {etl::kExtSchemaTl, schema.metadata()}};
  etl::EventFields fields;
  fields.provider = GuidOf(kProvider);
  fields.id = id;
  fields.channel = kTraceLoggingChannel;
  fields.level = 4;
  fields.timestamp = about.timestamp;
  fields.pid = about.pid;
  fields.tid = about.tid;
  fields.items = items;
  return InjectEvent(batch, trace, fields, payload.bytes(), about.cpu);
}

}  // namespace

EventHeader MethodNameEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row,
                            const facts::MethodVersion& method, std::string_view outcome) {
  static const etl::TraceLoggingSchema schema = [] {
    etl::TraceLoggingSchema s("MethodName");
    s.Field("InstanceId", etl::InType::kUint64).Field("MethodID", etl::InType::kHexInt64);
    s.Field("Namespace", etl::InType::kUnicodeString).Field("Name", etl::InType::kUnicodeString);
    s.Field("Signature", etl::InType::kUnicodeString).Field("Module", etl::InType::kUnicodeString);
    s.Field("Tier", etl::InType::kUnicodeString).Field("Outcome", etl::InType::kUnicodeString);
    return s;
  }();
  etl::PayloadWriter payload;
  payload.Add(row.instance_id).Add(method.method_id).AddUnicode(method.namespace_name()).AddUnicode(method.name());
  payload.AddUnicode(method.signature()).AddUnicode(method.module()).AddUnicode(method.tier()).AddUnicode(outcome);
  return Build(batch, trace, row, 10, schema, payload);
}

EventHeader SymbolEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row, std::string_view symbol) {
  static const etl::TraceLoggingSchema schema = [] {
    etl::TraceLoggingSchema s("Symbol");
    s.Field("InstanceId", etl::InType::kUint64).Field("Symbol", etl::InType::kUnicodeString);
    return s;
  }();
  etl::PayloadWriter payload;
  payload.Add(row.instance_id).AddUnicode(symbol);
  return Build(batch, trace, row, 11, schema, payload);
}

}  // namespace etwpipe

#include "stages/enrich_method/name_events.h"

#include "formats/etl/tracelogging_builder.h"
#include "stages/own_event.h"

namespace etwpipe {

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
  return OwnEvent(batch, trace, row, 10, schema, payload);
}

EventHeader SymbolEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row, std::string_view symbol) {
  static const etl::TraceLoggingSchema schema = [] {
    etl::TraceLoggingSchema s("Symbol");
    s.Field("InstanceId", etl::InType::kUint64).Field("Symbol", etl::InType::kUnicodeString);
    return s;
  }();
  etl::PayloadWriter payload;
  payload.Add(row.instance_id).AddUnicode(symbol);
  return OwnEvent(batch, trace, row, 11, schema, payload);
}

}  // namespace etwpipe

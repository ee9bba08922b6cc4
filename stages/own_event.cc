#include "stages/own_event.h"

#include <string_view>
#include <vector>

#include "stages/injected_event.h"

namespace etwpipe {

EventHeader OwnEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& about, uint16_t id,
                     const etl::TraceLoggingSchema& schema, const etl::PayloadWriter& payload) {
  constexpr std::string_view kProvider = "56e4a0cd-0f35-5584-7110-f7ea1385f7bd";
  constexpr uint8_t kTraceLoggingChannel = 11;
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

}  // namespace etwpipe

#include "tools/library/injected_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "formats/etl/record_builder.h"
#include "stages/injected_event.h"

namespace etwpipe::session {

bool InjectedEvents::Refuse(std::string error) {
  if (error_.empty()) error_ = std::move(error);
  return false;
}

bool InjectedEvents::InjectEvent(const InjectArgs& args) {
  if (args.processor_index >= info_.logical_processor_count) {
    return Refuse(fmt::format("an injected event names processor {}; the trace has processors 0 to {}",
                              args.processor_index, int64_t{info_.logical_processor_count} - 1));
  }
  std::vector<etl::ExtendedItem> items;
  if (!args.provider_traits.empty()) items.push_back({etl::kExtProviderTraits, args.provider_traits});
  if (!args.schema.empty()) items.push_back({etl::kExtSchemaTl, args.schema});
  size_t size = args.data.size();
  for (const etl::ExtendedItem& item : items) size += std::min<size_t>(item.data.size(), etl::kMaxRecordSize);
  if (size > etl::kMaxRecordSize) {
    return Refuse(
        fmt::format("an injected event of {} bytes exceeds a record, which has at most {}", size, etl::kMaxRecordSize));
  }
  etl::EventFields fields;
  fields.provider = args.provider;
  fields.id = args.descriptor.id;
  fields.version = args.descriptor.version;
  fields.channel = args.descriptor.channel;
  fields.level = args.descriptor.level;
  fields.opcode = args.descriptor.opcode;
  fields.task = args.descriptor.task;
  fields.keyword = args.descriptor.keyword;
  fields.pid = args.process_id;
  fields.tid = args.thread_id;
  fields.timestamp = std::clamp(args.timestamp, info_.start_timestamp, info_.stop_timestamp);
  fields.items = items;
  const EventHeader row = etwpipe::InjectEvent(*events_, trace_, fields, args.data, args.processor_index);
  if (row.record == nullptr) {
    return Refuse(
        fmt::format("an injected event of {} bytes exceeds a record, or the trace has too many providers", size));
  }
  if (fields.timestamp != args.timestamp) ++clamped_;
  events_->rows.push_back(row);
  return true;
}

std::shared_ptr<const EventBatch> InjectedEvents::Sorted() {
  std::stable_sort(events_->rows.begin(), events_->rows.end(),
                   [](const EventHeader& a, const EventHeader& b) { return a.timestamp < b.timestamp; });
  return events_;
}

}  // namespace etwpipe::session

#include "stages/annotate_activity/timing_event.h"

#include <fmt/format.h>

#include "formats/etl/tracelogging_builder.h"
#include "stages/own_event.h"

namespace etwpipe {
namespace {

constexpr uint16_t kActivityTiming = 20;

}  // namespace

void FillTiming(const activities::ActivityTable& table, const activities::Activity& activity,
                v1::ActivityTiming& timing) {
  timing.Clear();
  timing.set_event_instance_id(activity.id);
  timing.set_name(std::string(table.NameOf(activity)));
  if (activity.parent != 0) timing.set_parent(activity.parent);
  if (activity.pid != kNoId) timing.set_pid(activity.pid);
  if (activity.tid != kNoId) timing.set_tid(activity.tid);
  timing.set_start(activity.start);
  timing.set_stop(activity.stop);
  timing.set_duration(activity.duration());
  timing.set_exclusive_duration(activity.exclusive_duration);
  timing.set_cpu(activity.cpu);
  timing.set_exclusive_cpu(activity.exclusive_cpu);
  timing.set_responsibility(activity.responsibility);
  timing.set_exclusive_responsibility(activity.exclusive_responsibility);
  for (const auto flag : activities::FlagNames(activity.flags)) timing.add_flags(std::string(flag));
  timing.set_kind(std::string(activities::ToString(activity.kind)));
  timing.set_processor(activity.processor);
}

EventHeader TimingEvent(EventBatch& batch, const TraceContext& trace, const EventHeader& row,
                        const v1::ActivityTiming& timing) {
  static const etl::TraceLoggingSchema schema = [] {
    etl::TraceLoggingSchema s("ActivityTiming");
    s.Field("InstanceId", etl::InType::kUint64).Field("ParentId", etl::InType::kUint64);
    s.Field("Name", etl::InType::kUnicodeString).Field("Kind", etl::InType::kUnicodeString);
    s.Field("Start", etl::InType::kInt64).Field("Stop", etl::InType::kInt64);
    s.Field("TickFrequency", etl::InType::kInt64);
    for (const auto* field : {"DurationTicks", "ExclusiveDurationTicks", "CPUTicks", "ExclusiveCPUTicks",
                              "WallClockTimeResponsibilityTicks", "ExclusiveWallClockTimeResponsibilityTicks"}) {
      s.Field(field, etl::InType::kInt64);
    }
    s.Field("Flags", etl::InType::kUnicodeString);
    return s;
  }();
  etl::PayloadWriter payload;
  payload.Add(timing.event_instance_id()).Add(timing.parent()).AddUnicode(timing.name()).AddUnicode(timing.kind());
  for (const int64_t value :
       {timing.start(), timing.stop(), trace.info.clock.frequency, timing.duration(), timing.exclusive_duration(),
        timing.cpu(), timing.exclusive_cpu(), timing.responsibility(), timing.exclusive_responsibility()}) {
    payload.Add(value);
  }
  payload.AddUnicode(fmt::format("{}", fmt::join(timing.flags(), " ")));
  return OwnEvent(batch, trace, row, kActivityTiming, schema, payload);
}

}  // namespace etwpipe

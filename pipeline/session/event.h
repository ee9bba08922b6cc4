// Views of EventData that know what an event is. They live as long as the callback that gave the EventData.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "pipeline/session/event_data.h"
#include "pipeline/session/ticks.h"

namespace etwpipe::session {

/// What every event has.
class Event {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  explicit Event(const EventData& data) : data_(&data) {}
  static bool Matches(const EventData&) { return true; }

  const EventData& data() const { return *data_; }
  uint16_t event_id() const { return data_->event_id; }
  uint64_t event_instance_id() const { return data_->event_instance_id; }
  int64_t tick_frequency() const { return data_->tick_frequency; }
  uint32_t process_id() const { return data_->process_id; }
  uint32_t thread_id() const { return data_->thread_id; }
  uint16_t processor_index() const { return data_->processor_index; }
  std::string_view event_name() const { return data_->event_name; }
  const uint16_t* event_wide_name() const { return data_->event_wide_name; }
  bool has(EventDataFlag flag) const { return (data_->flags & flag) != 0; }

 protected:
  Nanoseconds ToDuration(int64_t ticks) const { return TicksToDuration(ticks, data_->tick_frequency); }
  const EventData* data_;
};

/// An activity: values are those of its stop callback, 0 elsewhere (EventData).
class Activity : public Event {
 public:
  explicit Activity(const EventData& data) : Event(data) {}
  static bool Matches(const EventData& data) { return (data.flags & kIsActivity) != 0; }

  int64_t start_timestamp() const { return data_->start_timestamp; }  ///< raw ticks
  int64_t stop_timestamp() const { return data_->stop_timestamp; }    ///< raw ticks; 0 without a stop
  /// From start to stop; 0 without a stop and where it is earlier than the start.
  int64_t duration_ticks() const {
    return data_->stop_timestamp == 0 ? 0 : TickDifference(data_->stop_timestamp, data_->start_timestamp);
  }
  int64_t exclusive_duration_ticks() const { return data_->exclusive_duration_ticks; }
  int64_t cpu_ticks() const { return data_->cpu_ticks; }
  int64_t exclusive_cpu_ticks() const { return data_->exclusive_cpu_ticks; }
  int64_t wall_clock_time_responsibility_ticks() const { return data_->wall_clock_time_responsibility_ticks; }
  int64_t exclusive_wall_clock_time_responsibility_ticks() const {
    return data_->exclusive_wall_clock_time_responsibility_ticks;
  }

  /// The same in nanoseconds, cut towards zero.
  Nanoseconds Duration() const { return ToDuration(duration_ticks()); }
  Nanoseconds ExclusiveDuration() const { return ToDuration(exclusive_duration_ticks()); }
  Nanoseconds CpuTime() const { return ToDuration(cpu_ticks()); }
  Nanoseconds ExclusiveCpuTime() const { return ToDuration(exclusive_cpu_ticks()); }
  Nanoseconds WallClockTimeResponsibility() const { return ToDuration(wall_clock_time_responsibility_ticks()); }
  Nanoseconds ExclusiveWallClockTimeResponsibility() const {
    return ToDuration(exclusive_wall_clock_time_responsibility_ticks());
  }
};

/// A point in time.
class SimpleEvent : public Event {
 public:
  explicit SimpleEvent(const EventData& data) : Event(data) {}
  static bool Matches(const EventData& data) { return (data.flags & kIsActivity) == 0; }

  int64_t timestamp() const { return data_->start_timestamp; }  ///< raw ticks
};

/// Any event, with everything EventData holds.
class RawEvent : public Activity {
 public:
  explicit RawEvent(const EventData& data) : Activity(data) {}
  static bool Matches(const EventData&) { return true; }

  bool is_activity() const { return has(kIsActivity); }
  const void* payload() const { return data_->data; }
};

}  // namespace etwpipe::session

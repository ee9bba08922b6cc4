// One event as callbacks get it, and the stack of events around it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace etwpipe::session {

/// EventData::event_id of every event that is none of semantics.md 4.1; `data` is then a RecordData.
constexpr uint16_t kOtherEvent = 0xFFFF;

/// Bits of EventData::flags.
enum EventDataFlag : uint16_t {
  kUnterminatedActivity = 0x1,  ///< no stop in the trace: it ended with its thread, its process or the trace
  kTruncatedStart = 0x2,        ///< no start in the trace: it begins with the trace
  kUnbalanced = 0x4,            ///< ended by the stop of an activity below it on its thread
  kMigrated = 0x8,              ///< stopped by another thread
  kLateChildren = 0x10,         ///< children go on after its stop: the inclusive values lack them
  kNegativeDuration = 0x20,     ///< its stop is earlier than its start
  kCoarseDuration = 0x40,       ///< its stop follows from a duration in milliseconds or microseconds
  kLostEvents = 0x80,           ///< context switches of its thread are missing: CPU ticks are too low
  kIsActivity = 0x8000,         ///< an activity; without it a simple event
};

/// EVENT_DATA (semantics.md 1.2), with the offsets it has on 64-bit Windows. Times and ticks are those of the session
/// clock. In a start callback, and for the activities around an event, the stop and all derived ticks are 0; in a
/// simple event they always are. Everything it points to lives until the callback returns.
struct EventData {
  uint16_t event_id = kOtherEvent;
  uint64_t event_instance_id = 0;  ///< names its start record; the same in every pass, run and relog
  int64_t tick_frequency = 0;      ///< ticks per second
  int64_t start_timestamp = 0;     ///< of a simple event: when it happened
  int64_t stop_timestamp = 0;      ///< 0 without a stop
  int64_t exclusive_duration_ticks = 0;
  int64_t cpu_ticks = 0;  ///< 0 also where the trace has no context switches
  int64_t exclusive_cpu_ticks = 0;
  int64_t wall_clock_time_responsibility_ticks = 0;
  int64_t exclusive_wall_clock_time_responsibility_ticks = 0;
  const void* data = nullptr;  ///< payload by event_id (payloads.h); may be null
  uint32_t process_id = 0;     ///< process, thread and processor of its start; 0xFFFFFFFF where nobody knows
  uint32_t thread_id = 0;
  uint16_t processor_index = 0;  ///< from 0
  uint16_t flags = 0;            ///< EventDataFlag; padding in the SDK
  uint32_t reserved = 0;
  const char* event_name = nullptr;           ///< UTF-8: the kind of event, not what it is about
  const uint16_t* event_wide_name = nullptr;  ///< the same in UTF-16LE
};
static_assert(sizeof(EventData) == 120);
static_assert(offsetof(EventData, event_instance_id) == 8 && offsetof(EventData, tick_frequency) == 16 &&
              offsetof(EventData, start_timestamp) == 24 && offsetof(EventData, stop_timestamp) == 32 &&
              offsetof(EventData, exclusive_duration_ticks) == 40 && offsetof(EventData, cpu_ticks) == 48 &&
              offsetof(EventData, exclusive_cpu_ticks) == 56 &&
              offsetof(EventData, wall_clock_time_responsibility_ticks) == 64 &&
              offsetof(EventData, exclusive_wall_clock_time_responsibility_ticks) == 72 &&
              offsetof(EventData, data) == 80 && offsetof(EventData, process_id) == 88 &&
              offsetof(EventData, thread_id) == 92 && offsetof(EventData, processor_index) == 96 &&
              offsetof(EventData, flags) == 98 && offsetof(EventData, event_name) == 104 &&
              offsetof(EventData, event_wide_name) == 112);

/// An event behind the activities it lies in: the outermost first, the event itself last. Never empty. A view: it lives
/// until the callback returns.
class EventStack {
 public:
  explicit EventStack(std::span<const EventData> events) : events_(events) { assert(!events.empty()); }

  size_t size() const { return events_.size(); }
  const EventData& operator[](size_t index) const { return events_[index]; }
  /// The event the callback is about.
  const EventData& back() const { return events_.back(); }
  std::span<const EventData> events() const { return events_; }
  auto begin() const { return events_.begin(); }
  auto end() const { return events_.end(); }

 private:
  std::span<const EventData> events_;
};

}  // namespace etwpipe::session

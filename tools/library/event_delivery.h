// Records of one pass as callbacks see them: activities that start and stop, simple events, each with its stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "formats/activities/activity_walk.h"
#include "formats/facts/record_fields.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/session/event_data.h"
#include "pipeline/trace_context.h"
#include "tools/library/build_payloads.h"
#include "tools/library/event_names.h"

namespace etwpipe::session {

/// Gets the events. Each call says whether the session goes on.
class EventTarget {
 public:
  virtual ~EventTarget() = default;
  virtual bool OnStart(const EventStack& stack) = 0;
  virtual bool OnStop(const EventStack& stack) = 0;
  virtual bool OnSimple(const EventStack& stack) = 0;
};

/// A record that outlives its batch.
struct KeptRecord {
  explicit KeptRecord(const EventHeader& row) : bytes(row.record, row.record + row.record_size), header(row) {
    header.record = bytes.data();
  }
  KeptRecord(const KeptRecord&) = delete;
  KeptRecord& operator=(const KeptRecord&) = delete;

  std::vector<std::byte> bytes;
  EventHeader header;
};

/// Stop records of activities whose start is not in the trace, by instance id: at their start nothing else tells what
/// they are.
using MissingStarts = std::unordered_map<EventInstanceId, KeptRecord>;

/// One pass. One thread at a time. Memory: activities that go on, with their payloads. Cost of an event: the part of
/// its stack that differs from that of the event before.
class EventDelivery : private activities::ActivityListener {
 public:
  struct Args {
    const TraceContext& trace;
    const activities::ActivityOptions& options;
    const activities::ActivityHistory& history;
    const MissingStarts& missing;
    EventTarget& target;
  };
  /// Everything in `args` outlives it. Activities without a start begin in here.
  explicit EventDelivery(const Args& args);
  ~EventDelivery() override;

  /// The next event of the trace; false once the target wants to stop.
  bool Observe(const EventHeader& row);
  /// After the last event: activities that go on end.
  bool Finish();
  /// Events the target got.
  uint64_t delivered() const { return delivered_; }

 private:
  static constexpr size_t kNoPlace = SIZE_MAX;

  // An activity that goes on.
  struct Open {
    EventData data;
    BuildPayload build;
    RecordData record;
    std::vector<std::byte> payload;  // that `record` shows
    std::shared_ptr<const EventNames> names;
    Open* parent = nullptr;
    uint64_t parent_serial = 0;
    uint64_t serial = 0;       // another for each activity that uses this place
    Open* shadowed = nullptr;  // an older one of the same id
    size_t place = kNoPlace;   // in chain_
  };

  void OnStart(const activities::Activity& activity) override;
  void OnStop(const activities::Activity& activity) override;

  // What a record says of its event.
  struct Described {
    const EventKindInfo* kind = nullptr;  // null for other events
    const void* payload = nullptr;        // of those with a kind
  };
  Described Describe(const EventHeader& row, bool activity, BuildPayload& room,
                     std::shared_ptr<const EventNames>& names);
  void Name(const Described& described, const std::shared_ptr<const EventNames>& names, EventData& data) const;
  void FillRecord(const EventHeader& row, const std::shared_ptr<const EventNames>& names, RecordData& record) const;
  void Simple(const EventHeader& row);
  Open* FindOpen(EventInstanceId id) const;
  Open* TakePlace();
  void Release(Open* open);
  EventStack StackOf(Open* parent, const EventData& event);

  const TraceContext& trace_;
  const MissingStarts& missing_;
  EventTarget& target_;
  schema::SchemaRegistry no_schemas_;
  schema::SchemaLookup lookup_;
  facts::RecordFields fields_;
  BuildRecords build_records_;
  EventNameTable name_table_;
  std::shared_ptr<const EventNames> unknown_;

  bool go_on_ = true;
  uint64_t delivered_ = 0;
  uint64_t invocations_ = 0;
  const EventHeader* row_ = nullptr;  // being observed
  std::deque<Open> places_;
  std::vector<Open*> free_;
  uint64_t serials_ = 0;
  std::unordered_map<EventInstanceId, Open*> open_;
  std::vector<Open*> chain_;      // the activities of the last stack, outermost first
  std::vector<EventData> stack_;  // their data; behind it the event
  BuildPayload simple_build_;
  RecordData simple_record_;
  std::vector<Open*> upwards_;
  std::optional<activities::ActivityWalk> walk_;
};

}  // namespace etwpipe::session

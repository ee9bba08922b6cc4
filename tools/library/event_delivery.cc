#include "tools/library/event_delivery.h"

#include <algorithm>

namespace etwpipe::session {
namespace {

using activities::ActivityFlag;

static_assert(uint16_t{kUnterminatedActivity} == uint16_t{activities::kUnterminated});
static_assert(uint16_t{kTruncatedStart} == uint16_t{activities::kTruncatedStart});
static_assert(uint16_t{kUnbalanced} == uint16_t{activities::kUnbalanced});
static_assert(uint16_t{kMigrated} == uint16_t{activities::kMigrated});
static_assert(uint16_t{kLateChildren} == uint16_t{activities::kLateChildren});
static_assert(uint16_t{kNegativeDuration} == uint16_t{activities::kNegative});
static_assert(uint16_t{kCoarseDuration} == uint16_t{activities::kCoarse});
static_assert(uint16_t{kLostEvents} == uint16_t{activities::kLostEvents});

const uint16_t* Units(const char16_t* text) { return reinterpret_cast<const uint16_t*>(text); }

uint16_t FlagsOf(const activities::Activity& activity) { return static_cast<uint16_t>(activity.flags | kIsActivity); }

const schema::SchemaRegistry& RegistryOf(const TraceContext& trace, const schema::SchemaRegistry& none) {
  const auto* registry = trace.facts->Get<schema::SchemaRegistry>();
  return registry != nullptr ? *registry : none;
}

}  // namespace

EventDelivery::EventDelivery(const Args& args)
    : trace_(args.trace),
      missing_(args.missing),
      target_(args.target),
      lookup_(RegistryOf(args.trace, no_schemas_), args.trace),
      build_records_(args.trace),
      name_table_(args.trace) {
  auto unknown = std::make_shared<EventNames>();
  unknown->name = "unknown";
  unknown->wide_name = u"unknown";
  unknown_ = std::move(unknown);
  walk_.emplace(args.trace, args.options, args.history, static_cast<activities::ActivityListener*>(this));
}

EventDelivery::~EventDelivery() = default;

bool EventDelivery::Observe(const EventHeader& row) {
  if (!go_on_) return false;
  row_ = &row;
  const bool changed = walk_->Observe(row);
  if (!changed && go_on_) Simple(row);
  row_ = nullptr;
  return go_on_;
}

bool EventDelivery::Finish() {
  if (go_on_) walk_->Finish();
  return go_on_;
}

EventDelivery::Described EventDelivery::Describe(const EventHeader& row, bool activity, BuildPayload& room,
                                                 std::shared_ptr<const EventNames>& names) {
  const schema::EventSchema* schema = lookup_.Find(row);
  if (schema != nullptr && build_records_.IsProvider(row.provider)) {
    fields_.Load(*schema, row);
    Described described;
    described.kind = build_records_.KindOf(row, activity, fields_);
    if (described.kind != nullptr) {
      const EventId id = described.kind->id;
      if (id == EventId::kCompiler || id == EventId::kLinker) ++invocations_;
      described.payload = room.Fill(id, fields_, invocations_);
      return described;
    }
  }
  names = name_table_.Find(row, schema, lookup_.generation());
  return {};
}

void EventDelivery::Name(const Described& described, const std::shared_ptr<const EventNames>& names,
                         EventData& data) const {
  if (described.kind != nullptr) {
    data.event_id = static_cast<uint16_t>(described.kind->id);
    data.event_name = described.kind->name.data();
    data.event_wide_name = Units(described.kind->wide_name.data());
    data.data = described.payload;
    return;
  }
  data.event_id = kOtherEvent;
  data.event_name = names->name.c_str();
  data.event_wide_name = Units(names->wide_name.c_str());
}

void EventDelivery::FillRecord(const EventHeader& row, const std::shared_ptr<const EventNames>& names,
                               RecordData& record) const {
  record.provider = trace_.provider_guid(row);
  record.keyword = row.keyword;
  record.provider_name = names->provider.c_str();
  record.payload = reinterpret_cast<const uint8_t*>(row.payload().data());
  record.payload_size = static_cast<uint32_t>(row.payload().size());
  record.record_size = row.record_size;
  record.id = row.id;
  record.task = row.task;
  record.version = static_cast<uint8_t>(row.version);
  record.opcode = row.opcode;
  record.level = row.level;
  record.channel = row.channel;
  record.header_kind = static_cast<uint8_t>(row.kind);
  record.pointer_size = static_cast<uint8_t>(row.pointer_size());
}

void EventDelivery::OnStart(const activities::Activity& activity) {
  Open* const open = TakePlace();
  EventData& data = open->data;
  data = {};
  data.event_instance_id = activity.id;
  data.tick_frequency = trace_.info.clock.frequency;
  data.start_timestamp = activity.start;
  data.process_id = activity.pid;
  data.thread_id = activity.tid;
  data.processor_index = activity.processor;
  data.flags = FlagsOf(activity);
  open->names.reset();
  const EventHeader* record = nullptr;
  if (row_ != nullptr && row_->instance_id == activity.id) {
    record = row_;
  } else if (const auto kept = missing_.find(activity.id); kept != missing_.end()) {
    record = &kept->second.header;
  }
  if (record != nullptr) {
    const Described described = Describe(*record, true, open->build, open->names);
    Name(described, open->names, data);
    if (described.kind == nullptr) {
      FillRecord(*record, open->names, open->record);
      const auto payload = record->payload();
      open->payload.assign(payload.begin(), payload.end());
      open->record.payload = reinterpret_cast<const uint8_t*>(open->payload.data());
      data.data = &open->record;
    }
  } else {
    open->names = unknown_;
    Name({}, open->names, data);
    open->record = {};
    open->record.provider_name = open->names->provider.c_str();
    data.data = &open->record;
  }
  open->parent = FindOpen(activity.parent);
  open->parent_serial = open->parent == nullptr ? 0 : open->parent->serial;
  Open*& known = open_[activity.id];
  open->shadowed = known;
  known = open;
  if (!go_on_) return;
  ++delivered_;
  go_on_ = target_.OnStart(StackOf(open->parent, data));
}

void EventDelivery::OnStop(const activities::Activity& activity) {
  Open* const open = FindOpen(activity.id);
  if (open == nullptr) return;
  EventData data = open->data;
  data.stop_timestamp = activity.has(activities::kUnterminated) ? 0 : activity.stop;
  data.exclusive_duration_ticks = activity.exclusive_duration;
  data.cpu_ticks = activity.cpu;
  data.exclusive_cpu_ticks = activity.exclusive_cpu;
  data.wall_clock_time_responsibility_ticks = activity.responsibility;
  data.exclusive_wall_clock_time_responsibility_ticks = activity.exclusive_responsibility;
  data.flags = FlagsOf(activity);
  if (data.event_id == kOtherEvent && row_ != nullptr && activity.stop_id == row_->instance_id) {
    FillRecord(*row_, open->names, simple_record_);
    data.data = &simple_record_;
  }
  Open* const parent = open->parent != nullptr && open->parent->serial == open->parent_serial ? open->parent : nullptr;
  const EventStack stack = StackOf(parent, data);
  if (go_on_) {
    ++delivered_;
    go_on_ = target_.OnStop(stack);
  }
  if (open->shadowed != nullptr) {
    open_[activity.id] = open->shadowed;
  } else {
    open_.erase(activity.id);
  }
  Release(open);
}

void EventDelivery::Simple(const EventHeader& row) {
  EventData data;
  data.event_instance_id = row.instance_id;
  data.tick_frequency = trace_.info.clock.frequency;
  data.start_timestamp = row.timestamp;
  data.process_id = row.pid;
  data.thread_id = row.tid;
  data.processor_index = row.cpu;
  std::shared_ptr<const EventNames> names;
  const Described described = Describe(row, false, simple_build_, names);
  Name(described, names, data);
  if (described.kind == nullptr) {
    FillRecord(row, names, simple_record_);
    data.data = &simple_record_;
  }
  Open* parent = nullptr;
  if (row.tid != kNoId && !open_.empty()) parent = FindOpen(walk_->tracker().Innermost(row.tid).id);
  ++delivered_;
  go_on_ = target_.OnSimple(StackOf(parent, data));
}

EventDelivery::Open* EventDelivery::FindOpen(EventInstanceId id) const {
  if (id == 0) return nullptr;
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : found->second;
}

EventDelivery::Open* EventDelivery::TakePlace() {
  Open* open = nullptr;
  if (free_.empty()) {
    open = &places_.emplace_back();
  } else {
    open = free_.back();
    free_.pop_back();
  }
  open->serial = ++serials_;
  open->place = kNoPlace;
  return open;
}

void EventDelivery::Release(Open* open) {
  open->serial = 0;
  open->parent = nullptr;
  free_.push_back(open);
}

// What the chain shares with that of the last event stays. An activity that stops is taken out of the chain by its own
// stop callback, whose chain ends at its parent; so all of the chain goes on.
EventStack EventDelivery::StackOf(Open* parent, const EventData& event) {
  const auto in_chain = [this](const Open* open) { return open->place < chain_.size() && chain_[open->place] == open; };
  upwards_.clear();
  Open* at = parent;
  while (at != nullptr && !in_chain(at)) {
    upwards_.push_back(at);
    Open* const up = at->parent;
    at = up != nullptr && up->serial == at->parent_serial ? up : nullptr;
  }
  chain_.resize(at == nullptr ? 0 : at->place + 1);
  stack_.resize(chain_.size());
  for (auto open = upwards_.rbegin(); open != upwards_.rend(); ++open) {
    (*open)->place = chain_.size();
    chain_.push_back(*open);
    stack_.push_back((*open)->data);
  }
  stack_.push_back(event);
  return EventStack(stack_);
}

}  // namespace etwpipe::session

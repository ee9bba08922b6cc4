#include "formats/activities/pair_context.h"

namespace etwpipe::activities {

uint32_t NameTable::Number(std::string_view text, std::string_view module) {
  std::string key;
  key.reserve(text.size() + 1 + module.size());
  key.append(text).append(1, '\0').append(module);
  const auto [known, added] = numbers_.try_emplace(std::move(key), static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back({std::string(text), std::string(module)});
  return known->second;
}

PairContext::PairContext(const TraceContext& trace, const ActivityOptions& options, const ActivityHistory& history,
                         ActivityTracker& tracker, const FirstWalk& first)
    : trace_(trace),
      options_(options),
      history_(history),
      tracker_(tracker),
      first_(first),
      lookup_(trace.facts->Get<schema::SchemaRegistry>() != nullptr ? *trace.facts->Get<schema::SchemaRegistry>()
                                                                    : no_schemas_,
              trace) {
  for (const ActivityName& name : history.names) names_.Number(name.text, name.module);
}

facts::RecordFields* PairContext::FieldsOf(const EventHeader& row) {
  const schema::EventSchema* schema = SchemaOf(row);
  if (schema == nullptr) return nullptr;
  fields_.Load(*schema, row);
  return &fields_;
}

OpenActivity PairContext::Open(const PairKey& key, const ActivityTracker::StartArgs& args) {
  changed_ = true;
  const OpenActivity begun = tracker_.Start(args);
  table_.Add(key, begun);
  table_.Sweep(tracker_);
  return begun;
}

bool PairContext::Close(const PairKey& key, const EventHeader& row, const CloseArgs& args) {
  const OpenActivity found = table_.Take(key, tracker_, args.oldest);
  if (found == OpenActivity{}) return false;
  changed_ = true;
  tracker_.Stop(found, {.time = row.timestamp, .id = row.instance_id, .tid = row.tid, .ends_inner = args.ends_inner});
  return true;
}

void PairContext::CloseMissing(const EventHeader& row, const MissingArgs& args) {
  if (!first_walk()) {
    const OpenActivity found = tracker_.FindMissing(row.instance_id);
    if (found == OpenActivity{}) return;
    changed_ = true;
    tracker_.Stop(found, {.time = row.timestamp, .id = row.instance_id, .tid = row.tid, .ends_inner = args.ends_inner});
    return;
  }
  ActivityHistory::MissingStart start;
  start.id = row.instance_id;
  start.pid = args.pid.value_or(row.pid);
  start.tid = args.tid.value_or(row.tid);
  start.name = args.name;
  start.processor = row.cpu;
  start.kind = args.kind;
  start.nests = args.nests;
  start.activity_id = args.activity_id;
  first_.missing->push_back(start);
  if (args.ends_inner) tracker_.EndStrict(row.tid, row.timestamp);
}

ActivityTracker::StartArgs PairContext::StartOf(const EventHeader& row, uint32_t name, ActivityKind kind) {
  ActivityTracker::StartArgs args;
  args.time = row.timestamp;
  args.id = row.instance_id;
  args.pid = row.pid;
  args.tid = row.tid;
  args.name = name;
  args.processor = row.cpu;
  args.kind = kind;
  return args;
}

bool PairContext::TakeChanged() {
  const bool changed = changed_;
  changed_ = false;
  return changed;
}

}  // namespace etwpipe::activities

// Starts and stops of manifest and TraceLogging providers by opcode (semantics.md 5.5).
#include <fmt/format.h>

#include "formats/activities/pair_context.h"
#include "formats/schema/extended_items.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::activities {
namespace {

constexpr uint8_t kStartOpcode = 1;
constexpr uint8_t kStopOpcode = 2;

// ActivityId of an EVENT_HEADER: etl-format.md 2.6.
constexpr size_t kActivityIdOffset = 64;

Guid ActivityIdOf(const EventHeader& row) {
  if (row.record_size < kActivityIdOffset + sizeof(Guid)) return {};
  return LoadAt<Guid>(row.record, kActivityIdOffset);
}

struct Halves {
  uint64_t low;
  uint64_t high;
};
Halves HalvesOf(const Guid& guid) {
  return {LoadAt<uint64_t>(guid.bytes.data(), 0), LoadAt<uint64_t>(guid.bytes.data(), 8)};
}

PairKey IdKey(const Guid& guid) {
  const Halves halves = HalvesOf(guid);
  return {{halves.low, halves.high, 0, 0}};
}

// GC/Start is the event, GC the activity; FooStart likewise.
std::string_view WithoutOpcode(std::string_view name, std::string_view opcode) {
  if (name.size() <= opcode.size() || !name.ends_with(opcode)) return name;
  name.remove_suffix(opcode.size());
  if (name.size() > 1 && (name.back() == '/' || name.back() == '_')) name.remove_suffix(1);
  return name;
}

class AppPairs final : public PairSource {
 public:
  void Observe(const EventHeader& row, PairContext& context) override {
    if (row.opcode != kStartOpcode && row.opcode != kStopOpcode) return;
    if (row.kind != HeaderKind::kEvent32 && row.kind != HeaderKind::kEvent64) return;
    if (!context.wants(ActivityKind::kApp)) return;
    if (!knows_missing_) AddMissing(context);
    const Guid activity_id = ActivityIdOf(row);
    const bool by_id = activity_id != Guid();
    PairKey key;
    if (by_id) {
      const Halves halves = HalvesOf(activity_id);
      key = MakeKey(KeySpace::kApp, row.provider, row.pid, row.task, halves.low, halves.high);
    } else {
      key = MakeKey(KeySpace::kAppThread, row.provider, row.pid, row.tid, row.task);
    }
    if (row.opcode == kStopOpcode) {
      if (context.Close(key, row, {})) return;
      context.CloseMissing(
          row, {.name = NameOf(row, context), .kind = ActivityKind::kApp, .nests = !by_id, .activity_id = activity_id});
      return;
    }
    ActivityTracker::StartArgs args = PairContext::StartOf(row, NameOf(row, context), ActivityKind::kApp);
    args.nests = !by_id;
    if (row.has(kHasExtended)) {
      const auto related = schema::FindExtendedItem(row, schema::ExtendedType::kRelatedActivityId);
      if (related.size() >= sizeof(Guid)) {
        args.parent = context.by_activity_id().Newest(IdKey(LoadAt<Guid>(related.data(), 0)), context.tracker());
      }
    }
    const OpenActivity begun = context.Open(key, args);
    if (by_id) {
      context.by_activity_id().Add(IdKey(activity_id), begun);
      context.by_activity_id().Sweep(context.tracker());
    }
  }

 private:
  // Activities that began before the trace can be parents like others.
  void AddMissing(PairContext& context) {
    knows_missing_ = true;
    const auto& missing = context.history().missing;
    for (auto start = missing.rbegin(); start != missing.rend(); ++start) {
      if (start->activity_id == Guid()) continue;
      const OpenActivity open = context.tracker().FindMissing(start->id);
      if (open != OpenActivity{}) context.by_activity_id().Add(IdKey(start->activity_id), open);
    }
  }

  uint32_t NameOf(const EventHeader& row, PairContext& context) {
    const schema::EventSchema* schema = context.SchemaOf(row);
    if (generation_ != context.schema_generation()) {
      generation_ = context.schema_generation();
      names_.clear();
    }
    if (schema == nullptr) {
      const Guid& guid = context.trace().provider_guid(row);
      return context.names().Number(row.task != 0 ? fmt::format("{}/Task({})", ToString(guid), row.task)
                                                  : fmt::format("{}/Event({})", ToString(guid), row.id));
    }
    const auto [known, added] = names_.try_emplace(schema, 0);
    if (added) {
      std::string_view name = schema->name;
      name = WithoutOpcode(name, row.opcode == kStartOpcode ? "Start" : "Stop");
      known->second = context.names().Number(fmt::format("{}/{}", schema->provider->name, name));
    }
    return known->second;
  }

  bool knows_missing_ = false;
  uint64_t generation_ = 0;
  std::unordered_map<const schema::EventSchema*, uint32_t> names_;
};

}  // namespace

std::unique_ptr<PairSource> MakeAppPairs() { return std::make_unique<AppPairs>(); }

}  // namespace etwpipe::activities

// Activities of C++ builds: the neutral provider etwpipe.ingest (proto/PROVIDER.md), and what vcperf relogs
// (semantics.md 4.3).
#include <fmt/format.h>

#include <algorithm>

#include "formats/activities/pair_context.h"

namespace etwpipe::activities {
namespace {

constexpr uint8_t kStartOpcode = 1;
constexpr uint8_t kStopOpcode = 2;

class IngestPairs final : public PairSource {
 public:
  void Observe(const EventHeader& row, PairContext& context) override {
    if (row.opcode != kStartOpcode && row.opcode != kStopOpcode) return;
    if (!context.wants(ActivityKind::kBuildInsights)) return;
    facts::RecordFields* fields = context.FieldsOf(row);
    if (fields == nullptr) return;
    const uint64_t instance = fields->Number("Instance").value_or(0);
    const PairKey key = MakeKey(KeySpace::kIngest, 0, 0, 0, instance);
    if (row.opcode == kStopOpcode && context.Close(key, row, {})) return;
    const std::string kind = fields->Text("Kind");
    const std::string entity = fields->Text("Name");
    const uint32_t name = context.names().Number(entity.empty() ? kind : fmt::format("{}: {}", kind, entity));
    if (row.opcode == kStartOpcode) {
      auto args = PairContext::StartOf(row, name, ActivityKind::kBuildInsights);
      args.nests = false;
      context.Open(key, args);
    } else {
      context.CloseMissing(row, {.name = name, .kind = ActivityKind::kBuildInsights});
    }
  }
};

// One event an activity: its time is the start, the stop follows from a duration.
class VcperfActivities final : public PairSource {
 public:
  void Observe(const EventHeader& row, PairContext& context) override {
    constexpr uint8_t kActivity = 20;
    if (row.opcode != kActivity || !context.wants(ActivityKind::kBuildInsights)) return;
    facts::RecordFields* fields = context.FieldsOf(row);
    if (fields == nullptr) return;
    const std::optional<Length> length = LengthOf(row.id, *fields);
    if (!length) return;
    const int64_t frequency = context.trace().info.clock.frequency;
    const auto ticks = static_cast<int64_t>(Int128{length->count} * frequency / length->per_second);
    // Within a timeline activities nest by containment, as far as milliseconds tell.
    const int64_t tolerance = frequency / 1000;
    // A linker that a compiler starts is another process in the same timeline.
    std::vector<Open>& open = timelines_[fields->Number("TimelineId").value_or(0)];
    while (!open.empty() &&
           (!context.tracker().IsOpen(open.back().activity) || open.back().stop + tolerance < row.timestamp + ticks)) {
      open.pop_back();
    }
    auto args = PairContext::StartOf(row, NameOf(*fields, context), ActivityKind::kBuildInsights);
    args.flags = kCoarse;
    if (!open.empty()) args.parent = open.back().activity;
    const OpenActivity begun = context.Begin(args);
    context.tracker().StopAt(begun, row.timestamp + ticks);
    open.push_back({begun, row.timestamp + ticks});
  }

 private:
  struct Length {
    uint64_t count;
    int64_t per_second;
  };
  struct Open {
    OpenActivity activity;
    int64_t stop;
  };

  static std::optional<Length> LengthOf(uint16_t id, facts::RecordFields& fields) {
    constexpr int64_t kMilliseconds = 1000;
    constexpr int64_t kMicroseconds = 1'000'000;
    std::optional<uint64_t> count;
    int64_t per_second = kMilliseconds;
    switch (id) {
      case 0:
      case 1000: count = fields.Number("InclusiveMillisecondDuration"); break;
      case 1500: count = fields.Number("MillisecondDuration"); break;
      case 2000:
        count = fields.Number("MicrosecondDuration");
        per_second = kMicroseconds;
        break;
      default: break;
    }
    if (!count) return std::nullopt;
    return Length{*count, per_second};
  }

  static uint32_t NameOf(facts::RecordFields& fields, PairContext& context) {
    std::string kind = fields.Text("ActivityName");
    if (kind.empty()) kind = "TemplateInstantiation";
    for (const std::string_view entity : {"IncludedPath", "FunctionName", "SpecializationName", "Component"}) {
      const std::string text = fields.Text(entity);
      if (!text.empty()) return context.names().Number(fmt::format("{}: {}", kind, text));
    }
    return context.names().Number(kind);
  }

  std::unordered_map<uint64_t, std::vector<Open>> timelines_;  // by TimelineId
};

}  // namespace

std::unique_ptr<PairSource> MakeIngestPairs() { return std::make_unique<IngestPairs>(); }
std::unique_ptr<PairSource> MakeVcperfActivities() { return std::make_unique<VcperfActivities>(); }

}  // namespace etwpipe::activities

// Activities of the CLR: pairs of events that are told apart by what they are about (semantics.md 5.4).
#include <array>

#include "formats/activities/pair_context.h"

namespace etwpipe::activities {
namespace {

enum class Scope : uint8_t { kProcess, kThread };

// Start and stop of the runtime provider (e13c0d23), and what both have in common.
struct ClrPair {
  std::string_view name;
  uint16_t start;
  uint16_t stop;
  Scope scope;
  std::array<std::string_view, 2> keys{};  // fields
  bool oldest = false;                     // the stop ends the oldest
  bool once = false;                       // a second start of the same key says nothing new
  bool stop_alone = false;                 // a stop without a start is no activity: it has another meaning
};

constexpr ClrPair kPairs[] = {
    // Some runtimes write two versions of GCStart.
    {.name = "GC", .start = 1, .stop = 2, .scope = Scope::kProcess, .keys = {"ClrInstanceID", "Count"}, .once = true},
    {.name = "GC/Suspension", .start = 9, .stop = 3, .scope = Scope::kProcess, .oldest = true},
    // Loads of precompiled code have no start.
    {.name = "JIT",
     .start = 145,
     .stop = 143,
     .scope = Scope::kThread,
     .keys = {"MethodID"},
     .oldest = true,
     .stop_alone = true},
    {.name = "JIT",
     .start = 145,
     .stop = 141,
     .scope = Scope::kThread,
     .keys = {"MethodID"},
     .oldest = true,
     .stop_alone = true},
    {.name = "Exception", .start = 80, .stop = 256, .scope = Scope::kThread},
    {.name = "Exception/Catch", .start = 250, .stop = 251, .scope = Scope::kThread},
    {.name = "Exception/Finally", .start = 252, .stop = 253, .scope = Scope::kThread},
    {.name = "Exception/Filter", .start = 254, .stop = 255, .scope = Scope::kThread},
    {.name = "Contention", .start = 81, .stop = 91, .scope = Scope::kThread},
    {.name = "TypeLoad",
     .start = 73,
     .stop = 74,
     .scope = Scope::kProcess,
     .keys = {"ClrInstanceID", "TypeLoadStartID"}},
    {.name = "R2REntryPoint",
     .start = 160,
     .stop = 159,
     .scope = Scope::kThread,
     .keys = {"MethodID"},
     .stop_alone = true},
    {.name = "Tiering", .start = 283, .stop = 284, .scope = Scope::kProcess, .keys = {"ClrInstanceID"}},
    {.name = "AssemblyLoad", .start = 290, .stop = 291, .scope = Scope::kThread},
};

constexpr uint16_t kExceptionThrown = 80;
constexpr uint16_t kMaxId = 291;

class ClrPairs final : public PairSource {
 public:
  ClrPairs() {
    for (const ClrPair& pair : kPairs) {
      is_one_[pair.start] = true;
      is_one_[pair.stop] = true;
    }
  }

  void Observe(const EventHeader& row, PairContext& context) override {
    if (row.id > kMaxId || !is_one_[row.id] || !context.wants(ActivityKind::kClr)) return;
    if (row.kind != HeaderKind::kEvent32 && row.kind != HeaderKind::kEvent64) return;
    // Older runtimes do not say when an exception has been handled.
    if (row.id == kExceptionThrown && !context.first_walk() && !context.history().exceptions_stop.contains(row.pid)) {
      return;
    }
    for (size_t i = 0; i < std::size(kPairs); ++i) {
      const ClrPair& pair = kPairs[i];
      if (row.id == pair.start) {
        Start(row, pair, context);
        return;
      }
      if (row.id == pair.stop) {
        Stop(row, pair, context);
        return;
      }
    }
  }

 private:
  static PairKey KeyOf(const EventHeader& row, const ClrPair& pair, PairContext& context) {
    std::array<uint64_t, 2> values{};
    if (!pair.keys[0].empty()) {
      if (facts::RecordFields* fields = context.FieldsOf(row)) {
        for (size_t i = 0; i < values.size(); ++i) {
          if (!pair.keys[i].empty()) values[i] = fields->Number(pair.keys[i]).value_or(0);
        }
      }
    }
    return MakeKey(KeySpace::kClr, pair.start, row.pid, pair.scope == Scope::kThread ? row.tid : 0, values[0],
                   values[1]);
  }

  static void Start(const EventHeader& row, const ClrPair& pair, PairContext& context) {
    const PairKey key = KeyOf(row, pair, context);
    if (pair.once && context.table().Newest(key, context.tracker()) != OpenActivity{}) return;
    auto args = PairContext::StartOf(row, context.names().Number(pair.name), ActivityKind::kClr);
    args.nests = pair.scope == Scope::kThread;
    context.Open(key, args);
  }

  static void Stop(const EventHeader& row, const ClrPair& pair, PairContext& context) {
    if (context.Close(KeyOf(row, pair, context), row, {.oldest = pair.oldest}) || pair.stop_alone) return;
    context.CloseMissing(
        row,
        {.name = context.names().Number(pair.name), .kind = ActivityKind::kClr, .nests = pair.scope == Scope::kThread});
  }

  std::array<bool, kMaxId + 1> is_one_{};
};

}  // namespace

std::unique_ptr<PairSource> MakeClrPairs() { return std::make_unique<ClrPairs>(); }

}  // namespace etwpipe::activities

// Calls of functions, as the provider etwpipe.profiler tells of them (proto/PROVIDER.md).
#include <fmt/format.h>

#include "formats/activities/pair_context.h"
#include "formats/facts/method_table.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::activities {
namespace {

constexpr uint16_t kEnter = 1;
constexpr uint16_t kTailcall = 3;

class Calls final : public PairSource {
 public:
  void Observe(const EventHeader& row, PairContext& context) override {
    if (row.id < kEnter || row.id > kTailcall || !context.wants(ActivityKind::kApp)) return;
    if (row.payload().size() < sizeof(uint64_t)) return;
    const auto function = LoadAt<uint64_t>(row.payload().data(), 0);
    const PairKey key = MakeKey(KeySpace::kCall, 0, row.pid, row.tid, function);
    if (row.id == kEnter) {
      auto args = PairContext::StartOf(row, NameOf(row, function, context), ActivityKind::kApp);
      args.strict = true;
      context.Open(key, args);
    } else if (!context.Close(key, row, {.ends_inner = true})) {
      context.CloseMissing(row,
                           {.name = NameOf(row, function, context), .kind = ActivityKind::kApp, .ends_inner = true});
    }
  }

 private:
  struct Key {
    uint64_t function;
    uint32_t pid;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.function ^ uint64_t{key.pid} << 40) * 0x9E3779B97F4A7C15u >> 16);
    }
  };

  // The FunctionID of a profiler is the MethodID of the runtime (semantics.md 5.4).
  uint32_t NameOf(const EventHeader& row, uint64_t function, PairContext& context) {
    const auto known = names_.find({function, row.pid});
    if (known != names_.end()) return known->second;
    const auto* methods = context.trace().facts->Get<facts::MethodTable>();
    uint32_t name = 0;
    const facts::MethodHit hit =
        methods == nullptr ? facts::MethodHit() : methods->FindId(row.pid, std::nullopt, function, row.timestamp);
    if (hit.method != nullptr && hit.method->named()) {
      name = context.names().Number(facts::FullName(*hit.method), hit.method->module());
    } else {
      name = context.names().Number(fmt::format("0x{:x}", function));
    }
    names_.emplace(Key{function, row.pid}, name);
    return name;
  }

  std::unordered_map<Key, uint32_t, Hash> names_;
};

}  // namespace

std::unique_ptr<PairSource> MakeCalls() { return std::make_unique<Calls>(); }

}  // namespace etwpipe::activities

// Activities in one pass: events a second on one core, and the memory they take.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "formats/activities/activity_walk.h"
#include "pipeline/guid.h"

namespace etwpipe::activities {
namespace {

constexpr uint32_t kThreads = 64;
constexpr size_t kEvents = 10'000'000;
constexpr size_t kDepth = 16;

class Counter : public ActivityListener {
 public:
  void OnStop(const Activity& activity) override {
    ++stopped;
    sum += activity.exclusive_responsibility;
  }
  uint64_t stopped = 0;
  int64_t sum = 0;
};

// Starts and stops that nest on 64 threads, each of which goes up and down at random.
class Rows {
 public:
  Rows(TraceContext& trace, bool calls) : calls_(calls) {
    provider_ = *trace.providers->Intern(calls ? ProviderGuidFromName("etwpipe.profiler")
                                               : ProviderGuidFromName("Contoso-Orders"));
    for (size_t thread = 0; thread < kThreads; ++thread) {
      for (size_t depth = 0; depth < kDepth; ++depth) {
        // ActivityId at 64, FunctionID behind the header of 80 bytes.
        auto& record = records_[thread * kDepth + depth];
        const uint64_t id = 1 + thread * kDepth + depth;
        std::memcpy(record.data() + 64, &id, sizeof id);
        std::memcpy(record.data() + 80, &id, sizeof id);
      }
    }
  }

  const EventHeader& Next() {
    const auto thread = static_cast<uint32_t>(random_() % kThreads);
    size_t& depth = depths_[thread];
    const bool start = depth == 0 || (depth < kDepth && (random_() & 1) != 0);
    if (!start) --depth;
    row_.record = records_[thread * kDepth + depth].data();
    if (start) ++depth;
    row_.record_size = 88;
    row_.extended_begin = row_.payload_begin = 80;
    row_.kind = HeaderKind::kEvent64;
    row_.flags = kHasPid | kHasTimestamp | kHasProvider | kPointer64;
    row_.provider = provider_;
    row_.pid = 100 + thread % 4;
    row_.tid = 1000 + 4 * thread;
    row_.cpu = static_cast<uint16_t>(thread % 8);
    row_.timestamp += 1 + static_cast<int64_t>(random_() % 8);
    row_.instance_id += 8;
    row_.task = 1;
    row_.id = start ? 1 : 2;
    row_.opcode = calls_ ? 0 : start ? 1 : 2;
    return row_;
  }

 private:
  bool calls_;
  ProviderIndex provider_ = 0;
  std::mt19937_64 random_{1};
  std::array<size_t, kThreads> depths_{};
  std::vector<std::array<std::byte, 88>> records_{kThreads * kDepth};
  EventHeader row_;
};

void Walk(benchmark::State& state, bool calls) {
  TraceContext trace;
  const ActivityOptions options;
  for (auto _ : state) {
    Rows rows(trace, calls);
    ActivityHistory history;
    history.trace_start = 0;
    Counter counter;
    ActivityWalk walk(trace, options, history, &counter);
    size_t most_open = 0;
    for (size_t i = 0; i < kEvents; ++i) {
      walk.Observe(rows.Next());
      most_open = std::max(most_open, walk.tracker().open());
    }
    walk.Finish();
    if (counter.sum != walk.tracker().covered()) state.SkipWithError("responsibilities do not add up");
    state.counters["most_open"] = static_cast<double>(most_open);
    benchmark::DoNotOptimize(counter.stopped);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kEvents));
}

void BM_StartsAndStops(benchmark::State& state) { Walk(state, false); }
void BM_Calls(benchmark::State& state) { Walk(state, true); }
BENCHMARK(BM_StartsAndStops)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Calls)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace etwpipe::activities

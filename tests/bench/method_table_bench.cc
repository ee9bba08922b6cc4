// Lookups of methods: how many a second, how many bytes a method. The limits are 5 M a second and 400 bytes.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "formats/facts/method_table.h"

namespace etwpipe::facts {
namespace {

constexpr uint32_t kMethods = 1'000'000;
constexpr uint32_t kPid = 100;
constexpr uint64_t kFirstId = 0x7FFA00000000;
constexpr uint64_t kFirstAddress = 0x7FFB00000000;
constexpr uint32_t kStride = 256;
constexpr uint32_t kInHeap = 5000;  // methods of one code heap; heaps are far apart
constexpr int64_t kSecond = 10'000'000;

uint64_t AddressOf(uint32_t method) {
  return kFirstAddress + method * uint64_t{kStride} + method / kInHeap * (uint64_t{16} << 20);
}

// Names like those of real programs: types have methods in common, signatures repeat.
MethodTable MakeTable() {
  MethodRecords told;
  std::mt19937 random(1);
  for (uint32_t i = 0; i < kMethods; ++i) {
    MethodRecord& record = told.records.emplace_back();
    record.timestamp = static_cast<int64_t>(random() % 100) * kSecond;
    record.id = i + 1;
    record.pid = kPid + i % 4;
    record.clr_instance = 9;
    record.method_id = kFirstId + i * uint64_t{40};
    record.start_address = AddressOf(i);
    record.size = 200;
    record.flags = kMethodJitted;
    StringPool& strings = *told.strings;
    record.names = {
        strings.Intern("Contoso.Application.Area" + std::to_string(i % 300) + ".Type" + std::to_string(i / 12)),
        strings.Intern("Method" + std::to_string(i % 20'000)),
        strings.Intern("instance void  (class Contoso.Type" + std::to_string(i % 5'000) + ",int32)")};
  }
  return MethodTable::Build(std::move(told), nullptr, nullptr, kSecond / 100);
}

const MethodTable& Table() {
  static const MethodTable kTable = MakeTable();
  return kTable;
}

// What is asked for is drawn beforehand, so that drawing is not measured.
std::vector<uint32_t> Draw() {
  std::mt19937 random(2);
  std::vector<uint32_t> drawn(1 << 20);
  for (auto& number : drawn) number = static_cast<uint32_t>(random() % kMethods);
  return drawn;
}

void FindAddress(benchmark::State& state) {
  const MethodTable& table = Table();
  const auto drawn = Draw();
  size_t at = 0;
  for (auto _ : state) {
    const uint32_t i = drawn[at++ & (drawn.size() - 1)];
    benchmark::DoNotOptimize(table.FindAddress(kPid + i % 4, AddressOf(i) + 17, 200 * kSecond));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes/method"] = static_cast<double>(table.memory()) / kMethods;
}
// As many as a long profile has samples and frames.
BENCHMARK(FindAddress)->Iterations(50'000'000);

void FindId(benchmark::State& state) {
  const MethodTable& table = Table();
  const auto drawn = Draw();
  size_t at = 0;
  for (auto _ : state) {
    const uint32_t i = drawn[at++ & (drawn.size() - 1)];
    benchmark::DoNotOptimize(table.FindId(kPid + i % 4, 9, kFirstId + i * uint64_t{40}, 200 * kSecond));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(FindId);

void Build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MakeTable());
  state.SetItemsProcessed(state.iterations() * kMethods);
}
BENCHMARK(Build)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace etwpipe::facts

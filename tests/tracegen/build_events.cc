#include "tests/tracegen/build_events.h"

#include <algorithm>
#include <array>

#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

constexpr std::string_view kProviderName = "etwpipe.ingest";
constexpr uint64_t kPlantedPercent = 80;  // of the trace
constexpr std::string_view kPlantedName = "C:\\Users\\build\\source\\billing\\src\\everything.h";

/// Build activities with the event ids of semantics.md 4.1, and what may run inside each.
struct Level {
  std::string_view name;
  uint16_t event_id;
  std::array<size_t, 2> children;  // indices; itself if it has none
};
constexpr std::array<Level, 8> kLevels = {{{"Compiler", 7, {1, 2}},
                                           {"FrontEndPass", 14, {3, 3}},
                                           {"BackEndPass", 1, {4, 4}},
                                           {"FrontEndFile", 13, {3, 5}},
                                           {"C2Dll", 4, {6, 6}},
                                           {"TemplateInstantiation", 28, {5, 5}},
                                           {"CodeGeneration", 5, {7, 7}},
                                           {"Function", 15, {7, 7}}}};
constexpr size_t kCompiler = 0;
constexpr size_t kFrontEndFile = 3;
constexpr size_t kFunction = 7;
constexpr size_t kMaxDepth = 8;
constexpr uint16_t kFileInput = 11;
constexpr uint16_t kSymbolName = 27;
constexpr size_t kTemplateInstantiation = 5;

etl::TraceLoggingSchema MakeSchema(std::string_view event) {
  using In = etl::InType;
  etl::TraceLoggingSchema schema(event);
  schema.Field("EventId", In::kUint16).Field("Instance", In::kUint64);
  schema.Field("Kind", In::kAnsiString, etl::OutType::kUtf8).Field("Name", In::kAnsiString, etl::OutType::kUtf8);
  return schema;
}

enum Code : uint32_t { kStop, kStartChild };

EventKind MakeKind(uint8_t opcode) {
  EventKind kind;
  kind.fields.provider = ProviderGuidFromName(kProviderName);
  kind.fields.channel = etl::kTraceLoggingChannel;
  kind.fields.level = 4;
  kind.fields.opcode = opcode;
  return kind;
}

}  // namespace

BuildEvents::BuildEvents(Simulation& simulation)
    : sim_(simulation),
      longest_(static_cast<int64_t>(std::clamp<uint64_t>(simulation.options.size / 100, 10'000, 4'000'000))),
      max_roots_(simulation.options.scenario == Scenario::kBuild ? simulation.options.processors : 1),
      schema_(MakeSchema("Activity")),
      file_schema_(MakeSchema("Simple").Field("TypeCode", etl::InType::kInt32)),
      symbol_schema_(MakeSchema("Simple").Field("Key", etl::InType::kUint64)),
      traits_(etl::ProviderTraits(kProviderName)),
      start_(MakeKind(1)),
      stop_(MakeKind(2)),
      simple_(MakeKind(0)) {
  for (int i = 0; i < 500; ++i) {
    files_.push_back(MakeSourcePath(sim_.random));
    std::string symbol = MakeNamespace(sim_.random) + "::";
    symbol += MakeMethodName(sim_.random);
    symbols_.push_back(std::move(symbol));
  }
}

void BuildEvents::Step() {
  StepPlanted();
  if (roots_ == max_roots_) return;
  const Process& process = sim_.world.processes[sim_.world.PickProcess(sim_.random)];
  const ThreadIndex thread = process.threads[sim_.random.Index(process.threads.size())];
  // In processes that do not end: no activity lacks its stop, save at the end of the trace.
  if (!process.boot || sim_.world.threads[thread].reserved) return;
  sim_.world.threads[thread].reserved = true;
  const int64_t duration = 2000 + sim_.random.Skewed(static_cast<uint32_t>(longest_));
  ++roots_;
  Start(thread, kCompiler, duration, sim_.random.Pick(files_));
}

void BuildEvents::StepPlanted() {
  if (sim_.truth.planted) {
    const bool runs = sim_.truth.planted->stop == 0;
    if (runs && sim_.writer.projected_size() / kPlantedPercent >= sim_.options.size / 100) Stop(planted_thread_);
    return;
  }
  const Process& process = sim_.world.processes[sim_.world.living().front()];
  const ThreadIndex thread = process.threads.front();
  if (sim_.world.threads[thread].reserved) return;
  planted_thread_ = thread;
  sim_.world.threads[thread].reserved = true;
  Start(thread, kFrontEndFile, 0, std::string(kPlantedName));
}

void BuildEvents::End() {
  if (sim_.truth.planted && sim_.truth.planted->stop == 0) Stop(planted_thread_);
}

void BuildEvents::Start(ThreadIndex thread, size_t what, int64_t duration, const std::string& name) {
  if (stacks_.size() <= thread) stacks_.resize(thread + 1);
  const uint16_t cpu = sim_.Run(thread);
  Open open;
  open.instance = next_instance_++;
  open.what = what;
  open.planted = name == kPlantedName;
  Emit(start_, cpu, open, name);
  const int64_t ticks = sim_.world.threads[thread].last_ticks;
  // A child ends before its parent, also when it was late to start.
  const Stack& outer = stacks_[thread];
  open.stop_after = outer.empty() ? ticks + duration : std::min(ticks + duration, outer.back().stop_after - 1);
  open.truth = sim_.truth.activities.Add({.provider = std::string(kProviderName),
                                          .name = name,
                                          .pid = sim_.RunningProcess(cpu).pid,
                                          .tid = sim_.RunningThread(cpu).tid,
                                          .start = ticks,
                                          .stop = {},
                                          .activity = {},
                                          .parent = {},
                                          .instance = open.instance});
  if (open.planted) {
    sim_.truth.planted = PlantedTruth{.name = name, .instance = open.instance, .start = ticks, .stop = 0};
  }
  if (sim_.options.scenario == Scenario::kBuild) EmitDetails(cpu, open);
  stacks_[thread].push_back(open);
  if (open.planted) return;  // see StepPlanted()
  sim_.Schedule(*this, open.stop_after, kStop, thread);
  if (what != kFunction) sim_.Schedule(*this, ticks + 10 + duration / 20, kStartChild, thread);
}

void BuildEvents::EmitDetails(uint16_t cpu, const Open& open) {
  if (open.what == kCompiler) {
    EmitSimple(cpu, file_schema_, kFileInput, "FileInput", sim_.random.Pick(files_), int32_t{0});
  } else if (open.what == kTemplateInstantiation) {
    EmitSimple(cpu, symbol_schema_, kSymbolName, "SymbolName", sim_.random.Pick(symbols_), 0x1000 + open.instance);
  }
}

template <typename Number>
void BuildEvents::EmitSimple(uint16_t cpu, const etl::TraceLoggingSchema& schema, uint16_t event_id,
                             std::string_view kind, const std::string& name, Number number) {
  const std::array<etl::ExtendedItem, 2> items = {etl::ExtendedItem{etl::kExtProviderTraits, traits_},
                                                  etl::ExtendedItem{etl::kExtSchemaTl, schema.metadata()}};
  simple_.fields.items = items;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(event_id).Add(uint64_t{0}).AddAnsi(kind).AddAnsi(name).Add(number);
  sim_.Emit(simple_, cpu, payload);
  simple_.fields.items = {};
}

void BuildEvents::Resume(uint32_t code, uint64_t a, uint64_t) {
  const auto thread = static_cast<ThreadIndex>(a);
  if (code == kStop) return Stop(thread);
  const Stack& stack = stacks_[thread];
  // The parent may be over already when it had to end early.
  if (stack.empty() || stack.size() >= kMaxDepth) return;
  const int64_t left = stack.back().stop_after - sim_.now - 200;
  if (left < 400) return;
  const size_t child = sim_.random.Pick(kLevels[stack.back().what].children);
  const bool has_file = child <= kFrontEndFile;
  const int64_t duration = 100 + sim_.random.Below(static_cast<uint32_t>(std::min<int64_t>(left, 20'000'000))) / 2;
  Start(thread, child, duration, sim_.random.Pick(has_file ? files_ : symbols_));
}

void BuildEvents::Stop(ThreadIndex thread) {
  Stack& stack = stacks_[thread];
  const Open open = stack.back();
  stack.pop_back();
  Emit(stop_, sim_.Run(thread), open, "");
  const int64_t ticks = sim_.world.threads[thread].last_ticks;
  if (ActivityTruth* truth = sim_.truth.activities.Find(open.truth)) truth->stop = ticks;
  if (open.planted) sim_.truth.planted->stop = ticks;
  if (stack.empty()) {
    sim_.world.threads[thread].reserved = false;
    if (!open.planted) --roots_;
    return;
  }
  // The next sibling.
  if (stack.back().stop_after - sim_.now > 2000 && sim_.random.Chance(80)) {
    const auto range = static_cast<uint32_t>(longest_ / 50);
    sim_.Schedule(*this, sim_.now + 50 + sim_.random.Below(range), kStartChild, thread);
  }
}

void BuildEvents::Emit(EventKind& kind, uint16_t cpu, const Open& open, const std::string& name) {
  const std::array<etl::ExtendedItem, 2> items = {etl::ExtendedItem{etl::kExtProviderTraits, traits_},
                                                  etl::ExtendedItem{etl::kExtSchemaTl, schema_.metadata()}};
  kind.fields.items = items;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(kLevels[open.what].event_id).Add(open.instance).AddAnsi(kLevels[open.what].name).AddAnsi(name);
  sim_.Emit(kind, cpu, payload);
  kind.fields.items = {};
}

}  // namespace etwpipe::tracegen

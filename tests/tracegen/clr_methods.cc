#include "tests/tracegen/clr_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

constexpr ClrProvider kR = ClrProvider::kRuntime;
constexpr ClrProvider kRd = ClrProvider::kRundown;
constexpr uint16_t kTaskMethod = 9;
constexpr uint16_t kTaskLoader = 10;
constexpr uint16_t kTaskRuntime = 19;
constexpr uint16_t kTaskMethodRundown = 1;
constexpr uint16_t kTaskLoaderRundown = 2;
constexpr uint64_t kJitKeyword = 0x10;
constexpr uint64_t kMethodKeywords = 0x30;
constexpr uint64_t kLoaderKeyword = 0x8;
constexpr uint64_t kModuleKeywords = 0x20000008;
constexpr uint64_t kMapKeyword = 0x20000;
constexpr uint64_t kMarkKeywords = 0x20038;

// MethodFlags, semantics.md 6.2.
constexpr uint32_t kFlagDynamic = 0x1;
constexpr uint32_t kFlagGeneric = 0x2;
constexpr uint32_t kFlagJitted = 0x8;
constexpr int kTierShift = 7;
constexpr uint32_t kTierMask = 0x7u << kTierShift;
constexpr uint32_t kTierQuickJitted = 3;
constexpr uint32_t kTierOptimized1 = 4;

constexpr size_t kNamePool = 600;
constexpr uint64_t kBytesPerMethod = 420;
constexpr uint64_t kBytesPerModule = 1100;
constexpr size_t kModules = 5;

/// Processes of planned cases bring their own runtimes.
bool HasCode(const Process& process) { return process.managed && !process.planned; }

}  // namespace

ClrMethods::ClrMethods(Simulation& simulation)
    : sim_(simulation),
      max_methods_(std::clamp<size_t>(static_cast<size_t>(simulation.options.size >> 16), 20, 4000)),
      load_{{kR, 187, 0, 1, kTaskRuntime, 0},
            {kR, 156, 1, 41, kTaskLoader, kLoaderKeyword},
            {kR, 154, 1, 37, kTaskLoader, kLoaderKeyword},
            {kR, 152, 2, 33, kTaskLoader, kModuleKeywords},
            {kR, 151, 1, 45, kTaskLoader, kLoaderKeyword}},
      dc_start_{{kRd, 187, 0, 1, kTaskRuntime, 0},
                {kRd, 157, 1, 43, kTaskLoaderRundown, kLoaderKeyword},
                {kRd, 155, 1, 39, kTaskLoaderRundown, kLoaderKeyword},
                {kRd, 153, 2, 35, kTaskLoaderRundown, kModuleKeywords},
                {kRd, 151, 1, 46, kTaskLoaderRundown, kLoaderKeyword}},
      dc_end_{{kRd, 187, 0, 1, kTaskRuntime, 0},
              {kRd, 158, 1, 44, kTaskLoaderRundown, kLoaderKeyword},
              {kRd, 156, 1, 40, kTaskLoaderRundown, kLoaderKeyword},
              {kRd, 154, 2, 36, kTaskLoaderRundown, kModuleKeywords},
              {kRd, 152, 1, 47, kTaskLoaderRundown, kLoaderKeyword}},
      jit_start_(kR, 145, 1, 42, kTaskMethod, kJitKeyword, 5),
      method_load_(kR, 141, 2, 33, kTaskMethod, kMethodKeywords),
      method_load_verbose_(kR, 143, 2, 37, kTaskMethod, kMethodKeywords),
      method_unload_verbose_(kR, 144, 2, 38, kTaskMethod, kMethodKeywords),
      il_map_(kR, 190, 0, 87, kTaskMethod, kMapKeyword, 5),
      dc_start_verbose_(kRd, 143, 2, 39, kTaskMethodRundown, kMethodKeywords),
      dc_end_verbose_(kRd, 144, 2, 40, kTaskMethodRundown, kMethodKeywords),
      dc_end_method_(kRd, 142, 2, 36, kTaskMethodRundown, kMethodKeywords),
      dc_end_map_(kRd, 150, 0, 42, kTaskMethodRundown, kMapKeyword, 5),
      dc_start_init_(kRd, 147, 1, 16, kTaskMethodRundown, kMarkKeywords),
      dc_start_complete_(kRd, 145, 1, 14, kTaskMethodRundown, kMarkKeywords),
      dc_end_init_(kRd, 148, 1, 17, kTaskMethodRundown, kMarkKeywords),
      dc_end_complete_(kRd, 146, 1, 15, kTaskMethodRundown, kMarkKeywords) {
  for (size_t i = 0; i < kNamePool; ++i) {
    type_names_.push_back(Wide(MakeFullTypeName(sim_.random)));
    method_names_.push_back(Wide(MakeMethodName(sim_.random)));
    signatures_.push_back(Wide(MakeSignature(sim_.random)));
  }
}

void ClrMethods::Begin() {
  for (const ProcessIndex process : sim_.world.living()) {
    if (!HasCode(sim_.world.processes[process])) continue;
    MakeRuntime(process);
    ClrRuntime& runtime = runtimes_.at(process);
    const size_t count = max_methods_ / 4 + sim_.random.Index(max_methods_ / 4);
    for (size_t i = 0; i < count; ++i) {
      ClrMethod method = MakeMethod(runtime);
      method.truth = AddTruth(process, method);
      runtime.methods.push_back(method);
      ++live_methods_;
    }
    // Some sessions start without rundown: their methods are named at the end only.
    if (sim_.random.Chance(60)) EmitRundown(process, false);
  }
}

void ClrMethods::MakeRuntime(ProcessIndex index) {
  const Process& process = sim_.world.processes[index];
  ClrRuntime runtime;
  runtime.desktop = process.image == "w3wp.exe" || process.pointer32;
  const uint64_t base = process.pointer32 ? 0x08000000 : 0x00007FFA10000000;
  runtime.app_domain = base + 0x1000 + sim_.random.Below(0x1000) * 8;
  runtime.next_id = base + 0x100000;
  runtime.next_code = base + 0x2000000;
  for (size_t i = 0; i < kModules; ++i) {
    ClrModule module;
    const std::string name = MakeNamespace(sim_.random);
    module.id = runtime.next_id;
    module.assembly = runtime.app_domain + 0x100 * (i + 1);
    module.assembly_name =
        Wide(fmt::format("{}, Version=6.0.0.0, Culture=neutral, PublicKeyToken=b03f5f7f11d50a3a", name));
    module.il_path = Wide(fmt::format("C:\\Program Files\\Contoso\\bin\\{}.dll", name));
    module.pdb_path = Wide(fmt::format("C:\\build\\obj\\Release\\{}.pdb", name));
    module.pdb_guid = sim_.random.NextGuid();
    runtime.next_id += 0x4000;
    runtime.modules.push_back(std::move(module));
  }
  runtimes_.emplace(index, std::move(runtime));
  managed_.push_back(index);
}

ClrMethod ClrMethods::MakeMethod(ClrRuntime& runtime) {
  ClrMethod method;
  method.id = runtime.next_id;
  runtime.next_id += 8 * static_cast<uint64_t>(sim_.random.Between(1, 6));
  method.token = 0x06000000 + sim_.random.Below(40000);
  // One method per token, so that a token can lend its name to a record without one.
  if (sim_.options.scenario == Scenario::kClr) method.token = 0x06000000 + (++next_token_ & 0xFFFFFF);
  method.module = static_cast<uint32_t>(sim_.random.Index(runtime.modules.size()));
  // A type has several methods: names of types repeat more than those of methods.
  method.type_name = sim_.random.Skewed(kNamePool);
  method.method_name = sim_.random.Below(kNamePool);
  method.signature = sim_.random.Skewed(kNamePool);
  method.flags = kFlagJitted | (runtime.desktop ? 0 : kTierQuickJitted << kTierShift);
  if (sim_.random.Chance(10)) method.flags |= kFlagGeneric;
  if (sim_.random.Chance(3)) method.flags |= kFlagDynamic;
  method.size = 32 + sim_.random.Skewed(2000);
  method.address = PlaceCode(runtime, method.size);
  return method;
}

uint64_t ClrMethods::PlaceCode(ClrRuntime& runtime, uint32_t size) {
  const uint64_t address = runtime.next_code;
  runtime.next_code += (size + 31) & ~31u;
  return address;
}

uint32_t ClrMethods::AddTruth(ProcessIndex process, const ClrMethod& method) {
  BoundedList<MethodTruth>& list = sim_.truth.code.methods;
  if (list.full()) {
    list.AddUnkept();
    return BoundedList<MethodTruth>::kNotKept;
  }
  const auto narrow = [](const std::u16string& wide) { return std::string(wide.begin(), wide.end()); };
  return list.Add({.process = process,
                   .pid = sim_.world.processes[process].pid,
                   .clr_instance = kClrInstance,
                   .method_id = method.id,
                   .method_namespace = narrow(type_names_[method.type_name]),
                   .name = narrow(method_names_[method.method_name]),
                   .signature = narrow(signatures_[method.signature]),
                   .start = method.address,
                   .size = method.size,
                   .flags = method.flags,
                   .from = {},
                   .to = {},
                   .learnt_by = {}});
}

void ClrMethods::Tell(const ClrMethod& method, std::string_view event, bool names) {
  MethodTruth* truth = sim_.truth.code.methods.Find(method.truth);
  if (truth == nullptr) return;
  if (truth->learnt_by.empty()) truth->learnt_by = event;
  truth->verbose |= names;
}

void ClrMethods::AddReference(std::string_view event, int64_t ticks, uint16_t cpu, uint64_t method_id) {
  const Thread& thread = sim_.RunningThread(cpu);
  sim_.truth.code.AddCommon({.event = event,
                             .story = {},
                             .ticks = ticks,
                             .cpu = cpu,
                             .process = thread.process,
                             .pid = sim_.world.processes[thread.process].pid,
                             .tid = thread.tid,
                             .kind = ReferenceKind::kId,
                             .clr_instance = kClrInstance,
                             .value = method_id,
                             .outcome = {}});
}

ProcessIndex ClrMethods::PickManaged() {
  return managed_.empty() ? World::kIdleProcess : managed_[sim_.random.Index(managed_.size())];
}

const ClrRuntime* ClrMethods::Find(ProcessIndex process) const {
  const auto found = runtimes_.find(process);
  return found == runtimes_.end() ? nullptr : &found->second;
}

ThreadIndex ClrMethods::PickFreeThread(ProcessIndex process) {
  const std::vector<ThreadIndex>& threads = sim_.world.processes[process].threads;
  const ThreadIndex thread = threads[sim_.random.Index(threads.size())];
  return sim_.world.threads[thread].reserved ? World::kIdleThread : thread;
}

uint64_t ClrMethods::PickCode(ProcessIndex process) {
  const ClrRuntime* runtime = Find(process);
  return runtime == nullptr ? 0 : PickCode(*runtime);
}

uint64_t ClrMethods::PickCode(const ClrRuntime& runtime) {
  if (runtime.methods.empty()) return 0;
  const ClrMethod& method = runtime.methods[sim_.random.Skewed(static_cast<uint32_t>(runtime.methods.size()))];
  return method.address + sim_.random.Below(method.size);
}

void ClrMethods::Step() {
  const ProcessIndex process = PickManaged();
  if (process == World::kIdleProcess) return;
  ClrRuntime& runtime = runtimes_.at(process);
  const bool crowded = runtime.methods.size() >= max_methods_;
  if (!runtime.methods.empty() && sim_.random.Chance(crowded ? 60 : 8)) return Unload(process);
  if (runtime.desktop || runtime.methods.empty() || sim_.random.Chance(60)) {
    return StartJit(process, MakeMethod(runtime));
  }
  // Tier 1: new code for the same method, the old one stays.
  ClrMethod method = sim_.random.Pick(runtime.methods);
  if (method.tier() != kTierQuickJitted) return;
  method.flags = (method.flags & ~kTierMask) | kTierOptimized1 << kTierShift;
  method.size = 32 + method.size / 2;
  method.address = PlaceCode(runtime, method.size);
  StartJit(process, method);
}

void ClrMethods::StartJit(ProcessIndex index, const ClrMethod& method) {
  const ThreadIndex thread = PickFreeThread(index);
  if (thread == World::kIdleThread) return;
  const Process& process = sim_.world.processes[index];
  ClrRuntime& runtime = runtimes_.at(index);
  const uint16_t cpu = sim_.Run(thread);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(method.id).Add(runtime.modules[method.module].id).Add(method.token).Add(method.size / 2);
  payload.AddUnicode(type_names_[method.type_name]).AddUnicode(method_names_[method.method_name]);
  payload.AddUnicode(signatures_[method.signature]).Add(kClrInstance);
  const int64_t started = sim_.Emit(jit_start_.For(process), cpu, payload);
  sim_.world.threads[thread].reserved = true;
  runtime.compiling.push_back(method);
  sim_.Schedule(*this, started + 500 + sim_.random.Skewed(30'000), 0, thread, method.address);
}

void ClrMethods::Resume(uint32_t, uint64_t thread, uint64_t address) {
  FinishJit(static_cast<ThreadIndex>(thread), address);
}

void ClrMethods::FinishJit(ThreadIndex thread, uint64_t address) {
  Thread& compiler = sim_.world.threads[thread];
  if (!compiler.alive) return;
  compiler.reserved = false;
  const Process& process = sim_.world.processes[compiler.process];
  ClrRuntime& runtime = runtimes_.at(compiler.process);
  const auto found = std::find_if(runtime.compiling.begin(), runtime.compiling.end(),
                                  [address](const ClrMethod& method) { return method.address == address; });
  ClrMethod method = *found;
  runtime.compiling.erase(found);
  const uint16_t cpu = sim_.Run(thread);
  std::optional<int64_t> mapped;
  if (sim_.random.Chance(50)) mapped = EmitMap(il_map_, cpu, process, method);
  const bool names = sim_.random.Chance(92);
  EmitMethod(names ? method_load_verbose_ : method_load_, cpu, process, runtime, method, names);
  method.truth = AddTruth(compiler.process, method);
  Tell(method, names ? "MethodLoadVerbose" : "MethodLoad", names);
  if (MethodTruth* truth = sim_.truth.code.methods.Find(method.truth)) {
    truth->from = compiler.last_ticks;
    truth->jitting = true;
  }
  if (mapped) AddReference("MethodILToNativeMap", *mapped, cpu, method.id);
  runtime.methods.push_back(method);
  ++live_methods_;
}

void ClrMethods::Unload(ProcessIndex index) {
  const ThreadIndex thread = PickFreeThread(index);
  if (thread == World::kIdleThread) return;
  ClrRuntime& runtime = runtimes_.at(index);
  const size_t victim = sim_.random.Index(runtime.methods.size());
  const ClrMethod method = runtime.methods[victim];
  runtime.methods[victim] = runtime.methods.back();
  runtime.methods.pop_back();
  --live_methods_;
  const uint16_t cpu = sim_.Run(thread);
  EmitMethod(method_unload_verbose_, cpu, sim_.world.processes[index], runtime, method, true);
  Tell(method, "MethodUnloadVerbose", true);
  if (MethodTruth* truth = sim_.truth.code.methods.Find(method.truth)) {
    truth->to = sim_.world.threads[thread].last_ticks;
  }
  // Now and then the next method gets this very place.
  if (sim_.random.Chance(40)) {
    ClrMethod next = MakeMethod(runtime);
    next.address = method.address;
    next.size = method.size;
    StartJit(index, next);
  }
}

void ClrMethods::ProcessStarted(ProcessIndex index) {
  const Process& process = sim_.world.processes[index];
  if (!HasCode(process)) return;
  MakeRuntime(index);
  EmitLoader(load_, sim_.Run(process.threads.front()), index);
}

void ClrMethods::ProcessEnded(ProcessIndex process) {
  const auto found = runtimes_.find(process);
  if (found == runtimes_.end()) return;
  live_methods_ -= found->second.methods.size();
  runtimes_.erase(found);
  managed_.erase(std::find(managed_.begin(), managed_.end(), process));
}

void ClrMethods::EmitLoader(LoaderKinds& kinds, uint16_t cpu, ProcessIndex index) {
  const Process& process = sim_.world.processes[index];
  const ClrRuntime& runtime = runtimes_.at(index);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(kClrInstance).Add(static_cast<uint16_t>(runtime.desktop ? 1 : 2));
  for (int i = 0; i < 2; ++i) payload.Add(uint16_t{6}).Add(uint16_t{0}).Add(uint16_t{4}).Add(uint16_t{0});
  payload.Add(uint32_t{1}).Add(uint8_t{1}).AddUnicode(process.command_line).Add(Guid{});
  payload.AddUnicode("C:\\Program Files\\dotnet\\shared\\Microsoft.NETCore.App\\6.0.4\\coreclr.dll");
  sim_.Emit(kinds.runtime.For(process), cpu, payload);

  payload.Clear().Add(runtime.app_domain).Add(uint32_t{3}).AddUnicode(Wide(process.image)).Add(uint32_t{1});
  payload.Add(kClrInstance);
  sim_.Emit(kinds.app_domain.For(process), cpu, payload);

  for (const ClrModule& module : runtime.modules) {
    payload.Clear().Add(module.assembly).Add(runtime.app_domain).Add(uint64_t{0}).Add(uint32_t{0});
    payload.AddUnicode(module.assembly_name).Add(kClrInstance);
    sim_.Emit(kinds.assembly.For(process), cpu, payload);

    payload.Clear().Add(module.id).Add(module.assembly).Add(uint32_t{8}).Add(uint32_t{0}).AddUnicode(module.il_path);
    payload.AddUnicode(std::u16string_view()).Add(kClrInstance).Add(module.pdb_guid).Add(uint32_t{1});
    payload.AddUnicode(module.pdb_path).Add(Guid{}).Add(uint32_t{0}).AddUnicode(std::u16string_view());
    sim_.Emit(kinds.module.For(process), cpu, payload);

    payload.Clear().Add(module.id).Add(module.assembly).Add(runtime.app_domain).Add(uint32_t{8}).Add(uint32_t{0});
    payload.AddUnicode(module.il_path).AddUnicode(std::u16string_view()).Add(kClrInstance);
    sim_.Emit(kinds.domain_module.For(process), cpu, payload);
  }
}

void ClrMethods::EmitMethod(ClrKind& kind, uint16_t cpu, const Process& process, const ClrRuntime& runtime,
                            const ClrMethod& method, bool names) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(method.id).Add(runtime.modules[method.module].id).Add(method.address).Add(method.size);
  payload.Add(method.token).Add(method.flags);
  if (names) {
    payload.AddUnicode(type_names_[method.type_name]).AddUnicode(method_names_[method.method_name]);
    payload.AddUnicode(signatures_[method.signature]);
  }
  payload.Add(kClrInstance).Add(uint64_t{0});
  sim_.Emit(kind.For(process), cpu, payload);
}

int64_t ClrMethods::EmitMap(ClrKind& kind, uint16_t cpu, const Process& process, const ClrMethod& method) {
  const auto count = static_cast<uint16_t>(3 + method.size % 13);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(method.id).Add(uint64_t{0}).Add(uint8_t{0}).Add(count);
  for (uint32_t i = 0; i < count; ++i) payload.Add(i == 0 ? 0xFFFFFFFE : i == 1 ? 0u : 6 * i);
  for (uint32_t i = 0; i < count; ++i) payload.Add(i * method.size / count);
  payload.Add(kClrInstance);
  return sim_.Emit(kind.For(process), cpu, payload);
}

void ClrMethods::EmitMark(ClrKind& kind, uint16_t cpu, const Process& process) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(kClrInstance);
  sim_.Emit(kind.For(process), cpu, payload);
}

void ClrMethods::EmitRundown(ProcessIndex index, bool end) {
  const Process& process = sim_.world.processes[index];
  const ClrRuntime& runtime = runtimes_.at(index);
  const uint16_t cpu = sim_.Run(process.threads.front());
  EmitMark(end ? dc_end_init_ : dc_start_init_, cpu, process);
  for (const ClrMethod& method : runtime.methods) {
    if (end && method.flags & kFlagDynamic) {
      EmitMethod(dc_end_method_, cpu, process, runtime, method, false);
      Tell(method, "MethodDCEnd", false);
      continue;
    }
    EmitMethod(end ? dc_end_verbose_ : dc_start_verbose_, cpu, process, runtime, method, true);
    Tell(method, end ? "MethodDCEndVerbose" : "MethodDCStartVerbose", true);
    if (!end || method.size % 4 != 0) continue;
    AddReference("MethodDCEndILToNativeMap", EmitMap(dc_end_map_, cpu, process, method), cpu, method.id);
  }
  EmitLoader(end ? dc_end_ : dc_start_, cpu, index);
  EmitMark(end ? dc_end_complete_ : dc_start_complete_, cpu, process);
  sim_.truth.code.rundowns.Add({.pid = process.pid, .clr_instance = kClrInstance, .end = end, .complete = true});
}

void ClrMethods::End() {
  for (const ProcessIndex process : managed_) EmitRundown(process, true);
}

uint64_t ClrMethods::end_size() const {
  return live_methods_ * kBytesPerMethod + managed_.size() * kModules * kBytesPerModule;
}

}  // namespace etwpipe::tracegen

#include "tests/tracegen/clr_records.h"

#include <array>
#include <utility>

#include "formats/etl/kernel_groups.h"
#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

constexpr ClrProvider kR = ClrProvider::kRuntime;
constexpr ClrProvider kRd = ClrProvider::kRundown;
constexpr uint16_t kTaskException = 7;
constexpr uint16_t kTaskMethod = 9;
constexpr uint16_t kTaskLoader = 10;
constexpr uint16_t kTaskStack = 11;
constexpr uint16_t kTaskStub = 15;
constexpr uint16_t kTaskRuntime = 19;
constexpr uint16_t kTaskMethodRundown = 1;
constexpr uint16_t kTaskLoaderRundown = 2;
constexpr uint64_t kMethodKeywords = 0x30;
constexpr uint64_t kLoaderKeyword = 0x8;
constexpr uint64_t kModuleKeywords = 0x20000008;
constexpr uint64_t kMapKeyword = 0x20000;
constexpr uint64_t kMarkKeywords = 0x20038;
constexpr uint64_t kDetailsKeyword = 0x4000000000;
constexpr uint64_t kInteropKeyword = 0x2000;
constexpr uint64_t kExceptionKeyword = 0x8000;
constexpr uint64_t kStackKeyword = 0x40000000;
constexpr std::string_view kProfiler = "etwpipe.profiler";
constexpr std::array<std::string_view, 3> kCallNames = {"Enter", "Leave", "Tailcall"};

constexpr std::array<std::array<std::string_view, 2>, 4> kMethodEventNames = {
    {{"MethodLoad", "MethodLoadVerbose"},
     {"MethodUnload", "MethodUnloadVerbose"},
     {"MethodDCStart", "MethodDCStartVerbose"},
     {"MethodDCEnd", "MethodDCEndVerbose"}}};
constexpr std::array<std::string_view, 8> kIdEventNames = {"MethodILToNativeMap",
                                                           "MethodDCStartILToNativeMap",
                                                           "MethodDCEndILToNativeMap",
                                                           "MethodDetails",
                                                           "ILStubCacheHit",
                                                           "ProfilerEnter",
                                                           "ProfilerLeave",
                                                           "ProfilerTailcall"};

}  // namespace

ClrRecords::ClrRecords(Simulation& simulation)
    : sim_(simulation),
      sampled_profile_(MakeSystemKind(etl::kTypePerfInfo64, etl::kGroupPerfInfo, 46, 2)),
      call_traits_(etl::ProviderTraits(kProfiler)) {
  for (size_t i = 0; i < kCallNames.size(); ++i) {
    call_schemas_.emplace_back(kCallNames[i]);
    call_schemas_.back().Field("FunctionID", etl::InType::kUint64, etl::OutType::kHex);
    EventKind kind;
    kind.fields.provider = ProviderGuidFromName(kProfiler);
    kind.fields.id = static_cast<uint16_t>(i + 1);
    kind.fields.channel = etl::kTraceLoggingChannel;
    kind.fields.level = 5;
    kind.fields.keyword = 0x1;
    call_kinds_.push_back(kind);
  }
}

ClrKind& ClrRecords::KindOf(const KindRow& row, uint8_t version) {
  const auto [at, added] = kinds_.try_emplace({row.provider, row.id, version}, row.provider, row.id, version,
                                              row.opcode, row.task, row.keyword, row.level);
  return at->second;
}

uint16_t ClrRecords::Enter(ProcessIndex process) {
  const uint16_t cpu = sim_.Run(sim_.world.processes[process].threads.front());
  sim_.Settle();
  ++sim_.now;
  return cpu;
}

int64_t ClrRecords::Write(const KindRow& row, uint8_t version, ProcessIndex process) {
  const uint16_t cpu = Enter(process);
  const int64_t ticks = sim_.Emit(KindOf(row, version).For(sim_.world.processes[process]), cpu, payload_);
  payload_.Clear();
  return ticks;
}

int64_t ClrRecords::Method(MethodEvent event, PlannedCode& code, Form form, uint8_t version) {
  const auto which = static_cast<size_t>(event);
  const bool rundown = event == MethodEvent::kDcStart || event == MethodEvent::kDcEnd;
  const bool verbose = form == Form::kVerbose;
  const bool second = event == MethodEvent::kUnload || event == MethodEvent::kDcEnd;
  const auto id = static_cast<uint16_t>(141 + (verbose ? 2 : 0) + (second ? 1 : 0));
  const auto opcode = static_cast<uint8_t>(33 + (verbose ? 4 : 0) + (rundown ? 2 : 0) + (second ? 1 : 0));
  payload_.Add(code.id).Add(code.module).Add(code.start).Add(code.size).Add(code.token).Add(code.flags);
  if (verbose) payload_.AddUnicode(Wide(code.type)).AddUnicode(Wide(code.name)).AddUnicode(Wide(code.signature));
  if (version >= 1) payload_.Add(code.place.clr_instance);
  if (version >= 2) payload_.Add(code.rejit);
  const KindRow row{rundown ? kRd : kR, id, opcode, rundown ? kTaskMethodRundown : kTaskMethod, kMethodKeywords};
  const int64_t ticks = Write(row, version, code.place.process);

  BoundedList<MethodTruth>& list = sim_.truth.code.methods;
  if (!std::exchange(code.told, true)) {
    MethodTruth method{.process = code.place.process,
                       .pid = sim_.world.processes[code.place.process].pid,
                       .clr_instance = {},
                       .method_id = code.id,
                       .method_namespace = code.type,
                       .name = code.name,
                       .signature = code.signature,
                       .start = code.start,
                       .size = code.size,
                       .flags = code.flags,
                       .rejit = code.rejit,
                       .from = code.from,
                       .to = {},
                       .learnt_by = kMethodEventNames[which][verbose ? 1 : 0]};
    if (version >= 1) method.clr_instance = code.place.clr_instance;
    // References have been waiting for the few that are learnt last.
    code.truth = event == MethodEvent::kLoad ? list.Add(std::move(method)) : list.AddAlways(std::move(method));
  }
  if (MethodTruth* truth = list.Find(code.truth)) {
    truth->verbose |= verbose;
    if (event == MethodEvent::kLoad) truth->from = ticks;
    if (event == MethodEvent::kUnload) truth->to = ticks;
  }
  return ticks;
}

void ClrRecords::Close(const PlannedCode& code, int64_t ticks) {
  if (MethodTruth* truth = sim_.truth.code.methods.Find(code.truth)) truth->to = ticks;
}

void ClrRecords::Mark(RundownMark mark, const CodePlace& place) {
  constexpr std::array<KindRow, 4> kRows = {{{kRd, 147, 16, kTaskMethodRundown, kMarkKeywords},
                                             {kRd, 145, 14, kTaskMethodRundown, kMarkKeywords},
                                             {kRd, 148, 17, kTaskMethodRundown, kMarkKeywords},
                                             {kRd, 146, 15, kTaskMethodRundown, kMarkKeywords}}};
  payload_.Add(place.clr_instance);
  Write(kRows[static_cast<size_t>(mark)], 1, place.process);
  const bool end = mark == RundownMark::kEndInit || mark == RundownMark::kEndComplete;
  const uint32_t pid = sim_.world.processes[place.process].pid;
  if (mark == RundownMark::kStartInit || mark == RundownMark::kEndInit) {
    sim_.truth.code.rundowns.Add({.pid = pid, .clr_instance = place.clr_instance, .end = end});
    return;
  }
  for (RundownTruth& rundown : sim_.truth.code.rundowns.entries()) {
    if (rundown.pid == pid && rundown.clr_instance == place.clr_instance && rundown.end == end) {
      rundown.complete = true;
    }
  }
}

void ClrRecords::Runtime(const CodePlace& place, bool rundown) {
  payload_.Add(place.clr_instance).Add(uint16_t{2});
  for (int i = 0; i < 2; ++i) payload_.Add(uint16_t{6}).Add(uint16_t{0}).Add(uint16_t{4}).Add(uint16_t{0});
  payload_.Add(uint32_t{1}).Add(uint8_t{1}).AddUnicode(sim_.world.processes[place.process].command_line).Add(Guid{});
  payload_.AddUnicode("C:\\Program Files\\dotnet\\shared\\Microsoft.NETCore.App\\6.0.4\\coreclr.dll");
  Write({rundown ? kRd : kR, 187, 1, kTaskRuntime, 0}, 0, place.process);
}

int64_t ClrRecords::Module(ModuleEvent event, const CodePlace& place, PlannedModule& module) {
  constexpr std::array<KindRow, 4> kRows = {{{kR, 152, 33, kTaskLoader, kModuleKeywords},
                                             {kR, 153, 34, kTaskLoader, kModuleKeywords},
                                             {kRd, 153, 35, kTaskLoaderRundown, kModuleKeywords},
                                             {kRd, 154, 36, kTaskLoaderRundown, kModuleKeywords}}};
  ModuleTruth& truth = module.truth;
  payload_.Add(module.id).Add(module.id - 0x80).Add(uint32_t{8}).Add(uint32_t{0});
  payload_.AddUnicode(truth.il_path).AddUnicode(truth.native_path).Add(place.clr_instance);
  payload_.Add(truth.pdb_guid).Add(truth.pdb_age).AddUnicode(truth.pdb_path);
  payload_.Add(truth.native_pdb_guid).Add(truth.native_pdb_age).AddUnicode(truth.native_pdb_path);
  const int64_t ticks = Write(kRows[static_cast<size_t>(event)], 2, place.process);
  if (module.number == BoundedList<ModuleTruth>::kNotKept) {
    truth.pid = sim_.world.processes[place.process].pid;
    truth.clr_instance = place.clr_instance;
    truth.module_id = module.id;
    module.number = sim_.truth.code.modules.Add(truth);
  }
  if (ModuleTruth* kept = sim_.truth.code.modules.Find(module.number)) {
    if (event == ModuleEvent::kLoad) kept->load = ticks;
    if (event == ModuleEvent::kUnload) kept->unload = ticks;
  }
  if (event != ModuleEvent::kLoad) return ticks;
  payload_.Add(module.id).Add(module.id - 0x80).Add(uint64_t{0x1000}).Add(uint32_t{8}).Add(uint32_t{0});
  payload_.AddUnicode(truth.il_path).AddUnicode(truth.native_path).Add(place.clr_instance);
  Write({kR, 151, 45, kTaskLoader, kLoaderKeyword}, 1, place.process);
  return ticks;
}

void ClrRecords::StubGenerated(const PlannedCode& code) {
  payload_.Add(code.place.clr_instance).Add(code.module).Add(code.id).Add(uint32_t{0}).Add(uint32_t{0x06000001});
  payload_.AddUnicode("Contoso.Interop.NativeMethods").AddUnicode("ReadSensor").AddUnicode("int32  (native int)");
  payload_.AddUnicode("unmanaged int32(native int)").AddUnicode(Wide(code.signature)).AddUnicode("ldarg.0; calli; ret");
  Write({kR, 88, 88, kTaskStub, kInteropKeyword}, 0, code.place.process);
}

uint32_t ClrRecords::Refer(IdEvent event, const CodePlace& place, uint64_t id, const Expected& expected,
                           uint64_t rejit) {
  ReferenceTruth reference;
  reference.clr_instance = place.clr_instance;
  reference.process = place.process;
  reference.value = id;
  switch (event) {
    case IdEvent::kMap:
    case IdEvent::kDcStartMap:
    case IdEvent::kDcEndMap: {
      constexpr std::array<KindRow, 3> kRows = {{{kR, 190, 87, kTaskMethod, kMapKeyword, 5},
                                                 {kRd, 149, 41, kTaskMethodRundown, kMapKeyword, 5},
                                                 {kRd, 150, 42, kTaskMethodRundown, kMapKeyword, 5}}};
      payload_.Add(id).Add(rejit).Add(uint8_t{0}).Add(uint16_t{2}).Add(0xFFFFFFFE).Add(uint32_t{0});
      payload_.Add(uint32_t{0}).Add(uint32_t{9}).Add(place.clr_instance);
      reference.ticks = Write(kRows[static_cast<size_t>(event)], 0, place.process);
      break;
    }
    case IdEvent::kDetails:
      payload_.Add(id).Add(uint64_t{0x7000}).Add(uint32_t{0x06000001}).Add(uint32_t{0}).Add(uint64_t{0x8000});
      // Real ones are four bytes longer than their documented fields.
      payload_.AddZeros(4);
      reference.ticks = Write({kR, 72, 43, kTaskMethod, kDetailsKeyword}, 0, place.process);
      reference.clr_instance.reset();
      break;
    case IdEvent::kStubHit:
      payload_.Add(place.clr_instance).Add(uint64_t{0}).Add(id).Add(uint32_t{0x06000001});
      payload_.AddUnicode("Contoso.Interop.NativeMethods").AddUnicode("ReadSensor").AddUnicode("int32  (native int)");
      reference.ticks = Write({kR, 89, 89, kTaskStub, kInteropKeyword}, 0, place.process);
      break;
    default:
      reference.ticks = WriteCall(event, place.process, id);
      reference.clr_instance.reset();
      break;
  }
  return Add(kIdEventNames[static_cast<size_t>(event)], reference, expected);
}

int64_t ClrRecords::WriteCall(IdEvent event, ProcessIndex process, uint64_t id) {
  const auto which = static_cast<size_t>(event) - static_cast<size_t>(IdEvent::kEnter);
  const std::array<etl::ExtendedItem, 2> items = {
      etl::ExtendedItem{etl::kExtProviderTraits, call_traits_},
      etl::ExtendedItem{etl::kExtSchemaTl, call_schemas_[which].metadata()}};
  EventKind& kind = call_kinds_[which];
  kind.fields.items = items;
  const uint16_t cpu = Enter(process);
  const int64_t ticks = sim_.Emit(kind, cpu, payload_.Add(id));
  payload_.Clear();
  kind.fields.items = {};
  return ticks;
}

uint32_t ClrRecords::Sample(ProcessIndex process, uint64_t address, const Expected& expected) {
  const uint16_t cpu = Enter(process);
  const Thread& thread = sim_.RunningThread(cpu);
  payload_.Add(address).Add(thread.tid).Add(uint16_t{1}).Add(uint16_t{0});
  ReferenceTruth reference;
  reference.ticks = sim_.Emit(sampled_profile_, cpu, payload_);
  payload_.Clear();
  reference.process = process;
  reference.kind = ReferenceKind::kAddress;
  reference.value = address;
  return Add("SampledProfile", reference, expected);
}

void ClrRecords::Throw(const CodePlace& place, std::span<const std::pair<uint64_t, Expected>> frames) {
  const bool pointer32 = sim_.world.processes[place.process].pointer32;
  const auto add_pointer = [this, pointer32](uint64_t value) {
    if (pointer32) {
      payload_.Add(static_cast<uint32_t>(value));
    } else {
      payload_.Add(value);
    }
  };
  ReferenceTruth reference;
  reference.process = place.process;
  reference.kind = ReferenceKind::kAddress;
  reference.clr_instance = place.clr_instance;
  payload_.AddUnicode("Contoso.PlannedException").AddUnicode("as planned");
  add_pointer(frames.front().first);
  payload_.Add(uint32_t{0x80131509}).Add(uint16_t{0x10}).Add(place.clr_instance);
  reference.value = frames.front().first;
  reference.ticks = Write({kR, 80, 1, kTaskException, kExceptionKeyword, 2}, 1, place.process);
  Add("ExceptionThrown", reference, frames.front().second);

  payload_.Add(place.clr_instance).Add(uint16_t{0}).Add(static_cast<uint32_t>(frames.size()));
  for (const auto& [address, expected] : frames) add_pointer(address);
  reference.ticks = Write({kR, 82, 82, kTaskStack, kStackKeyword, 0}, 0, place.process);
  for (const auto& [address, expected] : frames) {
    reference.value = address;
    Add("CLRStackWalk", reference, expected);
    ++reference.frame;
  }
}

uint32_t ClrRecords::Add(std::string_view event, ReferenceTruth reference, const Expected& expected) {
  if (sim_.truth.code.methods.full()) {
    sim_.truth.code.references.AddUnkept();
    return BoundedList<ReferenceTruth>::kNotKept;
  }
  const ThreadIndex thread = sim_.world.processes[reference.process].threads.front();
  reference.event = event;
  reference.story = story_;
  reference.cpu = static_cast<uint16_t>(sim_.world.threads[thread].cpu);
  reference.pid = sim_.world.processes[reference.process].pid;
  reference.tid = sim_.world.threads[thread].tid;
  const uint32_t number = sim_.truth.code.references.Add(reference);
  SetExpected(number, expected);
  return number;
}

void ClrRecords::SetExpected(uint32_t number, const Expected& expected) {
  ReferenceTruth* reference = sim_.truth.code.references.Find(number);
  if (reference == nullptr) return;
  reference->outcome = expected.outcome;
  reference->method = expected.code == nullptr ? BoundedList<MethodTruth>::kNotKept : expected.code->truth;
  reference->alive = expected.alive;
}

}  // namespace etwpipe::tracegen

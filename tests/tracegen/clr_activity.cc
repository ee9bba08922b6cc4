#include "tests/tracegen/clr_activity.h"

#include <array>

#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

constexpr ClrProvider kR = ClrProvider::kRuntime;
constexpr uint16_t kTaskGc = 1;
constexpr uint16_t kTaskException = 7;
constexpr uint16_t kTaskContention = 8;
constexpr uint16_t kTaskStack = 11;
constexpr uint16_t kTaskType = 21;
constexpr uint16_t kTaskCatch = 27;
constexpr uint64_t kGcKeyword = 0x1;
constexpr uint64_t kExceptionKeyword = 0x8000;
constexpr uint64_t kContentionKeyword = 0x4000;
constexpr uint64_t kStackKeyword = 0x40000000;
constexpr uint64_t kTypeKeyword = 0x80000;
constexpr uint64_t kTypeBase = 0x00007FFA20000000;

/// Steps of a collection; the argument beside the thread is its number and generation.
enum Code : uint32_t { kSuspended, kCollected, kRestarted, kCaught, kLockTaken };

}  // namespace

ClrActivity::ClrActivity(Simulation& simulation, ClrMethods& methods)
    : sim_(simulation),
      methods_(methods),
      gc_triggered_(kR, 35, 0, 35, kTaskGc, kGcKeyword),
      suspend_begin_(kR, 9, 1, 10, kTaskGc, kGcKeyword),
      suspend_end_(kR, 8, 1, 137, kTaskGc, kGcKeyword),
      gc_start1_(kR, 1, 1, 1, kTaskGc, kGcKeyword),
      gc_start2_(kR, 1, 2, 1, kTaskGc, kGcKeyword),
      gc_end_(kR, 2, 1, 2, kTaskGc, kGcKeyword),
      restart_begin_(kR, 7, 1, 136, kTaskGc, kGcKeyword),
      restart_end_(kR, 3, 1, 132, kTaskGc, kGcKeyword),
      allocation_tick_(kR, 10, 3, 11, kTaskGc, kGcKeyword, 5),
      bulk_type_(kR, 15, 0, 10, kTaskType, kTypeKeyword),
      exception_(kR, 80, 1, 1, kTaskException, kExceptionKeyword, 2),
      catch_start_(kR, 250, 0, 1, kTaskCatch, kExceptionKeyword),
      catch_stop_(kR, 251, 0, 2, kTaskCatch, kExceptionKeyword),
      exception_stop_(kR, 256, 0, 2, kTaskException, kExceptionKeyword),
      contention_start_(kR, 81, 1, 1, kTaskContention, kContentionKeyword),
      contention_stop_(kR, 91, 1, 2, kTaskContention, kContentionKeyword),
      stack_walk_(kR, 82, 0, 82, kTaskStack, kStackKeyword, 0) {
  for (int i = 0; i < 80; ++i) {
    type_names_.push_back(Wide(MakeFullTypeName(sim_.random)));
  }
}

void ClrActivity::Step() {
  const ProcessIndex process = methods_.PickManaged();
  if (process == World::kIdleProcess) return;
  const ThreadIndex thread = methods_.PickFreeThread(process);
  if (thread == World::kIdleThread) return;
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 6) return StartCollection(thread);
  if (dice < 70) return Allocate(thread);
  if (dice < 88) return Throw(thread);
  StartContention(thread);
}

void ClrActivity::StartCollection(ThreadIndex thread) {
  const Process& process = sim_.world.processes[sim_.world.threads[thread].process];
  const uint16_t cpu = sim_.Run(thread);
  sim_.world.threads[thread].reserved = true;
  const uint32_t number = next_collection_++;
  const uint32_t generation = sim_.random.Skewed(3);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(uint32_t{0}).Add(kClrInstance);
  sim_.Emit(gc_triggered_.For(process), cpu, payload);
  payload.Clear().Add(uint32_t{1}).Add(number - 1).Add(kClrInstance);
  const int64_t ticks = sim_.Emit(suspend_begin_.For(process), cpu, payload);
  sim_.Schedule(*this, ticks + 100 + sim_.random.Skewed(8000), kSuspended, thread, uint64_t{number} << 2 | generation);
}

void ClrActivity::Resume(uint32_t code, uint64_t a, uint64_t b) {
  const auto index = static_cast<ThreadIndex>(a);
  Thread& thread = sim_.world.threads[index];
  if (!thread.alive) return;
  const Process& process = sim_.world.processes[thread.process];
  const auto number = static_cast<uint32_t>(b >> 2);
  const auto generation = static_cast<uint32_t>(b & 3);
  const uint16_t cpu = sim_.Run(index);
  etl::PayloadWriter& payload = sim_.NewPayload();
  switch (code) {
    case kSuspended: {
      payload.Add(kClrInstance);
      sim_.Emit(suspend_end_.For(process), cpu, payload);
      payload.Clear().Add(number).Add(generation).Add(uint32_t{0}).Add(uint32_t{0}).Add(kClrInstance);
      // The .NET Framework writes both versions.
      if (methods_.Find(thread.process)->desktop) sim_.Emit(gc_start1_.For(process), cpu, payload);
      payload.Add(uint64_t{0});
      const int64_t ticks = sim_.Emit(gc_start2_.For(process), cpu, payload);
      const uint32_t truth = sim_.truth.activities.Add({.provider = "Microsoft-Windows-DotNETRuntime",
                                                        .name = "GC",
                                                        .pid = process.pid,
                                                        .tid = thread.tid,
                                                        .start = ticks,
                                                        .stop = {},
                                                        .activity = {},
                                                        .parent = {},
                                                        .instance = number});
      const int64_t duration = 2000 + (sim_.random.Skewed(60'000) << generation);
      return sim_.Schedule(*this, ticks + duration, kCollected, a, b | uint64_t{truth} << 32);
    }
    case kCollected: {
      payload.Add(number & 0x3FFFFFFF).Add(generation).Add(kClrInstance);
      const int64_t ticks = sim_.Emit(gc_end_.For(process), cpu, payload);
      if (ActivityTruth* truth = sim_.truth.activities.Find(static_cast<uint32_t>(b >> 32))) truth->stop = ticks;
      payload.Clear().Add(kClrInstance);
      sim_.Emit(restart_begin_.For(process), cpu, payload);
      return sim_.Schedule(*this, ticks + 50 + sim_.random.Skewed(2000), kRestarted, a);
    }
    case kRestarted:
      payload.Add(kClrInstance);
      sim_.Emit(restart_end_.For(process), cpu, payload);
      break;
    case kCaught:
      sim_.Emit(catch_stop_.For(process), cpu, payload);
      sim_.Emit(exception_stop_.For(process), cpu, payload);
      break;
    default:
      payload.Add(uint8_t{0})
          .Add(kClrInstance)
          .Add(static_cast<double>(thread.last_ticks - static_cast<int64_t>(b)) * 100);
      sim_.Emit(contention_stop_.For(process), cpu, payload);
      break;
  }
  thread.reserved = false;
}

void ClrActivity::Allocate(ThreadIndex thread) {
  const Process& process = sim_.world.processes[sim_.world.threads[thread].process];
  const uint16_t cpu = sim_.Run(thread);
  const uint32_t type = sim_.random.Skewed(static_cast<uint32_t>(type_names_.size()));
  const uint64_t type_id = process.pointer32 ? 0x09000000 + type * 0x40 : kTypeBase + type * 0x40;
  const uint64_t address = 0x0000018000000000 + uint64_t{sim_.random.Next32()} * 8;
  const auto add_pointer = [&process](etl::PayloadWriter& to, uint64_t value) {
    if (process.pointer32) {
      to.Add(static_cast<uint32_t>(value));
    } else {
      to.Add(value);
    }
  };
  etl::PayloadWriter& payload = sim_.NewPayload();
  const uint32_t amount = 100'000 + sim_.random.Below(8000);
  payload.Add(amount).Add(uint32_t{sim_.random.Chance(5) ? 1u : 0u}).Add(kClrInstance).Add(uint64_t{amount});
  add_pointer(payload, type_id);
  payload.AddUnicode(type_names_[type]).Add(sim_.random.Below(4));
  add_pointer(payload, address);
  sim_.Emit(allocation_tick_.For(process), cpu, payload);
  if (sim_.random.Chance(40)) WalkStack(cpu, process);
  if (!sim_.random.Chance(10)) return;
  etl::PayloadWriter& types = sim_.NewPayload();
  types.Add(uint32_t{1})
      .Add(kClrInstance)
      .Add(type_id)
      .Add(methods_.Find(sim_.world.threads[thread].process)->modules[0].id);
  types.Add(uint32_t{0}).Add(uint32_t{0}).Add(uint8_t{0}).AddUnicode(type_names_[type]).Add(uint32_t{0});
  sim_.Emit(bulk_type_.For(process), cpu, types);
}

void ClrActivity::Throw(ThreadIndex thread) {
  const ProcessIndex index = sim_.world.threads[thread].process;
  const Process& process = sim_.world.processes[index];
  const ClrRuntime* runtime = methods_.Find(index);
  if (runtime->methods.empty()) return;
  constexpr std::array<std::string_view, 4> kTypes = {"System.InvalidOperationException", "System.TimeoutException",
                                                      "System.IO.FileNotFoundException",
                                                      "Contoso.OrderRejectedException"};
  constexpr std::array<std::string_view, 4> kMessages = {
      "Sequence contains no elements", "The operation has timed out.",
      "Could not find file 'C:\\ProgramData\\orders.json'.", "Order was rejected: credit limit exceeded"};
  const size_t kind = sim_.random.Index(kTypes.size());
  const ClrMethod& method = runtime->methods[sim_.random.Index(runtime->methods.size())];
  const uint64_t instruction = method.address + sim_.random.Below(method.size);
  const uint16_t cpu = sim_.Run(thread);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.AddUnicode(Wide(kTypes[kind])).AddUnicode(Wide(kMessages[kind]));
  if (process.pointer32) {
    payload.Add(static_cast<uint32_t>(instruction));
  } else {
    payload.Add(instruction);
  }
  payload.Add(uint32_t{0x80131509}).Add(uint16_t{0x10}).Add(kClrInstance);
  AddReference("ExceptionThrown", sim_.Emit(exception_.For(process), cpu, payload), cpu, 0, instruction);
  WalkStack(cpu, process);
  payload.Clear().Add(method.address + method.size / 2).Add(method.id).AddUnicode(methods_.MethodName(method));
  payload.Add(kClrInstance);
  const int64_t ticks = sim_.Emit(catch_start_.For(process), cpu, payload);
  sim_.world.threads[thread].reserved = true;
  sim_.Schedule(*this, ticks + 20 + sim_.random.Skewed(3000), kCaught, thread);
}

void ClrActivity::StartContention(ThreadIndex thread) {
  const Process& process = sim_.world.processes[sim_.world.threads[thread].process];
  const uint16_t cpu = sim_.Run(thread);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(uint8_t{0}).Add(kClrInstance);
  const int64_t ticks = sim_.Emit(contention_start_.For(process), cpu, payload);
  sim_.world.threads[thread].reserved = true;
  if (sim_.random.Chance(70)) sim_.SwitchTo(cpu, World::kIdleThread);
  sim_.Schedule(*this, ticks + 300 + sim_.random.Skewed(90'000), kLockTaken, thread, static_cast<uint64_t>(ticks));
}

void ClrActivity::WalkStack(uint16_t cpu, const Process& process) {
  const ClrRuntime& runtime = *methods_.Find(sim_.RunningThread(cpu).process);
  const uint32_t count = 4 + sim_.random.Skewed(20);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(kClrInstance).Add(uint8_t{0}).Add(uint8_t{0}).Add(count);
  frames_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t address = methods_.PickCode(runtime);
    frames_.push_back(address);
    if (process.pointer32) {
      payload.Add(static_cast<uint32_t>(address));
    } else {
      payload.Add(address);
    }
  }
  const int64_t ticks = sim_.Emit(stack_walk_.For(process), cpu, payload);
  for (uint32_t i = 0; i < count; ++i) AddReference("CLRStackWalk", ticks, cpu, i, frames_[i]);
}

void ClrActivity::AddReference(std::string_view event, int64_t ticks, uint16_t cpu, uint32_t frame, uint64_t address) {
  const Thread& thread = sim_.RunningThread(cpu);
  sim_.truth.code.AddCommon({.event = event,
                             .story = {},
                             .ticks = ticks,
                             .cpu = cpu,
                             .process = thread.process,
                             .pid = sim_.world.processes[thread.process].pid,
                             .tid = thread.tid,
                             .kind = ReferenceKind::kAddress,
                             .frame = frame,
                             .clr_instance = kClrInstance,
                             .value = address,
                             .outcome = {}});
}

}  // namespace etwpipe::tracegen

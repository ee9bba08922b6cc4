#include "tests/tracegen/cpu_events.h"

#include "formats/etl/kernel_groups.h"

namespace etwpipe::tracegen {
namespace {

using etl::kTypePerfInfo64;

constexpr size_t kCachedStacks = 40;
constexpr uint64_t kStackKeyBase = 0xFFFFC58600000000;
constexpr uint32_t kProfileInterval = 10'000;  // 100 ns: 1 ms

uint64_t StackKey(size_t index) { return kStackKeyBase + index * 0x170; }

}  // namespace

CpuEvents::CpuEvents(Simulation& simulation, CodeMap& code_map)
    : sim_(simulation),
      code_map_(code_map),
      sampled_profile_(MakeSystemKind(kTypePerfInfo64, etl::kGroupPerfInfo, 46, 2)),
      collection_start_(MakeSystemKind(etl::kTypeSystem64, etl::kGroupPerfInfo, 73, 3)),
      collection_end_(MakeSystemKind(etl::kTypeSystem64, etl::kGroupPerfInfo, 74, 3)),
      dpc_(MakeSystemKind(kTypePerfInfo64, etl::kGroupPerfInfo, 68, 2)),
      isr_(MakeSystemKind(kTypePerfInfo64, etl::kGroupPerfInfo, 67, 2)),
      syscall_enter_(MakeSystemKind(kTypePerfInfo64, etl::kGroupPerfInfo, 51, 2)),
      syscall_exit_(MakeSystemKind(kTypePerfInfo64, etl::kGroupPerfInfo, 52, 2)),
      stack_key_kernel_(MakeSystemKind(kTypePerfInfo64, etl::kGroupStackWalk, 37, 2)),
      stack_key_user_(MakeSystemKind(kTypePerfInfo64, etl::kGroupStackWalk, 38, 2)),
      stack_definition_(MakeSystemKind(kTypePerfInfo64, etl::kGroupStackWalk, 36, 2)) {
  for (size_t i = 0; i < kCachedStacks; ++i) {
    std::vector<uint64_t> frames(static_cast<size_t>(sim_.random.Between(4, 20)));
    const bool kernel = i % 2 == 0;
    const Process& process = sim_.world.processes[sim_.world.PickProcess(sim_.random)];
    for (uint64_t& frame : frames) {
      frame = kernel ? sim_.random.Pick(sim_.world.kernel_code) : sim_.world.PickUserAddress(sim_.random, process);
    }
    cached_stacks_.push_back(std::move(frames));
  }
}

void CpuEvents::Begin() {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(uint32_t{0}).Add(kProfileInterval).Add(kProfileInterval).AddUnicode("Timer");
  sim_.Emit(collection_start_, 0, payload);
}

void CpuEvents::Step() {
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 70) {
    const ThreadIndex thread = sim_.world.PickWaiting(sim_.random);
    if (thread != World::kIdleThread) sim_.Run(thread);
    return;
  }
  const uint16_t cpu = sim_.AnyCpu();
  if (dice < 80) return sim_.SwitchTo(cpu, World::kIdleThread);
  etl::PayloadWriter& payload = sim_.NewPayload();
  const uint64_t routine = sim_.random.Pick(sim_.world.kernel_code);
  if (dice < 86) {
    payload.Add(sim_.writer.last_ticks(cpu) - sim_.random.Skewed(400)).Add(routine);
    sim_.Emit(dpc_, cpu, payload);
    return;
  }
  if (dice < 90) {
    payload.Add(sim_.writer.last_ticks(cpu) - sim_.random.Skewed(60)).Add(routine).Add(uint8_t{1});
    payload.Add(static_cast<uint16_t>(0x50 + sim_.random.Below(64))).Add(uint8_t{0});
    sim_.Emit(isr_, cpu, payload);
    return;
  }
  if (sim_.world.running(cpu) == World::kIdleThread) return;
  payload.Add(routine);
  sim_.Emit(syscall_enter_, cpu, payload);
  etl::PayloadWriter& result = sim_.NewPayload();
  result.Add(sim_.random.Chance(95) ? uint32_t{0} : 0xC0000034);
  sim_.Emit(syscall_exit_, cpu, result);
}

void CpuEvents::Sample() {
  for (uint16_t cpu = 0; cpu < sim_.options.processors; ++cpu) {
    const Thread& thread = sim_.RunningThread(cpu);
    const uint64_t instruction = PickInstruction(cpu);
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(instruction).Add(thread.tid).Add(uint16_t{1});
    payload.Add(static_cast<uint8_t>(thread.priority << 3)).Add(uint8_t{0});
    const int64_t ticks = sim_.Emit(sampled_profile_, cpu, payload);
    if (thread.tid == 0) continue;
    const Process& process = sim_.world.processes[thread.process];
    if (process.managed && !process.planned) {
      sim_.truth.code.AddCommon({.event = "SampledProfile",
                                 .story = {},
                                 .ticks = ticks,
                                 .cpu = cpu,
                                 .process = thread.process,
                                 .pid = process.pid,
                                 .tid = thread.tid,
                                 .kind = ReferenceKind::kAddress,
                                 .clr_instance = {},
                                 .value = instruction,
                                 .outcome = {}});
    }
    if (sim_.random.Chance(80)) {
      sim_.WalkStack(cpu, ticks, instruction);
      continue;
    }
    const size_t index = sim_.random.Index(kCachedStacks);
    etl::PayloadWriter& key = sim_.NewPayload();
    key.Add(ticks).Add(process.pid).Add(thread.tid).Add(StackKey(index));
    sim_.Emit(index % 2 == 0 ? stack_key_kernel_ : stack_key_user_, cpu, key);
  }
}

uint64_t CpuEvents::PickInstruction(uint16_t cpu) {
  const Thread& thread = sim_.RunningThread(cpu);
  if (thread.tid == 0 || sim_.random.Chance(25)) return sim_.random.Pick(sim_.world.kernel_code);
  const Process& process = sim_.world.processes[thread.process];
  if (process.managed && sim_.random.Chance(70)) {
    if (const uint64_t address = code_map_.PickCode(thread.process); address != 0) return address;
  }
  return sim_.world.PickUserAddress(sim_.random, process);
}

void CpuEvents::End() {
  for (size_t i = 0; i < cached_stacks_.size(); ++i) {
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(StackKey(i)).AddBytes(std::as_bytes(std::span(cached_stacks_[i])));
    sim_.Emit(stack_definition_, 0, payload);
  }
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(uint32_t{0}).Add(kProfileInterval).Add(kProfileInterval).AddUnicode("Timer");
  sim_.Emit(collection_end_, 0, payload);
}

}  // namespace etwpipe::tracegen

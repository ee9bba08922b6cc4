#include "tests/tracegen/simulation.h"

#include <algorithm>
#include <functional>

#include "formats/etl/kernel_groups.h"

namespace etwpipe::tracegen {
namespace {

constexpr int64_t kFirstTicks = 19'426'088'750;  // half an hour of uptime
constexpr uint8_t kStateWait = 5;
constexpr uint8_t kStateReady = 1;
constexpr size_t kMaxFrames = 48;

}  // namespace

SystemKind MakeSystemKind(etl::RecordType type, uint8_t group, uint8_t opcode, uint8_t version) {
  SystemKind kind;
  kind.fields.type = type;
  kind.fields.group = group;
  kind.fields.opcode = opcode;
  kind.fields.version = version;
  return kind;
}

Simulation::Simulation(const Options& wanted, ByteSink& sink, Truth& truth_out, uint32_t process_count)
    : options(wanted),
      truth(truth_out),
      random(wanted.seed),
      world(random, wanted.processors, process_count, truth_out),
      writer(options, sink, truth_out),
      now(kFirstTicks + static_cast<int64_t>(random.Below(100'000'000))),
      context_switch_(MakeSystemKind(etl::kTypePerfInfo64, etl::kGroupThread, 36, 4)),
      ready_thread_(MakeSystemKind(etl::kTypePerfInfo64, etl::kGroupThread, 50, 2)),
      stack_walk_(MakeSystemKind(etl::kTypePerfInfo64, etl::kGroupStackWalk, 32, 2)) {}

void Simulation::AdvanceTo(int64_t ticks) {
  while (!scheduled_.empty() && scheduled_.top().ticks <= ticks) {
    const Scheduled next = scheduled_.top();
    scheduled_.pop();
    now = std::max(now, next.ticks);
    next.topic->Resume(next.code, next.a, next.b);
  }
  now = std::max(now, ticks);
}

void Simulation::Settle() {
  for (uint16_t cpu = 0; cpu < options.processors; ++cpu) now = std::max(now, writer.last_ticks(cpu));
}

void Simulation::Schedule(Topic& topic, int64_t ticks, uint32_t code, uint64_t a, uint64_t b) {
  scheduled_.push({ticks, next_order_++, &topic, code, a, b});
}

uint16_t Simulation::BusyCpu() {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const uint16_t cpu = AnyCpu();
    if (world.running(cpu) != World::kIdleThread) return cpu;
  }
  const ThreadIndex thread = world.PickWaiting(random);
  return thread == World::kIdleThread ? AnyCpu() : Run(thread);
}

Place Simulation::PlaceOf(const Thread& thread, uint16_t cpu) {
  const int64_t earliest = std::max({now, writer.last_ticks(cpu), thread.last_ticks});
  return {cpu, earliest + random.Below(12), thread.tid, world.processes[thread.process].pid};
}

uint16_t Simulation::Run(ThreadIndex thread) {
  const Thread& target = world.threads[thread];
  if (target.cpu >= 0) return static_cast<uint16_t>(target.cpu);
  const uint16_t waker = AnyCpu();
  etl::PayloadWriter& payload = NewPayload();
  payload.Add(target.tid).Add(static_cast<uint8_t>(random.Below(4))).Add(static_cast<int8_t>(random.Below(3)));
  payload.Add(static_cast<uint8_t>(random.Below(2))).Add(uint8_t{0});
  const int64_t ticks = Emit(ready_thread_, waker, payload);
  if (random.Chance(15) && world.running(waker) != World::kIdleThread) WalkStack(waker, ticks);
  const uint16_t cpu = AnyCpu();
  SwitchTo(cpu, thread);
  return cpu;
}

void Simulation::SwitchTo(uint16_t cpu, ThreadIndex thread) {
  const ThreadIndex old = world.running(cpu);
  if (old == thread) return;
  Thread& next = world.threads[thread];
  Thread& last = world.threads[old];
  etl::PayloadWriter& payload = NewPayload();
  payload.Add(next.tid).Add(last.tid).Add(next.priority).Add(last.priority);
  payload.Add(static_cast<uint8_t>(old == World::kIdleThread ? random.Below(3) : 0)).Add(int8_t{0});
  payload.Add(static_cast<uint8_t>(random.Skewed(36))).Add(static_cast<int8_t>(random.Below(2)));
  payload.Add(random.Chance(85) ? kStateWait : kStateReady).Add(static_cast<uint8_t>(cpu));
  payload.Add(random.Skewed(2000)).Add(uint32_t{0});

  Place place = PlaceOf(last, cpu);
  // Strictly after its last event on another processor, so that the order in time is never in doubt.
  place.ticks = std::max(place.ticks, next.last_ticks + 1);
  const int64_t ticks = writer.Write(context_switch_, place, payload.bytes());
  if (old != World::kIdleThread) last.last_ticks = ticks;
  if (thread != World::kIdleThread) next.last_ticks = ticks;
  world.Switch(cpu, thread);
  if (thread != World::kIdleThread && random.Chance(40)) WalkStack(cpu, ticks);
}

void Simulation::WalkStack(uint16_t cpu, int64_t ticks, uint64_t leaf) {
  Thread& thread = RunningThread(cpu);
  const Process& process = world.processes[thread.process];
  std::array<uint64_t, kMaxFrames> frames;
  size_t count = 0;
  if (leaf != 0) frames[count++] = leaf;
  const size_t kernel_frames = static_cast<size_t>(random.Below(6));
  const size_t first = random.Index(world.kernel_code.size() - 6);
  for (size_t i = 0; i < kernel_frames; ++i) frames[count++] = world.kernel_code[first + i];
  if (!process.call_chains.empty()) {
    const std::vector<uint64_t>& chain = random.Pick(process.call_chains);
    const size_t depth = std::min(chain.size(), kMaxFrames - count);
    std::copy_n(chain.begin(), depth, frames.begin() + static_cast<std::ptrdiff_t>(count));
    count += depth;
  }
  etl::PayloadWriter& payload = NewPayload();
  payload.Add(ticks).Add(process.pid).Add(thread.tid).AddBytes(std::as_bytes(std::span(frames).first(count)));
  const Place place{cpu, writer.last_ticks(cpu) + 1 + random.Below(20), 0, 0};
  const int64_t walked = writer.Write(stack_walk_, place, payload.bytes());
  if (thread.tid != 0) thread.last_ticks = std::max(thread.last_ticks, walked);
}

}  // namespace etwpipe::tracegen

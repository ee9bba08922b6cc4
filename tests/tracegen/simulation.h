// Time, processors and what goes on: the part all topics share.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "formats/etl/tracelogging_builder.h"
#include "tests/tracegen/options.h"
#include "tests/tracegen/random.h"
#include "tests/tracegen/trace_writer.h"
#include "tests/tracegen/world.h"

namespace etwpipe::tracegen {

constexpr int64_t kTicksPerSecond = 10'000'000;
constexpr int64_t kTicksPerMillisecond = 10'000;

/// One area of events: kernel lifetimes, input and output, .NET, ...
class Topic {
 public:
  Topic() = default;
  Topic(const Topic&) = delete;
  Topic& operator=(const Topic&) = delete;
  virtual ~Topic() = default;

  /// What the session writes when it starts.
  virtual void Begin() {}
  /// Lets something happen now.
  virtual void Step() = 0;
  /// Goes on with what Simulation::Schedule() was told.
  virtual void Resume(uint32_t /*code*/, uint64_t /*a*/, uint64_t /*b*/) {}
  virtual void ProcessStarted(ProcessIndex) {}
  /// The process's threads have ended already.
  virtual void ProcessEnded(ProcessIndex) {}
  /// What the session writes when it stops.
  virtual void End() {}
  /// Bytes that End() will write, about.
  virtual uint64_t end_size() const { return 0; }
};

class Simulation {
 public:
  Simulation(const Options& options, ByteSink& sink, Truth& truth, uint32_t process_count);

  Options options;
  Truth& truth;
  Random random;
  World world;
  TraceWriter writer;
  int64_t now;  ///< raw ticks

  /// Time passes until `ticks`; what is scheduled before happens.
  void AdvanceTo(int64_t ticks);
  /// All that has been written so far is past, on every processor.
  void Settle();
  void Schedule(Topic& topic, int64_t ticks, uint32_t code, uint64_t a = 0, uint64_t b = 0);

  /// An empty payload to fill; the next call empties it again.
  etl::PayloadWriter& NewPayload() { return payload_.Clear(); }

  uint16_t AnyCpu() { return static_cast<uint16_t>(random.Below(options.processors)); }
  Thread& RunningThread(uint16_t cpu) { return world.threads[world.running(cpu)]; }
  Process& RunningProcess(uint16_t cpu) { return world.processes[RunningThread(cpu).process]; }
  /// A processor where a thread of some process runs, not the idle one; Idle only if nobody can run.
  uint16_t BusyCpu();

  /// Writes an event of the thread that runs on `cpu`; returns its ticks. A thread's events never go back in time,
  /// whichever processors it runs on.
  template <typename Fields>
  int64_t Emit(Kind<Fields>& kind, uint16_t cpu, std::span<const std::byte> payload) {
    Thread& thread = RunningThread(cpu);
    const Place place = PlaceOf(thread, cpu);
    const int64_t ticks = writer.Write(kind, place, payload);
    thread.last_ticks = thread.tid == 0 ? 0 : ticks;
    return ticks;
  }
  template <typename Fields>
  int64_t Emit(Kind<Fields>& kind, uint16_t cpu, const etl::PayloadWriter& payload) {
    return Emit(kind, cpu, payload.bytes());
  }
  /// As Emit(), with ids of somebody else in the header.
  template <typename Fields>
  int64_t EmitAs(Kind<Fields>& kind, uint16_t cpu, uint32_t tid, uint32_t pid, std::span<const std::byte> payload) {
    return writer.Write(kind, {cpu, PlaceOf(world.threads[World::kIdleThread], cpu).ticks, tid, pid}, payload);
  }

  /// Lets a thread run and returns where: where it runs already, or on some processor after ReadyThread and CSwitch.
  uint16_t Run(ThreadIndex thread);
  /// CSwitch to a waiting thread or to idle.
  void SwitchTo(uint16_t cpu, ThreadIndex thread);
  /// StackWalk for the event that `cpu` wrote last, at `ticks`.
  void WalkStack(uint16_t cpu, int64_t ticks, uint64_t leaf = 0);

 private:
  struct Scheduled {
    int64_t ticks;
    uint64_t order;
    Topic* topic;
    uint32_t code;
    uint64_t a;
    uint64_t b;
    bool operator>(const Scheduled& other) const {
      return ticks != other.ticks ? ticks > other.ticks : order > other.order;
    }
  };

  Place PlaceOf(const Thread& thread, uint16_t cpu);

  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> scheduled_;
  uint64_t next_order_ = 0;
  etl::PayloadWriter payload_;
  SystemKind context_switch_;
  SystemKind ready_thread_;
  SystemKind stack_walk_;
};

/// PERFINFO or SYSTEM kind of a kernel group.
SystemKind MakeSystemKind(etl::RecordType type, uint8_t group, uint8_t opcode, uint8_t version);

}  // namespace etwpipe::tracegen

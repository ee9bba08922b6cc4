// A C++ build: compilers run and report nested activities through the etwpipe.ingest provider.
#pragma once

#include <string>
#include <vector>

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

class BuildEvents : public Topic {
 public:
  explicit BuildEvents(Simulation& simulation);

  void Step() override;
  void Resume(uint32_t code, uint64_t a, uint64_t b) override;
  void End() override;

 private:
  struct Open {
    uint64_t instance = 0;
    size_t what = 0;
    int64_t stop_after = 0;
    uint32_t truth = BoundedList<ActivityTruth>::kNotKept;
    bool planted = false;
  };
  using Stack = std::vector<Open>;

  void StepPlanted();
  void Start(ThreadIndex thread, size_t what, int64_t duration, const std::string& name);
  void Stop(ThreadIndex thread);
  void Emit(EventKind& kind, uint16_t cpu, const Open& open, const std::string& name);
  /// What an activity that has just started on `cpu` tells of itself in simple events.
  void EmitDetails(uint16_t cpu, const Open& open);
  /// A simple event; `number` goes to the optional field of `schema`.
  template <typename Number>
  void EmitSimple(uint16_t cpu, const etl::TraceLoggingSchema& schema, uint16_t event_id, std::string_view kind,
                  const std::string& name, Number number);

  Simulation& sim_;
  std::vector<Stack> stacks_;  // by thread
  uint64_t next_instance_ = 1;
  int64_t longest_;     // duration of a compiler, ticks
  uint32_t max_roots_;  // compilers that run at once
  uint32_t roots_ = 0;
  std::vector<std::string> files_, symbols_;
  ThreadIndex planted_thread_ = World::kIdleThread;
  etl::TraceLoggingSchema schema_, file_schema_, symbol_schema_;
  std::vector<std::byte> traits_;
  EventKind start_, stop_, simple_;
};

}  // namespace etwpipe::tracegen

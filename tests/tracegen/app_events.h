// What applications log: an EventSource with Start/Stop activities, TraceLogging events, WPP messages.
#pragma once

#include <string>
#include <vector>

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

class AppEvents : public Topic {
 public:
  explicit AppEvents(Simulation& simulation);

  void Begin() override;
  void Step() override;
  void Resume(uint32_t code, uint64_t a, uint64_t b) override;

 private:
  static constexpr uint32_t kMaxDepth = 4;

  /// An activity that has not stopped.
  struct Open {
    Guid id;
    int64_t stop_after = 0;
    uint32_t what = 0;
    uint32_t truth = BoundedList<ActivityTruth>::kNotKept;
  };
  /// Activities of one reserved thread, outermost first.
  using Stack = std::vector<Open>;

  ThreadIndex PickThread();
  void StartActivity(ThreadIndex thread, int64_t duration);
  void StopActivity(ThreadIndex thread);
  void EmitManifest(uint16_t cpu);
  void EmitTelemetry(uint16_t cpu);
  void EmitMessage(uint16_t cpu);

  Simulation& sim_;
  std::vector<Stack> stacks_;               // by thread
  std::vector<std::u16string> details_[3];  // by activity
  std::vector<std::string> urls_;
  EventKind manifest_;
  std::vector<EventKind> starts_, stops_;
  EventKind cache_miss_, order_placed_;
  EventKind telemetry_[3];
  std::vector<etl::TraceLoggingSchema> schemas_;
  std::vector<std::byte> traits_;
  MessageKind message_, message_plain_;
};

}  // namespace etwpipe::tracegen

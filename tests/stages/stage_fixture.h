// A stage over rows made by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan.h"
#include "stages/register_stages.h"

namespace etwpipe::test {

inline constexpr std::string_view kProcessGuid = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
inline constexpr std::string_view kThreadGuid = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
inline constexpr std::string_view kPerfInfoGuid = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
inline constexpr std::string_view kStackWalkGuid = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";
inline constexpr std::string_view kClrGuid = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
inline constexpr std::string_view kOtherGuid = "11111111-2222-3333-4444-555555555555";

/// Owns records; makes rows over them.
class Rows {
 public:
  explicit Rows(TraceContext& trace) : trace_(trace) {}

  /// An EVENT_HEADER64 row with pid and tid.
  EventHeader Event(std::string_view provider, int64_t timestamp, uint32_t pid = 100, uint32_t tid = 200) {
    EventHeader row;
    row.kind = HeaderKind::kEvent64;
    row.header_type = 19;
    row.flags = kHasPid | kHasTimestamp | kHasProvider | kPointer64;
    row.timestamp = timestamp;
    row.pid = pid;
    row.tid = tid;
    row.provider = *trace_.providers->Intern(GuidOf(provider));
    row.instance_id = ++last_id_;
    SetPayload(row, {});
    return row;
  }

  /// A PERFINFO64 row: neither pid nor tid.
  EventHeader PerfInfo(std::string_view provider, uint8_t opcode, int64_t timestamp) {
    EventHeader row = Event(provider, timestamp);
    row.kind = HeaderKind::kPerfInfo64;
    row.header_type = 17;
    row.flags = kHasTimestamp | kHasProvider | kPointer64;
    row.pid = kNoId;
    row.tid = kNoId;
    row.opcode = opcode;
    return row;
  }

  /// A StackWalk record logged at `timestamp` for the event of `owner_time` on (pid, tid).
  EventHeader Stack(uint8_t opcode, int64_t timestamp, int64_t owner_time, uint32_t pid, uint32_t tid) {
    EventHeader row = PerfInfo(kStackWalkGuid, opcode, timestamp);
    std::vector<std::byte> payload(24);
    std::memcpy(payload.data(), &owner_time, 8);
    std::memcpy(payload.data() + 8, &pid, 4);
    std::memcpy(payload.data() + 12, &tid, 4);
    SetPayload(row, payload);
    return row;
  }

  void SetPayload(EventHeader& row, const std::vector<std::byte>& payload) {
    records_.push_back(payload);
    row.record = records_.back().data();
    row.extended_begin = 0;
    row.payload_begin = 0;
    row.record_size = static_cast<uint16_t>(payload.size());
  }

 private:
  TraceContext& trace_;
  std::deque<std::vector<std::byte>> records_;
  EventInstanceId last_id_ = 0;
};

/// A stage made from a --stage argument and bound to a trace.
class StageRunner {
 public:
  StageRunner(std::string_view argument, const TraceContext& trace) : trace_(trace) {
    Registry registry;
    RegisterStages(registry);
    const auto config = ParseStageArgument(argument, registry);
    if (!config.ok()) {
      status_ = config.status();
      return;
    }
    v1::PipelineConfig pipeline;
    *pipeline.add_stages() = *config;
    auto plan = MakePlan(pipeline, registry);
    if (!plan.ok()) {
      status_ = plan.status();
      return;
    }
    plan_ = std::move(*plan);
    status_ = stage().Bind({trace});
    state_ = stage().NewState();
  }

  const Status& status() const { return status_; }
  Stage& stage() { return *plan_.stages.front().stage; }
  Diagnostics& diagnostics() { return diagnostics_; }

  /// Indexes of the rows that one batch of them leaves selected.
  std::vector<size_t> Run(const std::vector<EventHeader>& rows) {
    EXPECT_TRUE(status_.ok()) << status_.message();
    if (!status_.ok()) return {};
    EventBatch batch;
    batch.rows = rows;
    batch.SelectAll();
    const Status status = stage().Process({batch, trace_, state_.get(), &diagnostics_});
    EXPECT_TRUE(status.ok()) << status.message();
    return {batch.selection.begin(), batch.selection.end()};
  }

 private:
  const TraceContext& trace_;
  Plan plan_;
  std::unique_ptr<StageState> state_;
  Status status_;
  Diagnostics diagnostics_;
};

}  // namespace etwpipe::test

#include "tools/library/retention_filter.h"

#include <array>
#include <string_view>
#include <unordered_map>

#include "formats/schema/context_records.h"
#include "formats/schema/schema_registry.h"
#include "formats/schema/stack_owner.h"
#include "stages/kept_events.h"

namespace etwpipe::session {
namespace {

// What records of a provider are (etl-format.md 8).
enum class Family : uint8_t { kOther, kThread, kPerfInfo, kFileIo, kMemory, kClr, kKernelProcess };

Family FamilyOf(const Guid& guid) {
  static const std::unordered_map<Guid, Family> kFamilies = {
      {GuidOf("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"), Family::kThread},
      {GuidOf("ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"), Family::kPerfInfo},
      {GuidOf("3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c"), Family::kFileIo},         // DiskIo
      {GuidOf("90cbdc39-4a3e-11d1-84f4-0000f80464e3"), Family::kFileIo},         // FileIo
      {GuidOf("d837ca92-12b9-44a5-ad6a-3a65b3578aa8"), Family::kFileIo},         // SplitIo
      {GuidOf("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c"), Family::kMemory},         // PageFault
      {GuidOf("0268a8b6-74fd-4302-9dd0-6e8f1795c0cf"), Family::kMemory},         // Pool
      {GuidOf("222962ab-6180-4b88-a825-346b75f2a24a"), Family::kMemory},         // Heap
      {GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"), Family::kClr},            // runtime
      {GuidOf("a669021c-c450-4609-a035-5af59af4df18"), Family::kClr},            // rundown
      {GuidOf("763fd754-7086-4dfe-95eb-c01a46faf4ca"), Family::kClr},            // private
      {GuidOf("cc2bcbba-16b6-4cf3-8990-d74c2e8af500"), Family::kClr},            // stress
      {GuidOf("0bcd91db-f943-454a-a662-6edbcfbb76d2"), Family::kClr},            // classic methods
      {GuidOf("5a54f4df-d302-4fee-a211-6c2c0c1dcb1a"), Family::kClr},            // classic loader
      {GuidOf("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"), Family::kKernelProcess},  // Microsoft-Windows-Kernel-Process
  };
  const auto found = kFamilies.find(guid);
  return found == kFamilies.end() ? Family::kOther : found->second;
}

constexpr uint8_t kSwitch = 36;
constexpr uint8_t kReadyThread = 50;
constexpr uint8_t kSample = 46;
constexpr uint8_t kFirstInterval = 72;  // intervals of samples: change, collection start, collection end
constexpr uint8_t kLastInterval = 74;
constexpr uint16_t kLastProcessId = 6;  // processes, threads and images start and stop; 15: rundown of processes
constexpr uint16_t kProcessRundownId = 15;

class RetentionFilter final : public Stage {
 public:
  explicit RetentionFilter(RetentionFlags flags) : flags_(flags | kRetainProcesses) {
    info_.name = "session.retain";
    info_.order = Order::kTime;
    info_.ordered = true;
    info_.drops = true;
    info_.injects = true;
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    stacks_ = StackOwners(args.trace);
    return {};
  }

  std::unique_ptr<StageState> NewState() const override { return std::make_unique<State>(); }

  Status Process(const ProcessArgs& args) const override {
    if (flags_ == kRetainAll) return {};
    auto& state = static_cast<State&>(*args.state);
    args.batch.Retain([&](const EventHeader& row) {
      if (row.has(kInjected) && row.instance_id == 0) return true;
      if (const auto owner = stacks_.Find(row)) return state.kept.HasOwner(*owner);
      const bool keep = (RetentionOf(row, args.trace.provider_guid(row)) & flags_) != 0;
      if (keep) state.kept.Remember(row);
      return keep;
    });
    return {};
  }

 private:
  struct State : StageState {
    KeptEvents kept;
  };

  StageInfo info_;
  RetentionFlags flags_;
  StackOwners stacks_;
};

}  // namespace

RetentionFlags RetentionOf(const EventHeader& row, const Guid& provider) {
  const Family family = FamilyOf(provider);
  if (family == Family::kClr) return kRetainClr;
  const bool classic = schema::SchemaRegistry::IsClassic(row.kind);
  if (!classic) {
    const bool lives =
        family == Family::kKernelProcess && ((row.id >= 1 && row.id <= kLastProcessId) || row.id == kProcessRundownId);
    return lives ? kRetainProcesses : 0;
  }
  // Names of files are rundown: also without the I/O they explain images.
  if (schema::IsContextRecord(row, provider)) return kRetainProcesses;
  switch (family) {
    case Family::kThread: return row.opcode == kSwitch || row.opcode == kReadyThread ? kRetainContextSwitches : 0;
    case Family::kPerfInfo:
      return row.opcode == kSample || (row.opcode >= kFirstInterval && row.opcode <= kLastInterval) ? kRetainCpuSamples
                                                                                                    : 0;
    case Family::kFileIo: return kRetainFileIo;
    case Family::kMemory: return kRetainMemory;
    default: return 0;
  }
}

std::unique_ptr<Stage> MakeRetentionFilter(RetentionFlags flags) { return std::make_unique<RetentionFilter>(flags); }

}  // namespace etwpipe::session

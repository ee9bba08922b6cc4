#include "stages/filter_process/filter_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "formats/schema/context_records.h"
#include "stages/filter_process/options.pb.h"
#include "stages/stack_owner.h"

namespace etwpipe {
namespace {

StageInfo Describe() {
  StageInfo info;
  info.name = "filter.process";
  info.summary = "keeps the events of some processes, given by id";
  info.example = "filter.process:1234,5678";
  info.options = v1::FilterProcessOptions::descriptor();
  info.main_option = "pids";
  info.needs = StageNeeds::kPayload;
  info.drops = true;
  return info;
}

class FilterProcess : public Stage {
 public:
  FilterProcess(std::vector<uint32_t> pids, bool keep_context, bool keep_unattributed)
      : info_(Describe()), pids_(std::move(pids)), keep_context_(keep_context), keep_unattributed_(keep_unattributed) {
    std::sort(pids_.begin(), pids_.end());
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    stacks_ = StackOwners(args.trace);
    return {};
  }

  Status Process(const ProcessArgs& args) const override {
    uint64_t unattributed = 0;
    args.batch.Retain([&](const EventHeader& row) {
      uint32_t pid = row.has(kHasPid) ? row.pid : kNoId;
      if (const auto owner = stacks_.Find(row)) pid = owner->pid;
      if (pid != kNoId && std::binary_search(pids_.begin(), pids_.end(), pid)) return true;
      if (keep_context_ && schema::IsContextRecord(row, args.trace.provider_guid(row))) return true;
      if (pid != kNoId) return false;
      ++unattributed;
      return keep_unattributed_;
    });
    if (args.diagnostics != nullptr) args.diagnostics->AddCount(DiagnosticId::kUnattributed, unattributed);
    return {};
  }

 private:
  StageInfo info_;
  std::vector<uint32_t> pids_;
  bool keep_context_;
  bool keep_unattributed_;
  StackOwners stacks_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::FilterProcessOptions&>(message);
  if (options.pids().empty()) return Status::InvalidArgument("option pids: none is given; write 1234 or 1234,5678");
  std::vector<uint32_t> pids(options.pids().begin(), options.pids().end());
  if (std::find(pids.begin(), pids.end(), kNoId) != pids.end()) {
    return Status::InvalidArgument(
        fmt::format("option pids: {} stands for no process; use unattributed=keep for records without one", kNoId));
  }
  return std::unique_ptr<Stage>(std::make_unique<FilterProcess>(std::move(pids), options.context() == v1::CONTEXT_KEEP,
                                                                options.unattributed() == v1::UNATTRIBUTED_KEEP));
}

}  // namespace

Registry::Entry FilterProcessEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

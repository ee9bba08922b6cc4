#include "stages/filter_process/filter_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "formats/facts/record_owner.h"
#include "formats/schema/context_records.h"
#include "formats/schema/stack_owner.h"
#include "pipeline/object_pool.h"
#include "stages/filter_process/options.pb.h"

namespace etwpipe {
namespace {

FactSet FactsFor(v1::Attribute attribute) {
  switch (attribute) {
    case v1::ATTRIBUTE_PAYLOAD: return kThreads;
    case v1::ATTRIBUTE_ALL: return kThreads | kCpuState;
    default: return kNoFacts;
  }
}

StageInfo Describe() {
  StageInfo info;
  info.name = "filter.process";
  info.summary = "keeps the events of some processes, given by id";
  info.example = "filter.process:1234,5678";
  info.options = v1::FilterProcessOptions::descriptor();
  info.main_option = "pids";
  info.needs = StageNeeds::kPayload;
  info.facts = FactsFor(v1::ATTRIBUTE_PAYLOAD);
  info.drops = true;
  return info;
}

class FilterProcess : public Stage {
 public:
  FilterProcess(std::vector<uint32_t> pids, const v1::FilterProcessOptions& options)
      : info_(Describe()),
        pids_(std::move(pids)),
        keep_context_(options.context() == v1::CONTEXT_KEEP),
        keep_unattributed_(options.unattributed() == v1::UNATTRIBUTED_KEEP),
        attribute_(options.attribute()) {
    info_.facts = FactsFor(attribute_);
    std::sort(pids_.begin(), pids_.end());
  }

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    stacks_ = StackOwners(args.trace);
    providers_ = args.trace.providers;
    scratches_.Clear();  // they belong to the trace before
    return {};
  }

  // Records without a process id are looked up one by one, or counted; stack records have that of their owner, or none.
  bool DropsAll(const EventGroup& group) const override {
    if (!group.pids) return false;
    const bool all_have_pids = std::all_of(group.kinds.begin(), group.kinds.end(), [&](const EventHeader& kind) {
      if (!kind.has(kHasPid)) return false;
      return !keep_context_ || !schema::IsContextRecord(kind, providers_->guid(kind.provider));
    });
    return all_have_pids && std::none_of(group.pids->begin(), group.pids->end(), [&](uint32_t pid) {
             return pid == kNoId || std::binary_search(pids_.begin(), pids_.end(), pid);
           });
  }

  Status Process(const ProcessArgs& args) const override {
    uint64_t unattributed = 0;
    auto scratch = scratches_.Take(
        [&] { return std::make_unique<facts::OwnerScratch>(args.trace, attribute_ == v1::ATTRIBUTE_ALL); });
    args.batch.Retain([&](const EventHeader& row) {
      uint32_t pid = row.has(kHasPid) ? row.pid : kNoId;
      if (const auto owner = stacks_.Find(row)) pid = owner->pid;
      if (pid == kNoId && attribute_ != v1::ATTRIBUTE_NONE) {
        if (const auto owner = facts::OwnerOf(row, args.trace, *scratch)) pid = owner->pid;
      }
      if (pid != kNoId && std::binary_search(pids_.begin(), pids_.end(), pid)) return true;
      if (keep_context_ && schema::IsContextRecord(row, args.trace.provider_guid(row))) return true;
      if (pid != kNoId) return false;
      ++unattributed;
      return keep_unattributed_;
    });
    scratches_.Give(std::move(scratch));
    if (args.diagnostics != nullptr) args.diagnostics->AddCount(DiagnosticId::kUnattributed, unattributed);
    return {};
  }

 private:
  StageInfo info_;
  std::vector<uint32_t> pids_;
  bool keep_context_;
  bool keep_unattributed_;
  v1::Attribute attribute_;
  StackOwners stacks_;
  std::shared_ptr<ProviderTable> providers_;
  mutable ObjectPool<facts::OwnerScratch> scratches_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::FilterProcessOptions&>(message);
  if (options.pids().empty()) return Status::InvalidArgument("option pids: none is given; write 1234 or 1234,5678");
  std::vector<uint32_t> pids(options.pids().begin(), options.pids().end());
  if (std::find(pids.begin(), pids.end(), kNoId) != pids.end()) {
    return Status::InvalidArgument(
        fmt::format("option pids: {} stands for no process; use unattributed=keep for records without one", kNoId));
  }
  return std::unique_ptr<Stage>(std::make_unique<FilterProcess>(std::move(pids), options));
}

}  // namespace

Registry::Entry FilterProcessEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

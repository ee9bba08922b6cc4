#include "stages/filter_time/filter_time.h"

#include <algorithm>
#include <memory>

#include "formats/schema/context_records.h"
#include "formats/schema/stack_owner.h"
#include "stages/filter_time/options.pb.h"
#include "stages/filter_time/time_range.h"

namespace etwpipe {
namespace {

StageInfo Describe() {
  StageInfo info;
  info.name = "filter.time";
  info.summary = "keeps the events of a range of time, from inclusive, to exclusive";
  info.example = "filter.time:10s..20s";
  info.options = v1::FilterTimeOptions::descriptor();
  info.main_option = "range";
  info.needs = StageNeeds::kPayload;
  info.drops = true;
  return info;
}

class FilterTime : public Stage {
 public:
  FilterTime(const TimeRange& range, bool keep_context)
      : info_(Describe()), range_(range), keep_context_(keep_context) {}

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    const auto ticks = range_.Resolve(args.trace.info.clock);
    if (!ticks.ok()) return ticks.status().WithContext("option range");
    ticks_ = *ticks;
    providers_ = args.trace.providers;
    stacks_ = StackOwners(args.trace);
    return {};
  }

  bool DropsAll(const EventGroup& group) const override {
    const auto outside = [&](int64_t first, int64_t last) { return last < ticks_.first || first > ticks_.last; };
    if (!outside(group.min_timestamp, group.max_timestamp)) return false;
    const bool has_owners = group.min_owner_timestamp <= group.max_owner_timestamp;
    if (has_owners && !outside(group.min_owner_timestamp, group.max_owner_timestamp)) return false;
    return !keep_context_ || !HasContextRecords(group);
  }

  Status Process(const ProcessArgs& args) const override {
    args.batch.Retain([&](const EventHeader& row) {
      const auto owner = stacks_.Find(row);
      if (ticks_.Contains(owner ? owner->timestamp : row.timestamp)) return true;
      return keep_context_ && schema::IsContextRecord(row, args.trace.provider_guid(row));
    });
    return {};
  }

 private:
  bool HasContextRecords(const EventGroup& group) const {
    return std::any_of(group.kinds.begin(), group.kinds.end(), [&](const EventHeader& kind) {
      return schema::IsContextRecord(kind, providers_->guid(kind.provider));
    });
  }

  StageInfo info_;
  TimeRange range_;
  bool keep_context_;
  TickRange ticks_;
  std::shared_ptr<ProviderTable> providers_;
  StackOwners stacks_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::FilterTimeOptions&>(message);
  const auto range = TimeRange::Parse(options.range());
  if (!range.ok()) return range.status().WithContext("option range");
  return std::unique_ptr<Stage>(std::make_unique<FilterTime>(*range, options.context() == v1::CONTEXT_KEEP));
}

}  // namespace

Registry::Entry FilterTimeEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

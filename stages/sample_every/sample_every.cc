#include "stages/sample_every/sample_every.h"

#include <memory>
#include <unordered_map>

#include "formats/schema/context_records.h"
#include "formats/schema/stack_owner.h"
#include "stages/kept_events.h"
#include "stages/sample_every/options.pb.h"

namespace etwpipe {
namespace {

StageInfo Describe() {
  StageInfo info;
  info.name = "sample.every";
  info.summary = "keeps the 1st, the n+1st, the 2n+1st ... event of each kind";
  info.example = "sample.every:100";
  info.options = v1::SampleEveryOptions::descriptor();
  info.main_option = "n";
  info.needs = StageNeeds::kPayload;
  info.order = Order::kTime;
  info.ordered = true;
  info.drops = true;
  return info;
}

struct Kind {
  ProviderIndex provider;
  uint64_t identity;  // id, version, opcode, header kind and type side by side

  friend bool operator==(const Kind&, const Kind&) = default;
};

Kind KindOf(const EventHeader& row) {
  // The type tells unknown headers apart; elsewhere it follows from the kind.
  const uint64_t type = row.kind == HeaderKind::kUnknown ? row.header_type : 0;
  return {row.provider, uint64_t{row.id} | uint64_t{row.version} << 16 | uint64_t{row.opcode} << 32 |
                            uint64_t{static_cast<uint8_t>(row.kind)} << 40 | type << 48};
}

struct KindHash {
  size_t operator()(const Kind& kind) const noexcept {
    uint64_t hash = (kind.identity ^ uint64_t{kind.provider} << 44) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
    return static_cast<size_t>(hash * 0xD6E8FEB86659FD93ull);
  }
};

struct State : StageState {
  std::unordered_map<Kind, uint64_t, KindHash> to_skip;  // events of the kind to drop before the next is kept
  KeptEvents kept;
};

class SampleEvery : public Stage {
 public:
  SampleEvery(uint64_t n, bool keep_context) : info_(Describe()), n_(n), keep_context_(keep_context) {}

  const StageInfo& info() const override { return info_; }

  Status Bind(const BindArgs& args) override {
    stacks_ = StackOwners(args.trace);
    return {};
  }

  std::unique_ptr<StageState> NewState() const override { return std::make_unique<State>(); }

  Status Process(const ProcessArgs& args) const override {
    auto& state = static_cast<State&>(*args.state);
    args.batch.Retain([&](const EventHeader& row) {
      if (const auto owner = stacks_.Find(row)) return state.kept.HasOwner(*owner);
      const bool keep =
          (keep_context_ && schema::IsContextRecord(row, args.trace.provider_guid(row))) || IsTurnOf(row, state);
      if (keep) state.kept.Remember(row);
      return keep;
    });
    return {};
  }

 private:
  bool IsTurnOf(const EventHeader& row, State& state) const {
    uint64_t& to_skip = state.to_skip[KindOf(row)];
    if (to_skip > 0) {
      --to_skip;
      return false;
    }
    to_skip = n_ - 1;
    return true;
  }

  StageInfo info_;
  uint64_t n_;
  bool keep_context_;
  StackOwners stacks_;
};

Result<std::unique_ptr<Stage>> Make(const google::protobuf::Message& message) {
  const auto& options = static_cast<const v1::SampleEveryOptions&>(message);
  if (options.n() == 0) return Status::InvalidArgument("option n: it must be at least 1, such as 100");
  return std::unique_ptr<Stage>(std::make_unique<SampleEvery>(options.n(), options.context() == v1::CONTEXT_KEEP));
}

}  // namespace

Registry::Entry SampleEveryEntry() { return {Describe(), Make}; }

}  // namespace etwpipe

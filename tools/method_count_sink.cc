#include "tools/method_count_sink.h"

#include <algorithm>
#include <unordered_map>

namespace etwpipe {

using facts::LookupOutcome;

struct MethodCountSink::Chunk final : SinkChunk {
  std::unordered_map<size_t, MethodUse> uses;
  std::map<UnknownMethod, MethodUse> unknown;
  std::array<uint64_t, kOutcomes> outcomes{};
};

MethodCountSink::MethodCountSink() = default;
MethodCountSink::~MethodCountSink() = default;

void MethodUse::Add(const MethodUse& more) {
  count += more.count;
  first = std::min(first, more.first);
  last = std::max(last, more.last);
}

Status MethodCountSink::Begin(const BeginArgs& args) {
  trace_ = &args.trace;
  methods_ = args.trace.facts->Get<facts::MethodTable>();
  registry_ = args.trace.facts->Get<schema::SchemaRegistry>();
  if (methods_ == nullptr || registry_ == nullptr) return Status::Internal("no facts to count methods by");
  uses_.resize(methods_->versions().size());
  return {};
}

Result<std::unique_ptr<SinkChunk>> MethodCountSink::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<Chunk>();
  auto references = references_.Take([&] { return std::make_unique<facts::MethodReferences>(*registry_, *trace_); });
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    const auto reference = references->Of(row);
    if (!reference) continue;
    const auto hit = reference->FindIn(*methods_, row);
    ++chunk->outcomes[static_cast<size_t>(hit.outcome)];
    const MethodUse use{1, row.timestamp, row.timestamp};
    if (hit.method != nullptr) {
      chunk->uses[static_cast<size_t>(hit.method - methods_->versions().data())].Add(use);
    } else {
      chunk->unknown[{row.pid, reference->clr_instance, reference->method_id}].Add(use);
    }
  }
  references_.Give(std::move(references));
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status MethodCountSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  const auto& counted = static_cast<const Chunk&>(*chunk);
  for (const auto& [version, use] : counted.uses) uses_[version].Add(use);
  for (const auto& [method, use] : counted.unknown) unknown_[method].Add(use);
  for (size_t i = 0; i < kOutcomes; ++i) outcomes_[i] += counted.outcomes[i];
  return {};
}

}  // namespace etwpipe

#include "tools/method_count_sink.h"

#include <algorithm>
#include <unordered_map>

#include "formats/facts/code_addresses.h"
#include "formats/facts/record_owner.h"

namespace etwpipe {

using facts::LookupOutcome;

struct MethodCountSink::Chunk final : SinkChunk {
  std::unordered_map<size_t, MethodUse> uses;
  std::map<UnknownMethod, MethodUse> unknown;
  std::unordered_map<size_t, uint64_t> address_uses;
  std::array<uint64_t, kOutcomes> outcomes{};
  std::array<uint64_t, kOutcomes> addresses{};
};

struct MethodCountSink::Scratch {
  Scratch(const schema::SchemaRegistry& registry, const TraceContext& trace)
      : references(registry, trace), addresses(registry, trace), owner(trace, false) {}

  facts::MethodReferences references;
  facts::CodeAddresses addresses;
  facts::OwnerScratch owner;
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
  address_uses_.resize(methods_->versions().size());
  return {};
}

Result<std::unique_ptr<SinkChunk>> MethodCountSink::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<Chunk>();
  auto scratch = scratches_.Take([&] { return std::make_unique<Scratch>(*registry_, *trace_); });
  const auto number_of = [&](const facts::MethodVersion* method) {
    return static_cast<size_t>(method - methods_->versions().data());
  };
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    const auto reference = scratch->references.Of(row);
    if (!reference) {
      const auto address = scratch->addresses.Of(row);
      if (!address) continue;
      const auto owner = OwnerOf(row, *trace_, scratch->owner);
      if (!owner || !methods_->KnowsProcess(owner->pid, row.timestamp)) continue;
      const auto hit = methods_->FindAddress(owner->pid, *address, row.timestamp);
      ++chunk->addresses[static_cast<size_t>(hit.outcome)];
      if (hit.method != nullptr) ++chunk->address_uses[number_of(hit.method)];
      continue;
    }
    const auto hit = reference->FindIn(*methods_, row);
    ++chunk->outcomes[static_cast<size_t>(hit.outcome)];
    const MethodUse use{1, row.timestamp, row.timestamp};
    if (hit.method != nullptr) {
      chunk->uses[number_of(hit.method)].Add(use);
    } else {
      chunk->unknown[{row.pid, reference->clr_instance, reference->method_id}].Add(use);
    }
  }
  scratches_.Give(std::move(scratch));
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status MethodCountSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  const auto& counted = static_cast<const Chunk&>(*chunk);
  for (const auto& [version, use] : counted.uses) uses_[version].Add(use);
  for (const auto& [method, use] : counted.unknown) unknown_[method].Add(use);
  for (const auto& [version, count] : counted.address_uses) address_uses_[version] += count;
  for (size_t i = 0; i < kOutcomes; ++i) {
    outcomes_[i] += counted.outcomes[i];
    addresses_[i] += counted.addresses[i];
  }
  return {};
}

}  // namespace etwpipe

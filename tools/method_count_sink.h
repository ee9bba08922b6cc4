// Counts which events refer to which method, by MethodID or by a code address: what `methods` reads.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "formats/facts/method_reference.h"
#include "pipeline/object_pool.h"
#include "pipeline/sink.h"

namespace etwpipe {

/// How often something was referred to, and when. Raw ticks.
struct MethodUse {
  uint64_t count = 0;
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();

  void Add(const MethodUse& more);
};

/// What no record told of. Ordered by pid, runtime, id.
struct UnknownMethod {
  uint32_t pid = 0;
  std::optional<uint16_t> clr_instance;
  uint64_t method_id = 0;
  friend auto operator<=>(const UnknownMethod&, const UnknownMethod&) = default;
};

/// Looks up every reference (formats/facts/method_reference.h) of the selected events, and the code addresses
/// (formats/facts/code_addresses.h) of events without one, in processes that have a CLR. Results do not depend on the
/// number of threads.
class MethodCountSink final : public Sink {
 public:
  static constexpr size_t kOutcomes = static_cast<size_t>(facts::LookupOutcome::kUnknown) + 1;

  MethodCountSink();
  ~MethodCountSink() override;

  SinkInfo info() const override {
    return {.facts = static_cast<FactSet>(kSchemas | kProcesses | kThreads | kMethods)};
  }
  Status Begin(const BeginArgs& args) override;
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override;
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) override;
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

  /// Of the version of that index in MethodTable::versions().
  const MethodUse& use(size_t version) const { return uses_[version]; }
  uint64_t count(facts::LookupOutcome outcome) const { return outcomes_[static_cast<size_t>(outcome)]; }
  /// The same of code addresses.
  uint64_t address_uses(size_t version) const { return address_uses_[version]; }
  uint64_t address_count(facts::LookupOutcome outcome) const { return addresses_[static_cast<size_t>(outcome)]; }
  const std::map<UnknownMethod, MethodUse>& unknown() const { return unknown_; }

 private:
  struct Chunk;

  const TraceContext* trace_ = nullptr;
  const facts::MethodTable* methods_ = nullptr;
  const schema::SchemaRegistry* registry_ = nullptr;
  struct Scratch;
  mutable ObjectPool<Scratch> scratches_;
  std::vector<MethodUse> uses_;
  std::vector<uint64_t> address_uses_;
  std::map<UnknownMethod, MethodUse> unknown_;
  std::array<uint64_t, kOutcomes> outcomes_{};
  std::array<uint64_t, kOutcomes> addresses_{};
};

}  // namespace etwpipe

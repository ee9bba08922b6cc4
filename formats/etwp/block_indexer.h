// What the index says of a block beside its kinds, so that filters can pass over it (proto/archive.proto, BlockEntry).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "formats/etwp/block_encoder.h"
#include "formats/schema/stack_owner.h"
#include "pipeline/trace_context.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Most process ids that an entry lists.
constexpr size_t kMaxListedPids = 1024;

/// Summarises blocks, one at a time; keeps its working memory.
class BlockIndexer {
 public:
  BlockIndexer() : stacks_(trace_) {}

  /// Adds processors, process ids and owners of stacks to `entry`.
  void Summarise(std::span<const BlockRow> rows, v1::BlockEntry& entry);

 private:
  struct Kind {
    bool known = false;
    EventHeader header;
  };
  const Kind& KindOf(const BlockRow& row);
  void AddPid(uint32_t pid);

  TraceContext trace_;  // of its own: kinds are looked at, nothing else
  StackOwners stacks_;
  std::unordered_map<uint32_t, Kind> kinds_;  // by number, which keeps its meaning in the file
  std::vector<uint32_t> pids_;
  std::vector<uint32_t> cpus_;
};

}  // namespace etwpipe::etwp

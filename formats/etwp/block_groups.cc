#include "formats/etwp/block_groups.h"

#include "formats/etwp/record_rows.h"

namespace etwpipe::etwp {

const EventGroup* BlockGroups::GroupOf(const BlockSummary& block) {
  if (block.entry == nullptr || !block.entry->summarised()) return nullptr;
  const v1::BlockEntry& entry = *block.entry;
  rows_.clear();
  for (const uint32_t number : block.kinds) {
    auto found = kinds_.find(number);
    if (found == kinds_.end()) {
      const RecordTemplate* kind = archive_.dictionary().kind(number);
      EventHeader row;
      etl::ProviderResolver providers(*trace_.providers);
      if (kind == nullptr || !KindHeader(*kind, trace_.info.pointer_size, providers, row)) return nullptr;
      found = kinds_.emplace(number, row).first;
    }
    rows_.push_back(found->second);
  }
  group_ = EventGroup{.events = block.events,
                      .min_timestamp = block.min_timestamp,
                      .max_timestamp = block.max_timestamp,
                      .kinds = rows_,
                      .cpus = {entry.cpus().data(), static_cast<size_t>(entry.cpus_size())},
                      .pids = std::nullopt};
  if (!entry.many_pids()) group_.pids.emplace(entry.pids().data(), static_cast<size_t>(entry.pids_size()));
  if (entry.stack_records()) {
    group_.min_owner_timestamp = entry.min_stack_timestamp();
    group_.max_owner_timestamp = entry.max_stack_timestamp();
  }
  return &group_;
}

}  // namespace etwpipe::etwp

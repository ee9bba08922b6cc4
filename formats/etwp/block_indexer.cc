#include "formats/etwp/block_indexer.h"

#include <algorithm>

#include "formats/etwp/record_rows.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

// Distinct values are few beside the rows, so they are put in order whenever the list has doubled.
void SortUnique(std::vector<uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

const BlockIndexer::Kind& BlockIndexer::KindOf(const BlockRow& row) {
  const auto [found, fresh] = kinds_.try_emplace(row.kind_number);
  if (fresh) {
    etl::ProviderResolver providers(*trace_.providers);
    // Which pointers the session had makes no difference for what is read here.
    found->second.known = KindHeader(*row.kind, 8, providers, found->second.header);
  }
  return found->second;
}

void BlockIndexer::AddPid(uint32_t pid) {
  if (!pids_.empty() && pids_.back() == pid) return;
  if (pids_.size() == 4 * kMaxListedPids) {
    SortUnique(pids_);
    if (pids_.size() > kMaxListedPids) return;
  }
  pids_.push_back(pid);
}

void BlockIndexer::Summarise(std::span<const BlockRow> rows, v1::BlockEntry& entry) {
  pids_.clear();
  cpus_.clear();
  for (const BlockRow& row : rows) {
    const Kind& kind = KindOf(row);
    if (!kind.known) return;
    if (cpus_.empty() || cpus_.back() != row.cpu) cpus_.push_back(row.cpu);
    if (cpus_.size() == 4096) SortUnique(cpus_);
    if (row.kind->has(v1::Slot::FIELD_PID)) {
      AddPid(LoadAt<uint32_t>(row.record, row.kind->slot(v1::Slot::FIELD_PID)));
    }
    EventHeader header = kind.header;
    header.record = row.record;
    header.record_size = row.size;
    header.payload_begin = static_cast<uint16_t>(row.kind->header_size() + row.extended_size);
    const auto owner = stacks_.Find(header);
    if (!owner) continue;
    AddPid(owner->pid);
    entry.set_min_stack_timestamp(
        entry.stack_records() ? std::min<int64_t>(entry.min_stack_timestamp(), owner->timestamp) : owner->timestamp);
    entry.set_max_stack_timestamp(
        entry.stack_records() ? std::max<int64_t>(entry.max_stack_timestamp(), owner->timestamp) : owner->timestamp);
    entry.set_stack_records(true);
  }
  SortUnique(cpus_);
  SortUnique(pids_);
  entry.set_summarised(true);
  for (const uint32_t cpu : cpus_) entry.add_cpus(cpu);
  entry.set_many_pids(pids_.size() > kMaxListedPids);
  if (entry.many_pids()) return;
  for (const uint32_t pid : pids_) entry.add_pids(pid);
}

}  // namespace etwpipe::etwp

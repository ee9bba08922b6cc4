#include "formats/facts/clr_table.h"

#include <algorithm>
#include <tuple>

namespace etwpipe::facts {
namespace {

template <typename Entity>
void CollectPids(const std::vector<ClrRecord<Entity>>& records, std::vector<uint32_t>& pids) {
  for (const auto& record : records) pids.push_back(record.entity.pid);
}

// The lives of one kind; `spans_of`, if given, gets the process instance of each.
template <typename Entity>
std::vector<Entity> BuildLives(std::vector<ClrRecord<Entity>> records, const ProcessSpans& spans,
                               std::vector<uint32_t>* spans_of) {
  using Kind = typename ClrRecord<Entity>::Kind;
  struct Placed {
    uint32_t span;
    const ClrRecord<Entity>* record;
  };
  std::vector<Placed> order;
  order.reserve(records.size());
  for (const auto& record : records) order.push_back({spans.Find(record.entity.pid, record.timestamp), &record});
  std::sort(order.begin(), order.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.span, a.record->entity.id, a.record->timestamp, a.record->record) <
           std::tie(b.span, b.record->entity.id, b.record->timestamp, b.record->record);
  });
  std::vector<Entity> lives;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [span, record] = order[i];
    const bool same = i != 0 && order[i - 1].span == span && order[i - 1].record->entity.id == record->entity.id;
    const bool open = same && lives.back().to == spans.end(span);
    if (open || (same && record->kind == Kind::kUnload)) {
      Learn(lives.back(), record->entity);
    } else {
      int64_t from = record->timestamp;
      if (record->kind != Kind::kLoad) from = same ? lives.back().to : std::min(from, spans.start(span));
      lives.push_back(record->entity);
      lives.back().from = from;
      lives.back().to = spans.end(span);
      if (spans_of != nullptr) spans_of->push_back(span);
    }
    if (record->kind == Kind::kUnload && lives.back().to == spans.end(span)) lives.back().to = record->timestamp;
  }
  return lives;
}

}  // namespace

ClrTable ClrTable::Build(ClrRecords records, const ProcessTable* processes) {
  std::vector<uint32_t> pids;
  CollectPids(records.runtimes, pids);
  CollectPids(records.app_domains, pids);
  CollectPids(records.assemblies, pids);
  CollectPids(records.modules, pids);
  ClrTable table;
  table.spans_ = ProcessSpans(std::move(pids), processes);
  table.runtimes_ = BuildLives(std::move(records.runtimes), table.spans_, nullptr);
  table.app_domains_ = BuildLives(std::move(records.app_domains), table.spans_, nullptr);
  table.assemblies_ = BuildLives(std::move(records.assemblies), table.spans_, nullptr);
  table.modules_ = BuildLives(std::move(records.modules), table.spans_, &table.module_spans_);
  table.rundowns_ = std::move(records.rundowns);
  std::sort(table.rundowns_.begin(), table.rundowns_.end(), [](const ClrRundown& a, const ClrRundown& b) {
    return std::tie(a.pid, a.clr_instance, a.at_end) < std::tie(b.pid, b.clr_instance, b.at_end);
  });
  return table;
}

const ClrModule* ClrTable::FindModule(uint32_t pid, uint64_t module_id, int64_t time) const {
  const uint32_t span = spans_.Find(pid, time);
  if (span == ProcessSpans::kNone) return nullptr;
  // The first life that begins after `time`.
  size_t first = 0;
  for (size_t left = modules_.size(); left != 0;) {
    const size_t half = left / 2;
    const size_t middle = first + half;
    if (std::tie(module_spans_[middle], modules_[middle].id, modules_[middle].from) <=
        std::tie(span, module_id, time)) {
      first = middle + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  const auto is_one = [&](size_t index) { return module_spans_[index] == span && modules_[index].id == module_id; };
  const bool has_before = first != 0 && is_one(first - 1);
  if (has_before && modules_[first - 1].to >= time) return &modules_[first - 1];
  if (first != modules_.size() && is_one(first)) return &modules_[first];
  return has_before ? &modules_[first - 1] : nullptr;
}

}  // namespace etwpipe::facts

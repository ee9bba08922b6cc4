#include "formats/facts/type_table.h"

#include <algorithm>
#include <tuple>

namespace etwpipe::facts {

TypeTable TypeTable::Build(std::vector<TypeRecord> records) {
  const auto key = [](const TypeRecord& record) {
    return std::tie(record.pid, record.type_id, record.timestamp, record.name);
  };
  std::sort(records.begin(), records.end(), [&](const TypeRecord& a, const TypeRecord& b) { return key(a) < key(b); });
  const auto repeats = [](const TypeRecord& a, const TypeRecord& b) {
    return a.pid == b.pid && a.type_id == b.type_id && a.name == b.name;
  };
  records.erase(std::unique(records.begin(), records.end(), repeats), records.end());
  TypeTable table;
  table.records_ = std::move(records);
  for (size_t i = 0; i < table.records_.size(); ++i) {
    const TypeRecord& record = table.records_[i];
    const auto [place, added] = table.ranges_.try_emplace({record.pid, record.type_id}, i, i + 1);
    if (!added) place->second.second = i + 1;
  }
  return table;
}

std::string_view TypeTable::Find(uint32_t pid, uint64_t type_id, int64_t timestamp) const {
  const auto range = ranges_.find({pid, type_id});
  if (range == ranges_.end()) return {};
  const auto begin = records_.begin() + static_cast<ptrdiff_t>(range->second.first);
  const auto end = records_.begin() + static_cast<ptrdiff_t>(range->second.second);
  const auto after = std::upper_bound(begin, end, timestamp,
                                      [](int64_t time, const TypeRecord& record) { return time < record.timestamp; });
  return after == begin ? begin->name : (after - 1)->name;
}

}  // namespace etwpipe::facts

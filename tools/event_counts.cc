#include "tools/event_counts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "formats/etwp/etwp_source.h"

namespace etwpipe {
namespace {

// What rows of a grouping share; everything else is cleared.
void Reduce(CountBy by, EventCount& row) {
  if (by == CountBy::kKind || (by == CountBy::kName && row.name.empty())) return;
  if (by == CountBy::kProvider) row.name.clear();
  if (by == CountBy::kName || by == CountBy::kProvider) {
    row.header.clear();
    row.id = 0;
    row.version = 0;
    row.opcode = 0;
  }
  // Kernel groups are many providers of one name.
  if (by == CountBy::kName) row.provider.reset();
}

auto KeyOf(CountBy by, const EventCount& row) {
  // Events of one kind may have several names, events of one provider several names of it.
  const bool named = by == CountBy::kName;
  return std::tuple(row.provider ? ToString(*row.provider) : std::string(), named ? row.provider_name : std::string(),
                    named ? row.name : std::string(), row.id, row.opcode, row.version, row.header, row.pid, row.tid,
                    row.process);
}

}  // namespace

EventCount ToEventCount(const schema::KindCount& kind) {
  EventCount row;
  row.header = kind.header;
  row.provider = kind.provider;
  row.provider_name = kind.provider_name;
  row.name = kind.name;
  row.id = kind.id;
  row.version = kind.version;
  row.opcode = kind.opcode;
  row.count = kind.count;
  row.bytes = kind.bytes;
  if (kind.origin) {
    row.origins.push_back(*kind.origin);
  } else {
    row.opaque = kind.count;
  }
  return row;
}

std::vector<EventCount> GroupCounts(CountBy by, std::vector<EventCount> rows) {
  std::map<decltype(KeyOf(by, EventCount())), EventCount> merged;
  for (EventCount& row : rows) {
    Reduce(by, row);
    const auto [place, added] = merged.emplace(KeyOf(by, row), row);
    if (added) continue;
    EventCount& into = place->second;
    into.count += row.count;
    into.bytes += row.bytes;
    into.opaque += row.opaque;
    if (into.name != row.name) into.name.clear();
    if (into.provider_name.empty()) into.provider_name = row.provider_name;
    into.origins.insert(into.origins.end(), row.origins.begin(), row.origins.end());
  }
  rows.clear();
  for (auto& [key, row] : merged) {
    std::sort(row.origins.begin(), row.origins.end());
    row.origins.erase(std::unique(row.origins.begin(), row.origins.end()), row.origins.end());
    rows.push_back(std::move(row));
  }
  // The map has the order of ties.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const EventCount& a, const EventCount& b) { return a.count > b.count; });
  return rows;
}

std::optional<EventCounts> CountsFromIndex(const Source& source, CountBy by, Diagnostics* diagnostics) {
  const auto* archive = dynamic_cast<const etwp::EtwpSource*>(&source);
  if (archive == nullptr || by == CountBy::kProcess || by == CountBy::kThread) return std::nullopt;
  const auto summary = archive->Summary();
  if (!summary) return std::nullopt;
  EventCounts counts;
  for (const schema::KindCount& kind : summary->kinds) {
    counts.events += kind.count;
    counts.rows.push_back(ToEventCount(kind));
  }
  counts.rows = GroupCounts(by, std::move(counts.rows));
  counts.first_time = summary->first_time;
  counts.last_time = summary->last_time;
  archive->AddRecordedDamage(diagnostics);
  return counts;
}

}  // namespace etwpipe

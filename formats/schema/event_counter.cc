#include "formats/schema/event_counter.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "formats/schema/extended_items.h"
#include "formats/schema/provider_names.h"
#include "pipeline/header_name.h"

namespace etwpipe::schema {
namespace {

// Examples of more kinds than this are not kept: a hostile file cannot fill the memory.
constexpr size_t kMaxExampleBytes = 64u << 20;

}  // namespace

void EventCounter::Clear() {
  std::fill(slots_.begin(), slots_.end(), 0);
  entries_.clear();
  examples_.Clear();
  example_bytes_ = 0;
  last_ = 0;
}

size_t EventCounter::Place(const Key& key, const EventHeader& example) {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = key.Hash() & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) {
      entries_.push_back({key, 0, 0, Kept(example)});
      slots_[slot] = static_cast<uint32_t>(entries_.size());
      if (entries_.size() * 2 > slots_.size()) Grow();
      return entries_.size() - 1;
    }
    if (entries_[slots_[slot] - 1].key == key) return slots_[slot] - 1;
  }
}

EventHeader EventCounter::Kept(EventHeader row) {
  if (row.record == nullptr) return row;
  const auto record = row.record_bytes();
  row.record = nullptr;
  if (record.size() > kMaxExampleBytes - example_bytes_) return row;
  example_bytes_ += record.size();
  const auto copy = examples_.Allocate(record.size());
  std::copy(record.begin(), record.end(), copy.begin());
  row.record = copy.data();
  return row;
}

void EventCounter::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = entries_[i].key.Hash() & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

EventCounter::Key KindKey(const EventHeader& row) {
  const uint64_t type = row.kind == HeaderKind::kUnknown ? row.header_type : 0;
  EventCounter::Key key{row.id | uint64_t{row.version} << 16 | uint64_t{row.opcode} << 32 |
                            static_cast<uint64_t>(row.kind) << 40 | type << 48,
                        row.provider | uint64_t{row.has(kHasProvider)} << 32, 0};
  if (row.has(kHasExtended)) {
    const auto metadata = FindExtendedItem(row, ExtendedType::kTraceLogging);
    if (!metadata.empty()) key.metadata = XXH3_64bits(metadata.data(), metadata.size());
  }
  return key;
}

std::vector<KindCount> CountsOf(const EventCounter& counter, const TraceContext& trace,
                                const SchemaRegistry* registry) {
  std::optional<SchemaLookup> lookup;
  if (registry != nullptr) lookup.emplace(*registry, trace);
  const auto key_of = [](const KindCount& row) {
    return std::tuple(row.header, row.provider ? ToString(*row.provider) : std::string(), row.id, row.version,
                      row.opcode, row.provider_name, row.name, row.origin);
  };
  std::map<decltype(key_of(KindCount())), KindCount> kinds;
  for (const auto& [key, count, bytes, example] : counter.entries()) {
    KindCount row;
    row.header = HeaderName(static_cast<HeaderKind>(key.low >> 40 & 0xFF), static_cast<uint8_t>(key.low >> 48));
    if (key.high >> 32 != 0) row.provider = trace.providers->guid(static_cast<ProviderIndex>(key.high));
    row.id = static_cast<uint16_t>(key.low);
    row.version = static_cast<uint16_t>(key.low >> 16);
    row.opcode = static_cast<uint8_t>(key.low >> 32);
    const auto* known = row.provider ? FindProvider(*row.provider) : nullptr;
    if (known != nullptr) row.provider_name = known->name;
    const EventSchema* schema = lookup && example.record != nullptr ? lookup->Find(example) : nullptr;
    if (schema != nullptr) {
      row.provider_name = schema->provider->name;
      row.name = schema->name;
      row.origin = schema->origin;
    }
    KindCount& total = kinds.try_emplace(key_of(row), row).first->second;
    total.count += count;
    total.bytes += bytes;
  }
  std::vector<KindCount> counts;
  counts.reserve(kinds.size());
  for (auto& [key, row] : kinds) counts.push_back(std::move(row));
  return counts;
}

}  // namespace etwpipe::schema

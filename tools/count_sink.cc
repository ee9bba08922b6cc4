// Prepare() counts a batch into a small open-addressing table, remembering the last entry, since records of one kind
// come in runs; Cut() adds the table to the total. Nothing is allocated per event. Each entry keeps one record of its
// kind, so that the schemas, which may stand at the end of the trace, can name it afterwards.
#include "tools/count_sink.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "formats/schema/extended_items.h"
#include "formats/schema/provider_names.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/byte_reader.h"
#include "pipeline/header_name.h"

namespace etwpipe {
namespace {

// What a grouping tells events apart by, packed so that equality is three comparisons.
struct Key {
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t metadata = 0;  // hash of what describes a TraceLogging event

  friend bool operator==(const Key&, const Key&) = default;
  uint64_t Hash() const {
    const uint64_t mixed = (low ^ std::rotl(high, 29) ^ metadata) * 0x9E3779B97F4A7C15u;
    return mixed ^ mixed >> 32;
  }
};

Key KindKey(const EventHeader& row) {
  const uint64_t type = row.kind == HeaderKind::kUnknown ? row.header_type : 0;
  Key key{row.id | uint64_t{row.version} << 16 | uint64_t{row.opcode} << 32 | static_cast<uint64_t>(row.kind) << 40 |
              type << 48,
          row.provider | uint64_t{row.has(kHasProvider)} << 32, 0};
  if (row.has(kHasExtended)) {
    const auto metadata = schema::FindExtendedItem(row, schema::ExtendedType::kTraceLogging);
    if (!metadata.empty()) key.metadata = XXH3_64bits(metadata.data(), metadata.size());
  }
  return key;
}

// Examples of more kinds than this are not kept: a hostile file cannot fill the memory.
constexpr size_t kMaxExampleBytes = 64u << 20;

}  // namespace

// Counts per key; the slots hold indexes into the entries.
class CountSink::Counter {
 public:
  struct Entry {
    Key key;
    uint64_t count = 0;
    uint64_t bytes = 0;
    EventHeader example;  // its record lies in the counter's arena; null where there was no room
  };

  Counter() : slots_(kFirstSlots, 0) {}

  void Add(const Key& key, const EventHeader& row) { Add(key, 1, row.record_size, row); }
  void Add(const Entry& entry) { Add(entry.key, entry.count, entry.bytes, entry.example); }
  const std::vector<Entry>& entries() const { return entries_; }
  void Clear() {
    std::fill(slots_.begin(), slots_.end(), 0);
    entries_.clear();
    examples_.Clear();
    example_bytes_ = 0;
    last_ = 0;
  }

 private:
  static constexpr size_t kFirstSlots = 256;

  void Add(const Key& key, uint64_t count, uint64_t bytes, const EventHeader& example) {
    if (last_ == entries_.size() || !(entries_[last_].key == key)) last_ = Place(key, example);
    entries_[last_].count += count;
    entries_[last_].bytes += bytes;
  }

  size_t Place(const Key& key, const EventHeader& example) {
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

  EventHeader Kept(EventHeader row) {
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

  void Grow() {
    slots_.assign(slots_.size() * 2, 0);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < entries_.size(); ++i) {
      size_t slot = entries_[i].key.Hash() & mask;
      while (slots_[slot] != 0) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<uint32_t> slots_;  // index into entries_ plus one; 0 is free
  std::vector<Entry> entries_;
  Arena examples_;
  size_t example_bytes_ = 0;
  size_t last_ = 0;
};

struct CountSink::Chunk final : SinkChunk {
  Counter counter;
  uint64_t events = 0;
  int64_t first_time = std::numeric_limits<int64_t>::max();
  int64_t last_time = std::numeric_limits<int64_t>::min();
};

void CountSink::CountRows(const EventBatch& batch, Counter& counter) const {
  if (!ByProcess()) {
    for (const uint16_t index : batch.selection) counter.Add(KindKey(batch.rows[index]), batch.rows[index]);
    return;
  }
  const bool by_thread = by_ == CountBy::kThread;
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    Key key{row.pid | (by_thread ? uint64_t{row.tid} << 32 : 0), 0, 0};
    const auto* process =
        processes_ != nullptr && row.has(kHasPid) ? processes_->Find(row.pid, row.timestamp) : nullptr;
    if (process != nullptr) key.high = static_cast<uint64_t>(process - processes_->all().data()) + 1;
    counter.Add(key, row);
  }
}

namespace {

// The log-file header record as a row; its layout is that of etl-format.md 2.2.
EventHeader HeaderRow(const TraceInfo& info, ProviderIndex provider) {
  EventHeader row;
  row.kind = info.header_kind;
  row.provider = provider;
  row.flags = kHasProvider | kHasPid | kHasTimestamp;
  row.record = info.header_record.data();
  row.record_size = static_cast<uint16_t>(info.header_record.size());
  ByteReader reader(info.header_record);
  row.version = reader.Read<uint8_t>();
  reader.Skip(5);
  row.opcode = reader.Read<uint8_t>();
  reader.Skip(1);
  row.tid = reader.Read<uint32_t>();
  row.pid = reader.Read<uint32_t>();
  return row;
}

}  // namespace

CountSink::CountSink(CountBy by) : by_(by) {}

SinkInfo CountSink::info() const {
  SinkInfo info{.order = Order::kPerCpu, .stores_annotations = true, .facts = kNoFacts};
  info.facts = ByProcess() ? kProcesses : kSchemas;
  info.facts_at_end = !ByProcess();
  return info;
}

CountSink::~CountSink() = default;

Status CountSink::Begin(const BeginArgs& args) {
  trace_ = &args.trace;
  processes_ = trace_->facts->Get<facts::ProcessTable>();
  total_ = std::make_unique<Counter>();
  const auto provider = trace_->providers->Intern(GuidOf("68fdd900-4a3e-11d1-84f4-0000f80464e3"));
  if (trace_->info.header_record.empty() || !provider) return {};
  EventBatch batch;
  batch.rows.push_back(HeaderRow(trace_->info, *provider));
  batch.SelectAll();
  CountRows(batch, *total_);
  events_ = 1;
  return {};
}

std::unique_ptr<CountSink::Chunk> CountSink::TakeChunk() const {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<Chunk>();
  auto chunk = std::move(free_.back());
  free_.pop_back();
  return chunk;
}

Result<std::unique_ptr<SinkChunk>> CountSink::Prepare(EventBatch& batch) const {
  auto chunk = TakeChunk();
  chunk->counter.Clear();
  CountRows(batch, chunk->counter);
  chunk->events = batch.selection.size();
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    if (!row.has(kHasTimestamp)) continue;
    first = std::min(first, row.timestamp);
    last = std::max(last, row.timestamp);
  }
  chunk->first_time = first;
  chunk->last_time = last;
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status CountSink::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  std::unique_ptr<Chunk> counted(static_cast<Chunk*>(chunk.release()));
  for (const auto& entry : counted->counter.entries()) total_->Add(entry);
  events_ += counted->events;
  first_time_ = std::min(first_time_, counted->first_time);
  last_time_ = std::max(last_time_, counted->last_time);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(counted));
  return {};
}

Status CountSink::Finish() {
  const auto* registry = trace_->facts->Get<schema::SchemaRegistry>();
  if (ByProcess() || registry == nullptr) return {};
  schema::SchemaLookup lookup(*registry, *trace_);
  for (const auto& entry : total_->entries()) {
    Described& described = described_.emplace_back();
    if (entry.example.record == nullptr) continue;
    const auto* schema = lookup.Find(entry.example);
    if (schema == nullptr) continue;
    described = {schema->provider->name, schema->name, schema->origin};
  }
  return {};
}

EventCount CountSink::RowOf(size_t index) const {
  const Counter::Entry& entry = total_->entries()[index];
  const Key& key = entry.key;
  EventCount row;
  row.count = entry.count;
  row.bytes = entry.bytes;
  if (ByProcess()) {
    row.pid = static_cast<uint32_t>(key.low);
    row.tid = static_cast<uint32_t>(key.low >> 32);
    if (key.high != 0) row.process = &processes_->all()[key.high - 1];
    return row;
  }
  row.header = HeaderName(static_cast<HeaderKind>(key.low >> 40 & 0xFF), static_cast<uint8_t>(key.low >> 48));
  if (key.high >> 32 != 0) row.provider = trace_->providers->guid(static_cast<ProviderIndex>(key.high));
  row.id = static_cast<uint16_t>(key.low);
  row.version = static_cast<uint16_t>(key.low >> 16);
  row.opcode = static_cast<uint8_t>(key.low >> 32);
  const auto* known = row.provider ? schema::FindProvider(*row.provider) : nullptr;
  if (known != nullptr) row.provider_name = known->name;
  const Described* described = index < described_.size() ? &described_[index] : nullptr;
  if (described != nullptr && described->origin) {
    row.provider_name = described->provider_name;
    row.name = described->name;
    row.origins.push_back(*described->origin);
  } else {
    row.opaque = entry.count;
  }
  return row;
}

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

std::vector<EventCount> CountSink::Counts() const {
  if (total_ == nullptr) return {};
  std::map<decltype(KeyOf(by_, EventCount())), EventCount> merged;
  for (size_t i = 0; i < total_->entries().size(); ++i) {
    EventCount row = RowOf(i);
    Reduce(by_, row);
    const auto [place, added] = merged.emplace(KeyOf(by_, row), row);
    if (added) continue;
    EventCount& into = place->second;
    into.count += row.count;
    into.bytes += row.bytes;
    into.opaque += row.opaque;
    if (into.name != row.name) into.name.clear();
    if (into.provider_name.empty()) into.provider_name = row.provider_name;
    into.origins.insert(into.origins.end(), row.origins.begin(), row.origins.end());
  }
  std::vector<EventCount> counts;
  for (auto& [key, row] : merged) {
    std::sort(row.origins.begin(), row.origins.end());
    row.origins.erase(std::unique(row.origins.begin(), row.origins.end()), row.origins.end());
    counts.push_back(std::move(row));
  }
  // The map has the order of ties.
  std::stable_sort(counts.begin(), counts.end(),
                   [](const EventCount& a, const EventCount& b) { return a.count > b.count; });
  return counts;
}

}  // namespace etwpipe

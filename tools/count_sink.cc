// Prepare() counts a batch into a small open-addressing table, remembering the last entry, since records of one kind
// come in runs; Cut() adds the table to the total. Nothing is allocated per event.
#include "tools/count_sink.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "pipeline/byte_reader.h"
#include "pipeline/header_name.h"

namespace etwpipe {
namespace {

// What a grouping tells events apart by, packed so that equality is two comparisons.
struct Key {
  uint64_t low = 0;
  uint64_t high = 0;

  friend bool operator==(const Key&, const Key&) = default;
  uint64_t Hash() const {
    const uint64_t mixed = (low ^ std::rotl(high, 29)) * 0x9E3779B97F4A7C15u;
    return mixed ^ mixed >> 32;
  }
};

Key KindKey(const EventHeader& row) {
  const uint64_t type = row.kind == HeaderKind::kUnknown ? row.header_type : 0;
  return {row.id | uint64_t{row.version} << 16 | uint64_t{row.opcode} << 32 | static_cast<uint64_t>(row.kind) << 40 |
              type << 48,
          row.provider | uint64_t{row.has(kHasProvider)} << 32};
}
Key ProviderKey(const EventHeader& row) { return {row.provider, row.has(kHasProvider)}; }
Key ProcessKey(const EventHeader& row) { return {row.pid, 0}; }
Key ThreadKey(const EventHeader& row) { return {row.pid | uint64_t{row.tid} << 32, 0}; }

}  // namespace

// Counts per key; the slots hold indexes into the entries.
class CountSink::Counter {
 public:
  struct Entry {
    Key key;
    uint64_t count = 0;
    uint64_t bytes = 0;
  };

  Counter() : slots_(kFirstSlots, 0) {}

  void Add(const Key& key, uint64_t count, uint64_t bytes) {
    if (last_ == entries_.size() || !(entries_[last_].key == key)) last_ = Place(key);
    entries_[last_].count += count;
    entries_[last_].bytes += bytes;
  }
  const std::vector<Entry>& entries() const { return entries_; }
  void Clear() {
    std::fill(slots_.begin(), slots_.end(), 0);
    entries_.clear();
    last_ = 0;
  }

 private:
  static constexpr size_t kFirstSlots = 256;

  size_t Place(const Key& key) {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = key.Hash() & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot] == 0) {
        entries_.push_back({key});
        slots_[slot] = static_cast<uint32_t>(entries_.size());
        if (entries_.size() * 2 > slots_.size()) Grow();
        return entries_.size() - 1;
      }
      if (entries_[slots_[slot] - 1].key == key) return slots_[slot] - 1;
    }
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
  size_t last_ = 0;
};

struct CountSink::Chunk final : SinkChunk {
  Counter counter;
  uint64_t events = 0;
  int64_t first_time = std::numeric_limits<int64_t>::max();
  int64_t last_time = std::numeric_limits<int64_t>::min();
};

namespace {

template <typename Counter, typename MakeKey>
void CountRows(const EventBatch& batch, Counter& counter, MakeKey make_key) {
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    counter.Add(make_key(row), 1, row.record_size);
  }
}

template <typename Counter>
void CountRows(CountBy by, const EventBatch& batch, Counter& counter) {
  switch (by) {
    case CountBy::kKind: return CountRows(batch, counter, KindKey);
    case CountBy::kProvider: return CountRows(batch, counter, ProviderKey);
    case CountBy::kProcess: return CountRows(batch, counter, ProcessKey);
    case CountBy::kThread: return CountRows(batch, counter, ThreadKey);
  }
}

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

CountSink::~CountSink() = default;

Status CountSink::Begin(const BeginArgs& args) {
  trace_ = &args.trace;
  total_ = std::make_unique<Counter>();
  const auto provider = trace_->providers->Intern(GuidOf("68fdd900-4a3e-11d1-84f4-0000f80464e3"));
  if (trace_->info.header_record.empty() || !provider) return {};
  EventBatch batch;
  batch.rows.push_back(HeaderRow(trace_->info, *provider));
  batch.SelectAll();
  CountRows(by_, batch, *total_);
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
  CountRows(by_, batch, chunk->counter);
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
  for (const auto& entry : counted->counter.entries()) total_->Add(entry.key, entry.count, entry.bytes);
  events_ += counted->events;
  first_time_ = std::min(first_time_, counted->first_time);
  last_time_ = std::max(last_time_, counted->last_time);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(counted));
  return {};
}

std::vector<EventCount> CountSink::Counts() const {
  std::vector<EventCount> counts;
  if (total_ == nullptr) return counts;
  const auto guid_of = [&](uint64_t index, uint64_t known) {
    return known != 0 ? std::optional(trace_->providers->guid(static_cast<ProviderIndex>(index))) : std::nullopt;
  };
  for (const auto& [key, count, bytes] : total_->entries()) {
    EventCount& row = counts.emplace_back();
    row.count = count;
    row.bytes = bytes;
    switch (by_) {
      case CountBy::kKind:
        row.header = HeaderName(static_cast<HeaderKind>(key.low >> 40 & 0xFF), static_cast<uint8_t>(key.low >> 48));
        row.provider = guid_of(key.high & 0xFFFFFFFF, key.high >> 32);
        row.id = static_cast<uint16_t>(key.low);
        row.version = static_cast<uint16_t>(key.low >> 16);
        row.opcode = static_cast<uint8_t>(key.low >> 32);
        break;
      case CountBy::kProvider: row.provider = guid_of(key.low, key.high); break;
      case CountBy::kProcess: row.pid = static_cast<uint32_t>(key.low); break;
      case CountBy::kThread:
        row.pid = static_cast<uint32_t>(key.low);
        row.tid = static_cast<uint32_t>(key.low >> 32);
        break;
    }
  }
  const auto provider_text = [](const EventCount& row) { return row.provider ? ToString(*row.provider) : ""; };
  std::sort(counts.begin(), counts.end(), [&](const EventCount& a, const EventCount& b) {
    if (a.count != b.count) return a.count > b.count;
    const auto key_a = provider_text(a);
    const auto key_b = provider_text(b);
    return std::tie(key_a, a.id, a.opcode, a.version, a.header, a.pid, a.tid) <
           std::tie(key_b, b.id, b.opcode, b.version, b.header, b.pid, b.tid);
  });
  return counts;
}

}  // namespace etwpipe

#include "formats/etwp/event_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {
namespace {

// Merging takes a reader time, so it must save something: that part of the three columns.
constexpr size_t kWorthwhile = 64;
// Nor is it looked at where processors cost next to nothing: less than a bit for so many events.
constexpr size_t kEventsPerBit = 2;

// The times that timestamps are told from.
class TimestampBases {
 public:
  explicit TimestampBases(uint64_t first) : event_(first) {}

  uint64_t Get(TimestampBase base, uint16_t cpu, uint32_t kind) const {
    if (base == kSinceKindOnCpu) {
      if (const auto found = kinds_.find(uint64_t{cpu} << 32 | kind); found != kinds_.end()) return found->second;
    }
    return base == kSinceEvent || cpu >= cpus_.size() || !cpus_[cpu] ? event_ : *cpus_[cpu];
  }
  // `keep_kind` where the kind may be told from kSinceKindOnCpu.
  void Set(uint16_t cpu, uint32_t kind, bool keep_kind, uint64_t timestamp) {
    event_ = timestamp;
    if (cpu >= cpus_.size()) cpus_.resize(size_t{cpu} + 1);
    cpus_[cpu] = timestamp;
    if (keep_kind) kinds_[uint64_t{cpu} << 32 | kind] = timestamp;
  }

 private:
  uint64_t event_;
  std::vector<std::optional<uint64_t>> cpus_;
  std::unordered_map<uint64_t, uint64_t> kinds_;
};

// The events processor after processor.
std::vector<OrderedEvent> ByProcessor(std::span<const OrderedEvent> events, std::vector<CpuCount>& counts) {
  std::map<uint16_t, uint32_t> by_cpu;
  for (const auto& event : events) ++by_cpu[event.cpu];
  counts.assign(by_cpu.begin(), by_cpu.end());
  uint32_t next = 0;
  for (auto& [cpu, count] : by_cpu) count = std::exchange(next, next + count);
  std::vector<OrderedEvent> grouped(events.size());
  for (const auto& event : events) grouped[by_cpu[event.cpu]++] = event;
  return grouped;
}

// How COLUMN_KIND and COLUMN_TIMESTAMP would be written.
struct Plan {
  struct Timestamps {
    std::vector<uint64_t> values;
    TimestampBase base = kSinceEvent;
    v1::Encoding encoding = v1::ENCODING_CONSTANT;
  };
  std::vector<uint64_t> kinds;
  v1::Encoding kind_encoding = v1::ENCODING_CONSTANT;
  std::vector<Timestamps> timestamps;  // per kind
  size_t cost = 0;                     // of both, about, in bytes
};

Plan MakePlan(std::span<const OrderedEvent> events, uint64_t first_timestamp, size_t kinds, NumberEncoder& numbers) {
  constexpr TimestampBase kBases[] = {kSinceEvent, kSinceCpu, kSinceKindOnCpu};
  Plan plan;
  plan.kinds.reserve(events.size());
  for (const auto& event : events) plan.kinds.push_back(event.kind);
  const auto choice = numbers.ChooseWhole(plan.kinds);
  plan.kind_encoding = choice.encoding;
  plan.cost = choice.cost;

  // Per base the values of each kind.
  std::vector<std::vector<uint64_t>> values[std::size(kBases)];
  for (auto& of_base : values) of_base.resize(kinds);
  TimestampBases bases(first_timestamp);
  for (const auto& event : events) {
    for (const TimestampBase base : kBases) {
      values[base][event.kind].push_back(ZigZag(event.timestamp - bases.Get(base, event.cpu, event.kind)));
    }
    bases.Set(event.cpu, event.kind, true, event.timestamp);
  }
  plan.timestamps.resize(kinds);
  for (size_t kind = 0; kind < kinds; ++kind) {
    NumberEncoder::Choice choices[std::size(kBases)];
    for (const TimestampBase base : kBases) choices[base] = numbers.ChooseWhole(values[base][kind]);
    const auto best = std::min_element(std::begin(choices), std::end(choices),
                                       [](const auto& a, const auto& b) { return a.cost < b.cost; }) -
                      std::begin(choices);
    plan.timestamps[kind] = {std::move(values[best][kind]), kBases[best], choices[best].encoding};
    plan.cost += choices[best].cost;
  }
  return plan;
}

bool Same(std::span<const OrderedEvent> a, std::span<const OrderedEvent> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const OrderedEvent& x, const OrderedEvent& y) {
    return x.timestamp == y.timestamp && x.kind == y.kind && x.cpu == y.cpu;
  });
}

}  // namespace

void MergeProcessors(std::span<const OrderedEvent> events, std::span<const CpuCount> counts,
                     std::vector<OrderedEvent>& merged) {
  struct Head {
    int64_t time = 0;
    uint32_t at = 0;
    uint32_t end = 0;
    // Processors stand in ascending order, so that `at` tells equal times apart.
    bool Before(const Head& other) const { return time != other.time ? time < other.time : at < other.at; }
  };
  std::vector<Head> heap;
  uint32_t begin = 0;
  for (const auto& [cpu, count] : counts) {
    heap.push_back({static_cast<int64_t>(events[begin].timestamp), begin, begin + count});
    begin += count;
  }
  const auto sink = [&](size_t at) {
    const Head head = heap[at];
    for (size_t child = 2 * at + 1; child < heap.size(); child = 2 * at + 1) {
      if (child + 1 < heap.size() && heap[child + 1].Before(heap[child])) ++child;
      if (!heap[child].Before(head)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = head;
  };
  for (size_t at = heap.size() / 2; at-- > 0;) sink(at);
  merged.clear();
  merged.reserve(events.size());
  while (!heap.empty()) {
    Head& first = heap.front();
    merged.push_back(events[first.at]);
    if (++first.at == first.end) {
      first = heap.back();
      heap.pop_back();
      if (heap.empty()) break;
    } else {
      first.time = std::max(first.time, static_cast<int64_t>(events[first.at].timestamp));
    }
    sink(0);
  }
}

void WriteOrder(std::span<const OrderedEvent> events, std::span<const uint32_t> kinds, ColumnWriter& columns) {
  const uint64_t first = events.front().timestamp;
  Plan plan = MakePlan(events, first, kinds.size(), columns.numbers());
  std::vector<uint64_t> cpus;
  cpus.reserve(events.size());
  for (const auto& event : events) cpus.push_back(event.cpu);
  std::vector<CpuCount> counts;
  bool merge = false;
  const auto cpu_choice = columns.numbers().ChooseWhole(cpus);
  if (cpu_choice.cost * 8 * kEventsPerBit >= events.size()) {
    const auto grouped = ByProcessor(events, counts);
    std::vector<OrderedEvent> merged;
    MergeProcessors(grouped, counts, merged);
    if (Same(merged, events)) {
      Plan other = MakePlan(grouped, first, kinds.size(), columns.numbers());
      const size_t cost = plan.cost + cpu_choice.cost;
      merge = other.cost + cost / kWorthwhile < cost;
      if (merge) plan = std::move(other);
    }
  }

  columns.AddNumbers(v1::COLUMN_KIND, 0, plan.kinds, 0, plan.kind_encoding);
  if (merge) {
    auto& bytes = columns.BeginBytes(v1::COLUMN_CPU, 0);
    std::vector<uint64_t> numbers;
    for (const auto& [cpu, count] : counts) numbers.insert(numbers.end(), {cpu, count});
    NumberEncoder::Write(numbers, v1::ENCODING_VARINT, bytes);
    columns.EndBytesAs(v1::ENCODING_MERGED);
  } else {
    columns.AddNumbers(v1::COLUMN_CPU, 0, cpus, 0, cpu_choice.encoding);
  }
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto& timestamps = plan.timestamps[kind];
    columns.AddNumbers(v1::COLUMN_TIMESTAMP, kinds[kind], timestamps.values, timestamps.base, timestamps.encoding);
  }
}

bool EventOrderReader::ReadTimestamps(const ColumnReader& columns, std::span<const uint32_t> kinds,
                                      int64_t first_timestamp) {
  timestamps_.resize(kinds.size());
  bases_.resize(kinds.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (!columns.Cursor(v1::COLUMN_TIMESTAMP, kinds[kind], timestamps_[kind])) return false;
    const uint32_t base = columns.PredictionOf(v1::COLUMN_TIMESTAMP, kinds[kind]);
    if (base > kSinceKindOnCpu) return false;
    bases_[kind] = static_cast<TimestampBase>(base);
  }
  TimestampBases bases(static_cast<uint64_t>(first_timestamp));
  for (auto& event : events_) {
    uint64_t difference = 0;
    if (!timestamps_[event.kind].Next(difference)) return false;
    const TimestampBase base = bases_[event.kind];
    event.timestamp = bases.Get(base, event.cpu, event.kind) + UnZigZag(difference);
    bases.Set(event.cpu, event.kind, base == kSinceKindOnCpu, event.timestamp);
  }
  return std::all_of(timestamps_.begin(), timestamps_.end(), [](const auto& cursor) { return cursor.at_end(); });
}

bool EventOrderReader::Read(const ColumnReader& columns, std::span<const uint32_t> kinds, size_t count,
                            int64_t first_timestamp) {
  events_.resize(count);
  if (!columns.Numbers(v1::COLUMN_KIND, 0, count, numbers_)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (numbers_[i] >= kinds.size()) return false;
    events_[i].kind = static_cast<uint32_t>(numbers_[i]);
  }
  constexpr uint64_t kMostCpus = std::numeric_limits<uint16_t>::max();
  std::span<const std::byte> bytes;
  if (!columns.Encoded(v1::COLUMN_CPU, 0, v1::ENCODING_MERGED, bytes)) {
    if (!columns.Numbers(v1::COLUMN_CPU, 0, count, numbers_)) return false;
    for (size_t i = 0; i < count; ++i) {
      if (numbers_[i] > kMostCpus) return false;
      events_[i].cpu = static_cast<uint16_t>(numbers_[i]);
    }
    return ReadTimestamps(columns, kinds, first_timestamp);
  }

  std::vector<CpuCount> counts;
  size_t total = 0;
  for (ByteReader reader(bytes); reader.remaining() > 0;) {
    const uint64_t cpu = reader.ReadVarint();
    const uint64_t events = reader.ReadVarint();
    if (reader.failed() || cpu > kMostCpus || events == 0 || events > count - total) return false;
    if (!counts.empty() && cpu <= counts.back().first) return false;
    counts.emplace_back(static_cast<uint16_t>(cpu), static_cast<uint32_t>(events));
    for (const size_t end = total + events; total < end; ++total) events_[total].cpu = static_cast<uint16_t>(cpu);
  }
  if (total != count || !ReadTimestamps(columns, kinds, first_timestamp)) return false;
  MergeProcessors(events_, counts, merged_);
  events_.swap(merged_);
  return true;
}

}  // namespace etwpipe::etwp

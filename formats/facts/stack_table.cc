#include "formats/facts/stack_table.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "formats/schema/extended_items.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

// Of addresses of either half; frames of 32-bit processes in a 64-bit session are below.
constexpr uint64_t kKernelBegin64 = uint64_t{1} << 63;
constexpr uint64_t kKernelBegin32 = 0x80000000;
// The idle threads of all processors have this id.
constexpr uint32_t kIdleThread = 0;
constexpr size_t kMatchIdBytes = 8;
// How many stacks of one timestamp (and thread) a lookup tries: more than processors write at once, and a bound for
// files in which all have the same.
constexpr size_t kMaxWalksAtOnce = 1024;

}  // namespace

void ReadFrames(std::span<const std::byte> bytes, size_t pointer_size, std::vector<uint64_t>& frames) {
  for (size_t at = 0; at + pointer_size <= bytes.size(); at += pointer_size) {
    frames.push_back(pointer_size == 8 ? LoadAt<uint64_t>(bytes.data(), at) : LoadAt<uint32_t>(bytes.data(), at));
  }
}

StackTable StackTable::Build(StackRecords records, const KernelThreads& threads) {
  StackTable table(threads);
  table.kernel_begin_ = records.pointer_size == 8 ? kKernelBegin64 : kKernelBegin32;
  table.pool_ = std::move(records.pool);
  table.pool_.Freeze();
  table.keys_ = StackKeys(std::move(records.definitions));
  table.JoinHalves(std::move(records.halves));
  table.JoinClr(std::move(records.clr));
  table.JoinMatched(std::move(records.matched));
  std::sort(table.attached_.begin(), table.attached_.end(), [](const Attached& a, const Attached& b) {
    return std::tie(a.event, a.stack) < std::tie(b.event, b.stack);
  });
  table.KeepShared(records.shared_times);
  return table;
}

StackId StackTable::Resolve(StackId stack, bool has_key, uint64_t key, int64_t time) const {
  return has_key ? keys_.Find(key, time) : stack;
}

void StackTable::JoinHalves(std::vector<StackHalf> halves) {
  for (StackHalf& half : halves) {
    half.stack = Resolve(half.stack, half.has_key, half.key, half.logged);
    if (half.has_key && half.stack == kNoStack) ++unknown_keys_;
    if (half.has_key || half.stack == kNoStack) continue;
    const auto frames = pool_.frames(half.stack);
    half.user = !frames.empty() && !IsKernel(frames.front());
  }
  std::erase_if(halves, [](const StackHalf& half) { return half.stack == kNoStack; });
  // Kernel halves first: they are the ones a user half looks for.
  std::sort(halves.begin(), halves.end(), [](const StackHalf& a, const StackHalf& b) {
    return std::tie(a.event_time, a.tid, a.pid, a.user, a.cpu, a.logged) <
           std::tie(b.event_time, b.tid, b.pid, b.user, b.cpu, b.logged);
  });
  std::unordered_map<uint64_t, uint32_t> numbers;
  for (size_t begin = 0, end = 0; begin < halves.size(); begin = end) {
    const StackHalf& first = halves[begin];
    const auto same = [&](const StackHalf& half) {
      return std::tie(half.event_time, half.tid, half.pid) == std::tie(first.event_time, first.tid, first.pid);
    };
    while (end < halves.size() && same(halves[end])) ++end;
    const auto [number, added] = numbers.try_emplace(uint64_t{first.pid} << 32 | first.tid, threads_.size());
    if (added) threads_.push_back({first.pid, first.tid});
    JoinThread(std::span(halves).subspan(begin, end - begin), number->second);
  }
  walks_.shrink_to_fit();
}

void StackTable::JoinThread(std::span<const StackHalf> halves, uint32_t thread) {
  // A processor writes one event of a thread at a time: of several halves the first counts.
  const auto add = [&](const StackHalf& half) {
    const bool repeats = !walks_.empty() && walks_.back().time == half.event_time && walks_.back().thread == thread &&
                         walks_.back().cpu == half.cpu;
    if (repeats) return;
    walks_.push_back(
        {half.event_time, thread, half.cpu, half.user ? kNoStack : half.stack, half.user ? half.stack : kNoStack});
  };
  const auto user = std::find_if(halves.begin(), halves.end(), [](const StackHalf& half) { return half.user; });
  const size_t first = walks_.size();
  std::for_each(halves.begin(), user, add);
  const size_t end = walks_.size();
  size_t lone = first;
  for (const StackHalf& half : halves.subspan(static_cast<size_t>(user - halves.begin()))) {
    const auto kernel = std::span(walks_).subspan(first, end - first);
    const auto same_cpu = std::lower_bound(kernel.begin(), kernel.end(), half.cpu,
                                           [](const Walk& walk, uint16_t cpu) { return walk.cpu < cpu; });
    if (same_cpu != kernel.end() && same_cpu->cpu == half.cpu && same_cpu->user == kNoStack) {
      same_cpu->user = half.stack;
      continue;
    }
    // The thread may have moved before it left the kernel; idle threads do not.
    while (lone < end && walks_[lone].user != kNoStack) ++lone;
    if (half.tid != kIdleThread && lone < end) {
      walks_[lone].user = half.stack;
    } else {
      add(half);
    }
  }
}

void StackTable::JoinClr(std::vector<ClrStackRecord> records) {
  std::stable_sort(records.begin(), records.end(), [](const ClrStackRecord& a, const ClrStackRecord& b) {
    return std::tie(a.tid, a.provider, a.time) < std::tie(b.tid, b.provider, b.time);
  });
  const ClrStackRecord* event = nullptr;  // the one before, while it has no stack
  for (size_t i = 0; i < records.size(); ++i) {
    const ClrStackRecord& record = records[i];
    if (i > 0 && std::tie(records[i - 1].tid, records[i - 1].provider) != std::tie(record.tid, record.provider)) {
      event = nullptr;
    }
    if (!record.is_stack) {
      event = record.has_stack ? nullptr : &record;
    } else if (event == nullptr) {
      ++orphans_;
    } else {
      attached_.push_back({event->id, record.stack});
      event = nullptr;
    }
  }
}

void StackTable::JoinMatched(std::vector<MatchedHalf> halves) {
  for (MatchedHalf& half : halves) half.stack = Resolve(half.stack, half.has_key, half.key, half.time);
  std::erase_if(halves, [](const MatchedHalf& half) { return half.stack == kNoStack; });
  std::sort(halves.begin(), halves.end(), [](const MatchedHalf& a, const MatchedHalf& b) {
    return std::tie(a.match_id, a.tid, a.time, a.id) < std::tie(b.match_id, b.tid, b.time, b.id);
  });
  const auto is_kernel = [&](const MatchedHalf& half) {
    const auto frames = pool_.frames(half.stack);
    return !frames.empty() && IsKernel(frames.front());
  };
  for (size_t i = 1; i < halves.size(); ++i) {
    const MatchedHalf& event = halves[i - 1];
    const MatchedHalf& other = halves[i];
    const bool same = std::tie(event.match_id, event.tid) == std::tie(other.match_id, other.tid);
    if (same && event.id != other.id && is_kernel(event) && !is_kernel(other)) {
      attached_.push_back({event.id, other.stack});
    }
  }
}

void StackTable::KeepShared(const std::vector<SharedTime>& shared) {
  for (const SharedTime& record : shared) {
    const auto walk = std::lower_bound(walks_.begin(), walks_.end(), record.time,
                                       [](const Walk& a, int64_t time) { return a.time < time; });
    if (walk != walks_.end() && walk->time == record.time) shared_.push_back(record.id);
  }
  std::sort(shared_.begin(), shared_.end());
}

const StackTable::Walk* StackTable::FindWalk(const EventHeader& row) const {
  if (!kernel_threads_.TakesStack(row)) return nullptr;
  const auto at_time = std::lower_bound(walks_.begin(), walks_.end(), row.timestamp,
                                        [](const Walk& walk, int64_t time) { return walk.time < time; });
  if (at_time == walks_.end() || at_time->time != row.timestamp) return nullptr;
  if (std::binary_search(shared_.begin(), shared_.end(), row.instance_id)) return nullptr;
  const uint32_t tid = kernel_threads_.Of(row);
  auto walk = at_time;
  if (tid != kNoId) {
    walk = std::lower_bound(at_time, walks_.end(), tid, [&](const Walk& a, uint32_t wanted) {
      return a.time == row.timestamp && TidOf(a) < wanted;
    });
  }
  const Walk* elsewhere = nullptr;
  for (size_t i = 0; i < kMaxWalksAtOnce && walk != walks_.end() && walk->time == row.timestamp; ++i, ++walk) {
    if (tid != kNoId && tid != TidOf(*walk)) break;
    if (walk->cpu == row.cpu) return &*walk;
    if (elsewhere == nullptr) elsewhere = &*walk;
  }
  return tid == kNoId || tid == kIdleThread ? nullptr : elsewhere;
}

void StackTable::Append(StackId id, EventStack& stack) const {
  if (id == kNoStack) return;
  const auto frames = pool_.frames(id);
  stack.frames.insert(stack.frames.end(), frames.begin(), frames.end());
}

void StackTable::AppendItems(const EventHeader& row, EventStack& stack) const {
  using schema::ExtendedType;
  auto items = row.extended_items();
  for (schema::ExtendedItemView item; schema::NextExtendedItem(items, item);) {
    if (item.data.size() < kMatchIdBytes) continue;
    const auto data = item.data.subspan(kMatchIdBytes);
    switch (item.type) {
      case ExtendedType::kStackTrace32: ReadFrames(data, 4, stack.frames); break;
      case ExtendedType::kStackTrace64: ReadFrames(data, 8, stack.frames); break;
      case ExtendedType::kStackKey32:
        if (data.size() >= 4) Append(keys_.Find(LoadAt<uint32_t>(data.data()), row.timestamp), stack);
        break;
      case ExtendedType::kStackKey64:
        if (data.size() >= 8) Append(keys_.Find(LoadAt<uint64_t>(data.data()), row.timestamp), stack);
        break;
      default: break;
    }
  }
}

bool StackTable::Find(const EventHeader& row, EventStack& stack) const {
  stack.frames.clear();
  stack.pid = row.pid;
  stack.tid = row.tid;
  if (const Walk* walk = FindWalk(row)) {
    stack.pid = threads_[walk->thread].pid;
    stack.tid = threads_[walk->thread].tid;
    Append(walk->kernel, stack);
    Append(walk->user, stack);
  } else {
    if (row.has(kHasExtended)) AppendItems(row, stack);
    const auto attached = std::lower_bound(attached_.begin(), attached_.end(), row.instance_id,
                                           [](const Attached& a, EventInstanceId id) { return a.event < id; });
    if (attached != attached_.end() && attached->event == row.instance_id) Append(attached->stack, stack);
  }
  const auto user =
      std::find_if(stack.frames.begin(), stack.frames.end(), [&](uint64_t address) { return !IsKernel(address); });
  stack.kernel_frames = static_cast<size_t>(user - stack.frames.begin());
  return !stack.frames.empty();
}

}  // namespace etwpipe::facts

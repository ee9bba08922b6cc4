#include "formats/facts/method_table.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "formats/facts/method_lives.h"
#include "formats/facts/method_names.h"

namespace etwpipe::facts {
namespace {

// What makes two versions the same method to whoever asks for a name.
uint64_t Identity(const MethodVersion& version) {
  const MethodNames& names = version.names;
  uint64_t hash = version.named() ? 0 : version.module_id ^ version.token;
  for (const uint64_t part : {uint64_t{names.type}, uint64_t{names.name}, uint64_t{names.signature}}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

MethodTier TierOf(const MethodVersion& version, const ClrModule* module) {
  constexpr uint32_t kTierShift = 7;
  const auto tier = static_cast<MethodTier>(version.flags >> kTierShift & 7);
  if (version.learnt == MethodSource::kEntryPoint) return MethodTier::kReadyToRun;
  if (tier != MethodTier::kUnknown || version.size == 0) return tier;
  if ((version.flags & (kMethodJitted | kMethodJitHelper | kMethodDynamic)) != 0) return tier;
  const bool ready_to_run = module != nullptr && (module->flags & ClrModule::kReadyToRun) != 0;
  return ready_to_run ? MethodTier::kReadyToRun : MethodTier::kPreJIT;
}

}  // namespace

MethodTable MethodTable::Build(MethodRecords told, const ProcessTable* processes, const ClrTable* modules,
                               int64_t slack) {
  MethodTable table;
  table.slack_ = slack;
  table.strings_ = std::move(told.strings);
  std::vector<MethodRecord>& records = told.records;
  std::vector<uint32_t> pids;
  for (const MethodRecord& record : records) {
    if (pids.empty() || pids.back() != record.pid) pids.push_back(record.pid);
  }
  table.spans_ = ProcessSpans(std::move(pids), processes);
  // A pid's spans follow each other in time, so the order by pid and time is also that by span.
  std::sort(records.begin(), records.end(), [](const MethodRecord& a, const MethodRecord& b) {
    return std::tie(a.pid, a.timestamp, a.id) < std::tie(b.pid, b.timestamp, b.id);
  });
  table.is_32bit_.resize(table.spans_.size());
  std::vector<IdIndex::Entry> ids;
  size_t begin = 0;
  for (uint32_t span = 0; span < table.spans_.size(); ++span) {
    size_t end = begin;
    bool is_32bit = false;
    for (; end < records.size() && table.spans_.Find(records[end].pid, records[end].timestamp) == span; ++end) {
      is_32bit = is_32bit || records[end].pointer_size == 4;
    }
    const size_t first = table.versions_.size();
    MethodLives lives(table.versions_, {table.spans_.start(span), table.spans_.end(span), is_32bit});
    for (size_t i = begin; i < end; ++i) lives.Add(records[i]);
    lives.Finish();
    LearnNames(std::span(table.versions_).subspan(first), std::span(records).subspan(begin, end - begin),
               *table.strings_, is_32bit);
    table.is_32bit_[span] = is_32bit;
    for (size_t i = first; i < table.versions_.size(); ++i) {
      MethodVersion& version = table.versions_[i];
      const ClrModule* module =
          modules == nullptr ? nullptr : modules->FindModule(version.pid, version.module_id, version.from);
      if (module != nullptr) version.module_name_id = table.strings_->Intern(module->name());
      version.tier_number = TierOf(version, module);
      version.strings = table.strings_.get();
    }
    table.IndexAddresses(span, first);
    table.IndexIds(span, first, ids);
    begin = end;
  }
  table.ranges_.Finish();
  table.ids_.Build(ids);
  table.strings_->Freeze();
  table.versions_.shrink_to_fit();
  table.KeepLives();
  return table;
}

TimeLines::Life MethodTable::LifeOf(uint32_t number) const {
  const MethodVersion& version = versions_[number];
  return {version.from, version.to, number, Identity(version)};
}

void MethodTable::KeepLives() {
  lives_.reserve(versions_.size());
  for (const MethodVersion& version : versions_) lives_.push_back({version.from, version.to});
}

void MethodTable::IndexAddresses(uint32_t span, size_t first) {
  std::vector<CodeRanges::Range> ranges;
  for (size_t i = first; i < versions_.size(); ++i) {
    const MethodVersion& version = versions_[i];
    if (!HasRange(version, is_32bit_[span])) continue;
    // Where one ends and the next begins in one tick, the next is it: no ambiguity.
    ranges.push_back({version.start_address,
                      version.start_address + version.size,
                      {version.from, version.to, static_cast<uint32_t>(i), 0}});
  }
  ranges_.AddGroup(ranges);
}

void MethodTable::IndexIds(uint32_t span, size_t first, std::vector<IdIndex::Entry>& ids) {
  std::vector<uint32_t> order;
  for (size_t i = first; i < versions_.size(); ++i) {
    if (versions_[i].method_id != 0) order.push_back(static_cast<uint32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return versions_[a].method_id < versions_[b].method_id; });
  std::vector<TimeLines::Life> lives;
  std::vector<uint16_t> runtimes;
  for (size_t begin = 0; begin < order.size();) {
    const uint64_t id = versions_[order[begin]].method_id;
    size_t end = begin;
    bool any_hot = false;
    bool any_without = false;
    runtimes.clear();
    for (; end < order.size() && versions_[order[end]].method_id == id; ++end) {
      const MethodVersion& version = versions_[order[end]];
      any_hot = any_hot || !version.cold();
      any_without = any_without || !version.clr_instance;
      const bool is_new = version.clr_instance && runtimes.size() < kMaxRuntimes &&
                          std::find(runtimes.begin(), runtimes.end(), *version.clr_instance) == runtimes.end();
      if (is_new) runtimes.push_back(*version.clr_instance);
    }
    const bool split = runtimes.size() + (any_without ? 1 : 0) > 1;
    const uint32_t note = split ? kSplit : any_without ? kNoRuntime : runtimes.front();
    const auto index = [&](uint32_t runtime) {
      lives.clear();
      for (size_t i = begin; i < end; ++i) {
        const MethodVersion& version = versions_[order[i]];
        if (any_hot && version.cold()) continue;
        const bool fits = runtime == kAnyRuntime || !version.clr_instance || *version.clr_instance == runtime;
        if (fits) lives.push_back(LifeOf(order[i]));
      }
      if (!lives.empty()) ids.push_back({id, span, runtime, id_lines_.Add(lives), note});
    };
    index(kAnyRuntime);
    if (split) {
      for (const uint16_t runtime : runtimes) index(runtime);
      if (any_without) index(kNoRuntime);
    }
    begin = end;
  }
}

MethodHit MethodTable::HitOf(const TimeLines::Pick& pick) const {
  if (pick.outcome == LookupOutcome::kUnknown) return {};
  return {&versions_[pick.item], pick.outcome};
}

MethodHit MethodTable::FindAddress(uint32_t pid, uint64_t address, int64_t time) const {
  const uint32_t span = spans_.Find(pid, time);
  if (span == ProcessSpans::kNone) return {};
  if (is_32bit_[span]) {
    const auto low = static_cast<uint32_t>(address);
    if (address != low && address != static_cast<uint64_t>(int64_t{static_cast<int32_t>(low)})) return {};
    address = low;
  }
  return HitOf(ranges_.Find(span, address, time, slack_, [this](uint32_t version) { return lives_[version]; }));
}

MethodHit MethodTable::FindId(uint32_t pid, std::optional<uint16_t> clr_instance, uint64_t method_id,
                              int64_t time) const {
  const uint32_t span = spans_.Find(pid, time);
  if (span == ProcessSpans::kNone) return {};
  method_id = CodeAddress(method_id, is_32bit_[span]);
  const IdIndex::Entry* any = ids_.Find(method_id, span, kAnyRuntime);
  if (any == nullptr) return {};
  const auto life_of = [this](uint32_t version) { return lives_[version]; };
  if (clr_instance && any->note == kSplit) {
    for (const uint32_t runtime : {uint32_t{*clr_instance}, kNoRuntime}) {
      const IdIndex::Entry* own = ids_.Find(method_id, span, runtime);
      if (own != nullptr) return HitOf(id_lines_.Find(own->number, time, life_of));
    }
  }
  const bool fits = !clr_instance || any->note == kNoRuntime || any->note == *clr_instance;
  return fits ? HitOf(id_lines_.Find(any->number, time, life_of)) : MethodHit{};
}

uint64_t MethodTable::memory() const {
  return strings_->memory() + versions_.capacity() * sizeof(MethodVersion) + lives_.capacity() * sizeof(FromTo) +
         spans_.memory() + ranges_.memory() + id_lines_.memory() + ids_.memory();
}

}  // namespace etwpipe::facts

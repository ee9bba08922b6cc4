#include "pipeline/diagnostics.h"

#include <algorithm>
#include <tuple>

namespace etwpipe {
namespace {

constexpr std::array<DiagnosticInfo, static_cast<size_t>(DiagnosticId::kCount)> kInfos = {{
    {"buffer-skipped", Severity::kDataLoss, "a buffer that makes no sense was skipped"},
    {"record-bad", Severity::kDataLoss, "a record that makes no sense ended its buffer"},
    {"file-truncated", Severity::kDataLoss, "the file ends inside a buffer; what is there was read"},
    {"trailing-bytes", Severity::kInfo, "bytes after the last buffer are not a buffer"},
    {"inflate-failed", Severity::kDataLoss, "a compressed buffer does not decompress"},
    {"extended-item-bad", Severity::kError, "an extended item overruns its record; the items count as payload"},
    {"unknown-header", Severity::kInfo, "a record has a header type without a known layout; its bytes are kept"},
    {"time-step-back", Severity::kInfo, "a record is older than the one before it on its processor"},
    {"header-unfinalised", Severity::kInfo, "the session was not closed: the file header lacks its final values"},
    {"buffers-written-differs", Severity::kInfo, "the file header names another number of buffers than there are"},
    {"second-file-header", Severity::kInfo, "another file header stands inside the file (append mode)"},
    {"buffer-not-records", Severity::kInfo, "a buffer of a type that holds no records was passed over"},
    {"too-many-providers", Severity::kDataLoss, "more provider GUIDs than a trace can hold; the buffer ends there"},
    {"sequence-repeats", Severity::kInfo, "two buffers of a processor have one sequence number"},
    {"events-lost", Severity::kInfo, "the recording itself lost events"},
    {"buffers-lost", Severity::kInfo, "the recording itself lost buffers"},
    {"id-map-mismatch", Severity::kError, "carried instance ids were made for other bytes than these records have"},
    {"id-map-bad", Severity::kError, "a carrier of instance ids cannot be read"},
    {"archive-truncated", Severity::kDataLoss, "the archive lacks its end; whole blocks before it were read"},
    {"archive-frame-bad", Severity::kDataLoss, "a frame of the archive is damaged"},
    {"archive-encoding-unknown", Severity::kDataLoss, "a block uses an encoding this version does not know"},
    {"unattributed", Severity::kInfo, "records that carry no process id met a filter by process"},
    {"annotation-dropped", Severity::kInfo, "the output format cannot store an annotation"},
    {"not-exact", Severity::kInfo, "the archive does not hold all that restores its original bit for bit"},
    {"file-shrank", Severity::kDataLoss, "the file became shorter while it was read"},
    {"buffer-size-bad", Severity::kError, "a buffer states a wrong size; its end was found by its data"},
    {"schema-unknown", Severity::kInfo, "events that no schema describes are shown as bytes"},
    {"schema-bad", Severity::kInfo, "a schema in the trace or in a manifest file is defective"},
    {"payload-short", Severity::kInfo,
     "payloads end before the fields of their schema do; the fields that are there are shown"},
    {"payload-extra", Severity::kInfo, "payloads are longer than their schema; the rest is shown as _extra"},
    {"payload-bad", Severity::kInfo, "a length or count in a payload makes no sense; the fields before it are shown"},
    {"clr-id-alias", Severity::kInfo, "method events came with an id of the documentation in place of the manifest's"},
    {"rundown-incomplete", Severity::kInfo, "the CLR rundown of a process was cut off: some methods may have no name"},
    {"method-bad", Severity::kInfo, "a method record of the CLR makes no sense; its method is found by its id only"},
    {"stacks-dropped", Severity::kInfo, "more stacks than a run keeps; events beyond have none"},
    {"stack-key-unknown", Severity::kInfo, "stack records name a stack by a key that nothing in the trace defines"},
    {"stack-orphan", Severity::kInfo, "stacks of the CLR follow no event that they could belong to"},
    {"symbols-bad", Severity::kInfo, "lines or symbols of symbol files, or whole files, were left out"},
    {"activity-unterminated", Severity::kInfo,
     "activities have no stop; they end with their thread, process or the trace"},
    {"activity-truncated-start", Severity::kInfo, "activities have no start; they begin with the trace"},
    {"activity-unbalanced", Severity::kInfo, "activities were ended by the stop of one below them on their thread"},
    {"activity-negative", Severity::kInfo, "activities stop before they start; they count as zero ticks long"},
    {"switches-lost", Severity::kInfo, "context switches are missing; CPU ticks of activities are too low"},
    {"calls-unordered", Severity::kInfo, "calls ended while calls above them on their stack went on"},
    {"os-event-unattributed", Severity::kInfo,
     "disk, file or fault records do not tell their thread; its application ticks are too high"},
    {"method-unload-only", Severity::kInfo,
     "methods are unloaded that no record loads; they count as there from the code before them on"},
    {"method-after-exit", Severity::kInfo,
     "methods are loaded after their process has stopped; they count as code of that process"},
    {"method-unknown", Severity::kInfo, "events refer to methods by ids that no record of the trace tells of"},
    {"fact-bad", Severity::kInfo, "records of processes, threads, images, the CLR or stacks end too early to be used"},
    {"facts-dropped", Severity::kInfo, "a survey met more records or names than it keeps; what is beyond has no name"},
    {"injected-dropped", Severity::kInfo, "events that a stage would add fit no record and were left out"},
    {"not-restored", Severity::kError,
     "an archive that was made to give its original back does not; its events were written anew"},
}};

// Total order, so that what is kept does not depend on the order of the calls.
auto Key(const DamagedRange& range) {
  return std::tuple(range.place.offset, range.place.length, range.id, std::string_view(range.reason));
}

bool Before(const DamagedRange& a, const DamagedRange& b) { return Key(a) < Key(b); }

}  // namespace

const DiagnosticInfo& InfoOf(DiagnosticId id) { return kInfos[static_cast<size_t>(id)]; }

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kError: return "error";
    case Severity::kDataLoss: return "data-loss";
  }
  return "info";
}

std::optional<DiagnosticId> DiagnosticFromText(std::string_view id) {
  for (size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].id == id) return static_cast<DiagnosticId>(i);
  }
  return std::nullopt;
}

void Diagnostics::Add(DiagnosticId id, DiagnosticPlace place, std::string_view reason) {
  const DamagedRange range{id, place, std::string(reason)};
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(id);
  ++counts_[index];
  if (!first_[index] || Before(range, *first_[index])) first_[index] = range;
  if (InfoOf(id).severity == Severity::kInfo) return;
  if (ranges_.size() < kMaxRanges) {
    ranges_.push_back(range);
    std::push_heap(ranges_.begin(), ranges_.end(), Before);
  } else if (Before(range, ranges_.front())) {
    std::pop_heap(ranges_.begin(), ranges_.end(), Before);
    ranges_.back() = range;
    std::push_heap(ranges_.begin(), ranges_.end(), Before);
  }
}

void Diagnostics::AddCount(DiagnosticId id, uint64_t count) {
  if (count == 0) return;
  const std::lock_guard lock(mutex_);
  counts_[static_cast<size_t>(id)] += count;
}

std::vector<Diagnostics::Entry> Diagnostics::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (size_t i = 0; i < kIds; ++i) {
    if (counts_[i] == 0) continue;
    Entry entry{static_cast<DiagnosticId>(i), counts_[i], std::nullopt, std::string(kInfos[i].help)};
    if (first_[i]) {
      entry.first_offset = first_[i]->place.offset;
      if (!first_[i]->reason.empty()) entry.text = first_[i]->reason;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

uint64_t Diagnostics::count(DiagnosticId id) const {
  const std::lock_guard lock(mutex_);
  return counts_[static_cast<size_t>(id)];
}

std::vector<DamagedRange> Diagnostics::ranges() const {
  const std::lock_guard lock(mutex_);
  auto sorted = ranges_;
  std::sort(sorted.begin(), sorted.end(), Before);
  return sorted;
}

}  // namespace etwpipe

#include "formats/facts/process_table.h"

#include <algorithm>
#include <tuple>

namespace etwpipe::facts {
namespace {

using Kind = ProcessRecord::Kind;

// The instances of one pid, from its records in order.
class Lives {
 public:
  Lives(std::vector<ProcessInstance>& out, int64_t tolerance) : out_(out), first_(out.size()), tolerance_(tolerance) {}

  void Add(ProcessRecord& record) {
    switch (record.kind) {
      case Kind::kStart:
        if (open_ && IsSameStart(record)) break;
        Close(record.timestamp);
        Open(record, record.timestamp);
        break;
      case Kind::kRundownStart:
      case Kind::kRundownStop:
        if (open_ && Differs(record)) Close(record.timestamp);
        if (!open_) Open(record, EndOfLast());
        break;
      case Kind::kStop:
        if (open_ && Differs(record)) Close(record.timestamp);
        if (!open_ && IsLast(record)) break;
        if (!open_) Open(record, EndOfLast());
        Learn(record);
        Close(record.timestamp);
        return;
      case Kind::kDefunct:
        if (Has() && !Differs(record)) break;
        // Its end is not known, but it has ended.
        Close(record.timestamp);
        Open(record, EndOfLast());
        Learn(record);
        Close(record.timestamp);
        return;
    }
    if (Has()) Learn(record);
  }

 private:
  bool Has() const { return out_.size() > first_; }
  ProcessInstance& Current() { return out_.back(); }
  int64_t EndOfLast() { return Has() ? Current().end : ProcessInstance::kBeforeTrace; }

  bool Differs(const ProcessRecord& record) {
    return record.unique_key != 0 && Current().unique_key != 0 && record.unique_key != Current().unique_key;
  }
  // Two providers may write the start or the stop of one process, a moment apart.
  bool IsSameStart(const ProcessRecord& record) {
    const ProcessInstance& current = Current();
    const bool same_parent = !record.has_parent || current.parent == kNoId || current.parent == record.parent;
    return current.start != ProcessInstance::kBeforeTrace && !Differs(record) && same_parent &&
           record.timestamp - current.start <= tolerance_;
  }
  bool IsLast(const ProcessRecord& record) {
    if (!Has() || Differs(record)) return false;
    const bool same_key = record.unique_key != 0 && Current().unique_key == record.unique_key;
    return same_key || record.timestamp - Current().end <= tolerance_;
  }

  void Open(const ProcessRecord& record, int64_t start) {
    ProcessInstance& instance = out_.emplace_back();
    instance.pid = record.pid;
    instance.start = start;
    instance.first_record = record.id;
    open_ = true;
  }
  void Close(int64_t end) {
    if (open_) Current().end = end;
    open_ = false;
  }
  // The first text of each kind stays; a longer command line than none is welcome.
  void Learn(ProcessRecord& record) {
    ProcessInstance& instance = Current();
    if (instance.image.empty()) instance.image = std::move(record.image);
    if (instance.image_path.empty()) instance.image_path = std::move(record.image_path);
    if (instance.command_line.empty()) instance.command_line = std::move(record.command_line);
    if (instance.parent == kNoId && record.has_parent) instance.parent = record.parent;
    if (instance.unique_key == 0) instance.unique_key = record.unique_key;
  }

  std::vector<ProcessInstance>& out_;
  size_t first_;
  int64_t tolerance_;
  bool open_ = false;
};

}  // namespace

ProcessTable ProcessTable::Build(std::vector<ProcessRecord> records, int64_t tolerance) {
  std::sort(records.begin(), records.end(), [](const ProcessRecord& a, const ProcessRecord& b) {
    return std::tie(a.pid, a.timestamp, a.id) < std::tie(b.pid, b.timestamp, b.id);
  });
  ProcessTable table;
  for (size_t begin = 0; begin < records.size();) {
    const uint32_t pid = records[begin].pid;
    const size_t first = table.instances_.size();
    Lives lives(table.instances_, tolerance);
    for (; begin < records.size() && records[begin].pid == pid; ++begin) lives.Add(records[begin]);
    table.ranges_[pid] = {first, table.instances_.size()};
  }
  return table;
}

const ProcessInstance* ProcessTable::Find(uint32_t pid, int64_t timestamp) const {
  const auto range = ranges_.find(pid);
  if (range == ranges_.end() || range->second.first == range->second.second) return nullptr;
  const auto begin = instances_.begin() + static_cast<ptrdiff_t>(range->second.first);
  const auto end = instances_.begin() + static_cast<ptrdiff_t>(range->second.second);
  const auto after = std::upper_bound(
      begin, end, timestamp, [](int64_t time, const ProcessInstance& instance) { return time < instance.start; });
  return after == begin ? &*begin : &*(after - 1);
}

}  // namespace etwpipe::facts

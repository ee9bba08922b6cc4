#include "formats/facts/thread_table.h"

#include <algorithm>
#include <tuple>

namespace etwpipe::facts {
namespace {

using Kind = ThreadRecord::Kind;

// The instances of one tid, from its records in order.
class Lives {
 public:
  Lives(std::vector<ThreadInstance>& out, int64_t tolerance) : out_(out), first_(out.size()), tolerance_(tolerance) {}

  void Add(ThreadRecord& record) {
    if (open_ && Current().pid != record.pid) Close(record.timestamp);
    switch (record.kind) {
      case Kind::kStart:
        if (open_ && IsSameStart(record)) break;
        Close(record.timestamp);
        Open(record, record.timestamp);
        break;
      case Kind::kRundown:
      case Kind::kName:
        if (!open_) Open(record, EndOfLast());
        break;
      case Kind::kEnd:
        if (!open_ && IsSameEnd(record)) return;
        if (!open_) Open(record, EndOfLast());
        Learn(record);
        Close(record.timestamp);
        return;
      case Kind::kUse:
        if (!open_) Open(record, EndOfLast());
        break;
    }
    Learn(record);
  }

 private:
  bool Has() const { return out_.size() > first_; }
  ThreadInstance& Current() { return out_.back(); }
  int64_t EndOfLast() { return Has() ? Current().end : ProcessInstance::kBeforeTrace; }

  bool IsSameStart(const ThreadRecord& record) {
    return Current().start != ProcessInstance::kBeforeTrace && record.timestamp - Current().start <= tolerance_;
  }
  bool IsSameEnd(const ThreadRecord& record) {
    return Has() && Current().pid == record.pid && record.timestamp - Current().end <= tolerance_;
  }
  void Open(const ThreadRecord& record, int64_t start) {
    ThreadInstance& instance = out_.emplace_back();
    instance.tid = record.tid;
    instance.pid = record.pid;
    instance.start = start;
    instance.first_record = record.id;
    open_ = true;
  }
  void Close(int64_t end) {
    if (open_) Current().end = end;
    open_ = false;
  }
  void Learn(ThreadRecord& record) {
    if (!record.name.empty()) Current().name = std::move(record.name);
  }

  std::vector<ThreadInstance>& out_;
  size_t first_;
  int64_t tolerance_;
  bool open_ = false;
};

}  // namespace

ThreadTable ThreadTable::Build(std::vector<ThreadRecord> records, int64_t tolerance) {
  std::sort(records.begin(), records.end(), [](const ThreadRecord& a, const ThreadRecord& b) {
    return std::tie(a.tid, a.timestamp, a.id) < std::tie(b.tid, b.timestamp, b.id);
  });
  ThreadTable table;
  for (size_t begin = 0; begin < records.size();) {
    const uint32_t tid = records[begin].tid;
    size_t end = begin;
    bool told = false;
    for (; end < records.size() && records[end].tid == tid; ++end) told = told || records[end].kind != Kind::kUse;
    const size_t first = table.instances_.size();
    Lives lives(table.instances_, tolerance);
    for (; begin < end; ++begin) {
      if (!told || records[begin].kind != Kind::kUse) lives.Add(records[begin]);
    }
    table.ranges_[tid] = {first, table.instances_.size()};
  }
  return table;
}

const ThreadInstance* ThreadTable::Find(uint32_t tid, int64_t timestamp) const {
  const auto range = ranges_.find(tid);
  if (range == ranges_.end()) return nullptr;
  const auto begin = instances_.begin() + static_cast<ptrdiff_t>(range->second.first);
  const auto end = instances_.begin() + static_cast<ptrdiff_t>(range->second.second);
  const auto after = std::upper_bound(
      begin, end, timestamp, [](int64_t time, const ThreadInstance& instance) { return time < instance.start; });
  return after == begin ? nullptr : &*(after - 1);
}

}  // namespace etwpipe::facts

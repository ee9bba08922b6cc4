// What the kernel tells of threads: when they and their processes live, and when they run.
#include <fmt/format.h>

#include "formats/activities/kernel_events.h"
#include "formats/activities/pair_context.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::activities {
namespace {

class Lifetimes final : public PairSource {
 public:
  void Observe(const EventHeader& row, PairContext& context) override {
    if (!kernel_) kernel_.emplace(context.trace());
    switch (kernel_->ClassOf(row)) {
      case KernelEvent::kSwitch: {
        if (const auto found = KernelEvents::SwitchOf(row)) {
          context.tracker().Switch(row.cpu, row.timestamp, found->new_tid, found->old_tid);
        }
        break;
      }
      case KernelEvent::kSample: Sample(row, context); break;
      case KernelEvent::kInterval: Interval(row, context); break;
      case KernelEvent::kThreadStart:
      case KernelEvent::kThreadEnd: Thread(row, context); break;
      case KernelEvent::kProcessStart:
      case KernelEvent::kProcessEnd: Process(row, context); break;
      case KernelEvent::kOther: break;
    }
  }

 private:
  static std::optional<uint32_t> Number(facts::RecordFields& fields, std::string_view name, std::string_view other) {
    auto number = fields.Number(name);
    if (!number) number = fields.Number(other);
    return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
  }

  void Sample(const EventHeader& row, PairContext& context) {
    // InstructionPointer, then ThreadId u32 (etl-format.md 8.4).
    const size_t at = row.pointer_size();
    if (row.payload().size() < at + sizeof(uint32_t)) return;
    const int64_t frequency = context.trace().info.clock.frequency;
    const auto ticks = static_cast<int64_t>(Int128{interval_} * frequency / 10'000'000);
    context.tracker().Sample(LoadAt<uint32_t>(row.payload().data(), at), ticks);
  }

  void Interval(const EventHeader& row, PairContext& context) {
    facts::RecordFields* fields = context.FieldsOf(row);
    if (fields == nullptr) return;
    // Source 0 is the timer; others count something else than time.
    if (fields->Number("Source").value_or(0) != 0) return;
    const auto interval = fields->Number("NewInterval");
    if (interval && *interval != 0) interval_ = static_cast<uint32_t>(*interval);
  }

  void Thread(const EventHeader& row, PairContext& context) {
    facts::RecordFields* fields = context.FieldsOf(row);
    if (fields == nullptr) return;
    const auto pid = Number(*fields, "ProcessId", "ProcessID");
    auto tid = Number(*fields, "TThreadId", "ThreadId");
    if (!tid) tid = Number(*fields, "ThreadID", "ThreadID");
    if (!pid || !tid) return;
    const bool start = kernel_->ClassOf(row) == KernelEvent::kThreadStart;
    if (start) {
      if (context.switches() != nullptr) context.switches()->ThreadStart(*tid, row.timestamp);
      context.tracker().ThreadStart(*tid, *pid, row.timestamp);
    } else {
      if (context.switches() != nullptr) context.switches()->ThreadEnd(*tid);
      context.tracker().ThreadEnd(*tid, row.timestamp);
    }
    if (!context.wants(ActivityKind::kThread)) return;
    Live(row, context, start, MakeKey(KeySpace::kThread, 0, 0, *tid), *pid, *tid, ActivityKind::kThread, "Thread");
  }

  void Process(const EventHeader& row, PairContext& context) {
    facts::RecordFields* fields = context.FieldsOf(row);
    if (fields == nullptr) return;
    const auto pid = Number(*fields, "ProcessId", "ProcessID");
    if (!pid) return;
    std::string image = fields->Text("ImageFileName");
    if (image.empty()) image = fields->Text("ImageName");
    const bool start = kernel_->ClassOf(row) == KernelEvent::kProcessStart;
    if (context.wants(ActivityKind::kProcess)) {
      const size_t slash = image.rfind('\\');
      if (slash != std::string::npos) image.erase(0, slash + 1);
      Live(row, context, start, MakeKey(KeySpace::kProcess, 0, *pid, 0), *pid, kNoId, ActivityKind::kProcess,
           image.empty() ? "Process" : fmt::format("Process: {}", image));
    }
    if (!start) context.tracker().ProcessEnd(*pid, row.timestamp);
  }

  void Live(const EventHeader& row, PairContext& context, bool start, const PairKey& key, uint32_t pid, uint32_t tid,
            ActivityKind kind, std::string_view text) {
    const int64_t tolerance = context.trace().info.clock.frequency / 10;
    const uint64_t who = key.words[1] ^ key.words[0] << 40;
    const uint32_t name = context.names().Number(text);
    if (start) {
      const OpenActivity known = context.table().Newest(key, context.tracker());
      if (known != OpenActivity{}) {
        if (row.timestamp - context.tracker().Find(known)->start <= tolerance) return;
        // Its end was lost.
        context.tracker().Stop(known, {.time = row.timestamp, .flags = kUnterminated});
      }
      auto args = PairContext::StartOf(row, name, kind);
      args.pid = pid;
      args.tid = tid;
      if (kind == ActivityKind::kThread) {
        args.parent = context.table().Newest(MakeKey(KeySpace::kProcess, 0, pid, 0), context.tracker());
      }
      context.Open(key, args);
      return;
    }
    const auto last = last_stops_.find(who);
    const bool again = last != last_stops_.end() && row.timestamp - last->second <= tolerance;
    if (!context.Close(key, row, {}) && !again) {
      context.CloseMissing(row, {.name = name, .kind = kind, .nests = false, .pid = pid, .tid = tid});
    }
    last_stops_[who] = row.timestamp;
  }

  std::optional<KernelEvents> kernel_;
  uint32_t interval_ = 10'000;                        // 100 ns: 1 ms, what Windows begins with
  std::unordered_map<uint64_t, int64_t> last_stops_;  // two providers may tell of one
};

}  // namespace

std::unique_ptr<PairSource> MakeLifetimes() { return std::make_unique<Lifetimes>(); }

}  // namespace etwpipe::activities

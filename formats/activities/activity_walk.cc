#include "formats/activities/activity_walk.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "formats/activities/kernel_events.h"
#include "formats/activities/pair_context.h"
#include "pipeline/guid.h"

namespace etwpipe::activities {
namespace {

// Sends every event to the source that knows its provider.
class Sources {
 public:
  Sources(const TraceContext& trace, const ActivityOptions& options)
      : trace_(trace), rules_((options.kinds & BitOf(ActivityKind::kRule)) != 0 ? options.rules : nullptr) {}

  void Observe(const EventHeader& row, PairContext& context) {
    if (row.provider >= by_provider_.size()) Know(row.provider);
    if (PairSource* source = by_provider_[row.provider]) source->Observe(row, context);
    if (rules_ != nullptr) Declared(row, context);
  }

 private:
  void Know(ProviderIndex provider) {
    while (by_provider_.size() <= provider) {
      const auto next = static_cast<ProviderIndex>(by_provider_.size());
      by_provider_.push_back(SourceOf(trace_.providers->guid(next)));
    }
  }

  PairSource* SourceOf(const Guid& guid) {
    static constexpr std::array<std::string_view, 3> kClrOthers = {
        "a669021c-c450-4609-a035-5af59af4df18",  // rundown: its opcodes 1 and 2 start nothing
        "763fd754-7086-4dfe-95eb-c01a46faf4ca",  // private
        "cc2bcbba-16b6-4cf3-8990-d74c2e8af500",  // stress
    };
    static constexpr std::array<std::string_view, 4> kKernel = {
        "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",  // Process
        "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",  // Thread
        "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",  // PerfInfo
        "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716",  // Microsoft-Windows-Kernel-Process
    };
    const auto is = [&](std::string_view text) { return guid == GuidOf(text); };
    if (guid == Guid()) return nullptr;
    if (std::any_of(kKernel.begin(), kKernel.end(), is)) return lifetimes_.get();
    if (is("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4")) return clr_.get();
    if (std::any_of(kClrOthers.begin(), kClrOthers.end(), is)) return nullptr;
    if (is("f78a07b0-796a-5da4-5c20-61aa526e77af")) return vcperf_.get();
    if (guid == ProviderGuidFromName("etwpipe.ingest")) return ingest_.get();
    if (guid == ProviderGuidFromName("etwpipe.profiler")) return calls_.get();
    if (guid == ProviderGuidFromName("etwpipe")) return nullptr;
    return app_.get();
  }

  void Declared(const EventHeader& row, PairContext& context) {
    declared_.clear();
    rules_->Match(row, declared_);
    for (const DeclaredEvent& event : declared_) {
      // The key is a text: its hash stands for it.
      const XXH128_hash_t key = XXH3_128bits(event.key.data(), event.key.size());
      const PairKey pair =
          MakeKey(KeySpace::kRule, event.rule, row.pid, event.strict ? row.tid : 0, key.low64, key.high64);
      const auto name = [&] { return context.names().Number(rules_->NameOf(event.rule)); };
      if (event.start) {
        auto args = PairContext::StartOf(row, name(), ActivityKind::kRule);
        args.nests = event.strict;
        args.strict = event.strict;
        context.Open(pair, args);
      } else if (!context.Close(pair, row, {.ends_inner = event.strict})) {
        context.CloseMissing(
            row, {.name = name(), .kind = ActivityKind::kRule, .nests = event.strict, .ends_inner = event.strict});
      }
    }
  }

  const TraceContext& trace_;
  DeclaredPairs* rules_;
  std::vector<DeclaredEvent> declared_;
  std::vector<PairSource*> by_provider_;
  std::unique_ptr<PairSource> app_ = MakeAppPairs();
  std::unique_ptr<PairSource> clr_ = MakeClrPairs();
  std::unique_ptr<PairSource> calls_ = MakeCalls();
  std::unique_ptr<PairSource> ingest_ = MakeIngestPairs();
  std::unique_ptr<PairSource> vcperf_ = MakeVcperfActivities();
  std::unique_ptr<PairSource> lifetimes_ = MakeLifetimes();
};

TrackerOptions TrackerOptionsOf(const TraceContext& trace, const ActivityOptions& options, int64_t trace_start) {
  TrackerOptions made;
  made.division = options.division;
  made.trace_start = trace_start;
  made.same_start = trace.info.clock.frequency / 10;  // 100 ms
  made.sampled_cpu = options.sampled_cpu;
  return made;
}

}  // namespace

struct HistoryWalk::Impl : ActivityListener {
  Impl(const TraceContext& trace_, const ActivityOptions& options_)
      : trace(trace_), options(options_), kernel(trace_), sources(trace_, options_) {
    exception_provider = trace.providers->Intern(GuidOf("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"));
  }

  void Begin(const EventHeader& row) {
    found.trace_start = row.timestamp;
    switches.emplace(row.timestamp);
    TrackerOptions tracker_options = TrackerOptionsOf(trace, options, row.timestamp);
    tracker_options.outlasting = &found.outlasting;
    tracker.emplace(tracker_options, nothing, this);
    context.emplace(trace, options, nothing, *tracker, PairContext::FirstWalk{&found.missing, &*switches});
  }

  void OnStop(const Activity& activity) override {
    if (activity.has(kNegative)) found.negative.insert(activity.id);
  }

  const TraceContext& trace;
  const ActivityOptions& options;
  KernelEvents kernel;
  Sources sources;
  std::optional<ProviderIndex> exception_provider;
  const ActivityHistory nothing;
  ActivityHistory found;
  std::optional<SwitchHistoryBuilder> switches;
  std::optional<ActivityTracker> tracker;
  std::optional<PairContext> context;
};

HistoryWalk::HistoryWalk(const TraceContext& trace, const ActivityOptions& options)
    : impl_(std::make_unique<Impl>(trace, options)) {}
HistoryWalk::~HistoryWalk() = default;

void HistoryWalk::Observe(const EventHeader& row) {
  Impl& impl = *impl_;
  if (!impl.tracker) impl.Begin(row);
  impl.found.trace_stop = std::max(impl.found.trace_stop, row.timestamp);
  const KernelEvent kernel = impl.kernel.IsProvider(row.provider) ? impl.kernel.ClassOf(row) : KernelEvent::kOther;
  const auto found = kernel == KernelEvent::kSwitch ? KernelEvents::SwitchOf(row) : std::nullopt;
  if (found) {
    impl.switches->Switch(row.cpu, row.timestamp, found->new_tid, found->old_tid);
  } else {
    impl.switches->Event(row.cpu, row.timestamp);
  }
  constexpr uint16_t kExceptionThrownStop = 256;
  if (row.provider == impl.exception_provider && row.id == kExceptionThrownStop) {
    impl.found.exceptions_stop.insert(row.pid);
  }
  impl.tracker->Advance(row.timestamp);
  impl.sources.Observe(row, *impl.context);
}

ActivityHistory HistoryWalk::Finish() {
  Impl& impl = *impl_;
  if (impl.tracker) {
    impl.tracker->Finish(impl.found.trace_stop);
    impl.found.names = impl.context->names().all();
    impl.found.switches = impl.switches->Finish();
  }
  return std::move(impl.found);
}

struct ActivityWalk::Impl {
  Impl(const TraceContext& trace, const ActivityOptions& options, const ActivityHistory& told,
       ActivityListener* listener)
      : history(told),
        sources(trace, options),
        tracker(TrackerOptionsOf(trace, options, told.trace_start), told, listener),
        context(trace, options, told, tracker, {}) {}

  const ActivityHistory& history;
  Sources sources;
  ActivityTracker tracker;
  PairContext context;
};

ActivityWalk::ActivityWalk(const TraceContext& trace, const ActivityOptions& options, const ActivityHistory& history,
                           ActivityListener* listener)
    : impl_(std::make_unique<Impl>(trace, options, history, listener)) {}
ActivityWalk::~ActivityWalk() = default;

bool ActivityWalk::Observe(const EventHeader& row) {
  impl_->tracker.Advance(row.timestamp);
  impl_->sources.Observe(row, impl_->context);
  return impl_->context.TakeChanged();
}

void ActivityWalk::Finish() { impl_->tracker.Finish(impl_->history.trace_stop); }

const ActivityTracker& ActivityWalk::tracker() const { return impl_->tracker; }
std::string_view ActivityWalk::NameOf(uint32_t name) const { return impl_->context.names().Get(name).text; }
std::string_view ActivityWalk::ModuleOf(uint32_t name) const { return impl_->context.names().Get(name).module; }

void TwoPassWalk::BeginSecond() {
  if (second_ != nullptr) return;
  history_ = first_->Finish();
  first_.reset();
  second_ = std::make_unique<ActivityWalk>(trace_, options_, history_, listener_);
}

bool TwoPassWalk::Finish() {
  if (finished_) return false;
  finished_ = true;
  BeginSecond();
  second_->Finish();
  return true;
}

}  // namespace etwpipe::activities

// Writes a trace anew with an event for every slow activity: mark_slow_activities TRACE OUTPUT MILLISECONDS
//
// An activity's duration is known when it stops, but the event shall stand where it starts. So the analysis pass
// remembers durations by instance id, and the relogging pass finds them at the start. The trace keeps every record.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "formats/etl/tracelogging_builder.h"
#include "tools/library/session.h"

namespace {

namespace etl = etwpipe::etl;
namespace session = etwpipe::session;

constexpr const char* kProvider = "etwpipe.examples";

class SlowActivities : public session::IAnalyzer {
 public:
  explicit SlowActivities(std::chrono::nanoseconds least) : least_(least) {}

  session::Control OnStopActivity(const session::EventStack& stack) override {
    const session::Activity activity(stack.back());
    if (activity.Duration() >= least_) slow_[activity.event_instance_id()] = activity.Duration();
    return session::Control::kContinue;
  }
  /// How long a slow activity takes; null for others.
  const std::chrono::nanoseconds* Find(uint64_t id) const {
    const auto found = slow_.find(id);
    return found == slow_.end() ? nullptr : &found->second;
  }

 private:
  std::chrono::nanoseconds least_;
  std::unordered_map<uint64_t, std::chrono::nanoseconds> slow_;
};

class Marker : public session::IRelogger {
 public:
  explicit Marker(const SlowActivities& slow)
      : slow_(slow), schema_("SlowActivity"), traits_(etl::ProviderTraits(kProvider)) {
    schema_.Field("InstanceId", etl::InType::kUint64).Field("DurationNs", etl::InType::kInt64);
    schema_.Field("Name", etl::InType::kAnsiString, etl::OutType::kUtf8);
  }

  session::Control OnStartActivity(const session::EventStack& stack, session::IRelogSession& relog) override {
    const session::Activity activity(stack.back());
    const std::chrono::nanoseconds* duration = slow_.Find(activity.event_instance_id());
    if (duration == nullptr) return session::Control::kContinue;
    payload_.Clear();
    payload_.Add(activity.event_instance_id()).Add(int64_t{duration->count()}).AddAnsi(activity.event_name());
    session::InjectArgs args;
    args.provider = etwpipe::ProviderGuidFromName(kProvider);
    args.descriptor.channel = etl::kTraceLoggingChannel;
    args.descriptor.level = 4;
    args.process_id = activity.process_id();
    args.thread_id = activity.thread_id();
    args.processor_index = activity.processor_index();
    args.timestamp = activity.start_timestamp();
    args.data = payload_.bytes();
    args.schema = schema_.metadata();
    args.provider_traits = traits_;
    return relog.InjectEvent(args) ? session::Control::kContinue : session::Control::kFailure;
  }

 private:
  const SlowActivities& slow_;
  etl::TraceLoggingSchema schema_;
  std::vector<std::byte> traits_;
  etl::PayloadWriter payload_;
};

// Whether all of `text` is a number, which `number` then is.
template <typename Number>
bool ReadNumber(const char* text, Number& number) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end;
}

// The exit status once everything is printed.
int Finish(const session::SessionCounts& counts) {
  if (counts.damage != 0) {
    std::fprintf(stderr, "%llu places of the trace could not be read; what stood there is missing\n",
                 static_cast<unsigned long long>(counts.damage));
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::perror("standard output");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t milliseconds = 0;
  if (argc != 4 || !ReadNumber(argv[3], milliseconds)) {
    std::fprintf(stderr, "usage: %s TRACE OUTPUT MILLISECONDS\n", argv[0]);
    return 2;
  }
  if (std::filesystem::exists(argv[2])) {
    std::fprintf(stderr, "%s: exists already; remove it or name another file\n", argv[2]);
    return 2;
  }
  SlowActivities slow{std::chrono::milliseconds(milliseconds)};
  Marker marker(slow);
  const session::SessionResult result = session::Relog(argv[1], argv[2], 1, session::kRetainAll, {&slow}, {&marker});
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.message.c_str());
    return 1;
  }
  std::printf("%llu slow activities marked, %llu records kept\n",
              static_cast<unsigned long long>(result.counts.injected),
              static_cast<unsigned long long>(result.counts.retained));
  return Finish(result.counts);
}

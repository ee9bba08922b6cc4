// Activities of real recordings against what an independent reader paired (expected/activities.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "formats/activities/activity_walk.h"
#include "formats/facts/surveyors.h"
#include "formats/open.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::activities {
namespace {

class Recorder : public ActivityListener {
 public:
  void OnFinal(const Activity& activity) override { activities.push_back(activity); }
  std::vector<Activity> activities;
};

struct Walked {
  Walked(const std::string& name, const ActivityOptions& options) {
    Diagnostics diagnostics;
    OpenOptions open;
    open.diagnostics = &diagnostics;
    auto opened = OpenSource(test::SamplePath(name + ".etl").string(), open);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    source = std::move(*opened);
    auto surveyors = facts::MakeSurveyors({});
    EXPECT_TRUE(surveyors.ok());
    Plan plan;
    plan.facts = kWalkFacts;
    ExecuteArgs args{*source, plan, sink};
    args.threads = 2;
    args.diagnostics = &diagnostics;
    args.surveyors = surveyors->factory;
    EXPECT_TRUE(Execute(args).ok());
    HistoryWalk first(source->context(), options);
    for (const auto& event : sink.events) first.Observe(RowOf(event));
    history = first.Finish();
    ActivityWalk walk(source->context(), options, history, &recorder);
    for (const auto& event : sink.events) walk.Observe(RowOf(event));
    walk.Finish();
    covered = walk.tracker().covered();
    for (const Activity& activity : recorder.activities) {
      by_name[std::string(walk.NameOf(activity.name))].push_back(activity);
    }
  }
  static EventHeader RowOf(const test::CollectedEvent& event) {
    EventHeader row = event.header;
    row.record = event.bytes.data();
    return row;
  }

  std::unique_ptr<Source> source;
  test::CollectSink sink;
  ActivityHistory history;
  Recorder recorder;
  std::map<std::string, std::vector<Activity>> by_name;
  int64_t covered = 0;
};

uint64_t Member(const rapidjson::Value& object, const char* name) {
  return object.HasMember(name) ? object[name].GetUint64() : 0;
}

void Compare(const std::vector<Activity>& activities, const rapidjson::Value& expected, int64_t slack) {
  uint64_t pairs = 0, unterminated = 0, truncated = 0;
  int64_t sum = 0, longest = 0;
  for (const Activity& activity : activities) {
    if (activity.has(kUnterminated)) {
      ++unterminated;
    } else if (activity.has(kTruncatedStart)) {
      ++truncated;
    } else {
      ++pairs;
      sum += activity.duration();
      longest = std::max(longest, activity.duration());
    }
  }
  EXPECT_EQ(pairs, Member(expected, "pairs"));
  EXPECT_EQ(unterminated, Member(expected, "unpaired_starts"));
  EXPECT_EQ(truncated, Member(expected, "unpaired_stops"));
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(Member(expected, "ticks_sum")),
              static_cast<double>(slack) * static_cast<double>(pairs));
  EXPECT_NEAR(static_cast<double>(longest), static_cast<double>(Member(expected, "ticks_max")),
              static_cast<double>(slack));
}

TEST(ActivitySamples, PairsAreThoseOfAnIndependentReader) {
  const auto path = test::TestDataDir() / "expected" / "activities.json";
  const auto absent = test::MissingData(path);
  if (!absent.empty()) GTEST_SKIP() << absent;
  const auto expected = test::ReadJson(path);
  for (const auto& member : expected.GetObject()) {
    const std::string name = member.name.GetString();
    if (name == "_rules") continue;
    SCOPED_TRACE(name);
    Walked walked(name, {});
    {
      SCOPED_TRACE("gc");
      Compare(walked.by_name["GC"], member.value["gc"], 0);
    }
    {
      SCOPED_TRACE("suspend");
      Compare(walked.by_name["GC/Suspension"], member.value["suspend"], 0);
    }
    {
      SCOPED_TRACE("jit");
      Compare(walked.by_name["JIT"], member.value["jit"], 0);
    }
    int64_t sum = 0;
    for (const Activity& activity : walked.recorder.activities) sum += activity.exclusive_responsibility;
    EXPECT_EQ(sum, walked.covered);
    EXPECT_EQ(walked.history.switches.switches, member.value["kernel"]["cswitch"].GetUint64());
  }
}

TEST(ActivitySamples, LifetimesAreThoseOfAnIndependentReader) {
  const auto path = test::TestDataDir() / "expected" / "activities.json";
  const auto absent = test::MissingData(path);
  if (!absent.empty()) GTEST_SKIP() << absent;
  const auto expected = test::ReadJson(path);
  ActivityOptions options;
  options.kinds = BitOf(ActivityKind::kProcess) | BitOf(ActivityKind::kThread);
  for (const auto& member : expected.GetObject()) {
    const std::string name = member.name.GetString();
    if (name == "_rules") continue;
    SCOPED_TRACE(name);
    Walked walked(name, options);
    std::vector<Activity> processes, threads;
    for (const Activity& activity : walked.recorder.activities) {
      (activity.kind == ActivityKind::kProcess ? processes : threads).push_back(activity);
    }
    // Two providers tell of one start a few ticks apart.
    {
      SCOPED_TRACE("processes");
      Compare(processes, member.value["processes"], 100);
    }
    {
      SCOPED_TRACE("threads");
      Compare(threads, member.value["threads"], 100);
    }
  }
}

}  // namespace
}  // namespace etwpipe::activities

// The tracker against the tables of semantics.md and against a plain reference that follows the definitions.
#include "formats/activities/tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace etwpipe::activities {
namespace {

class Recorder : public ActivityListener {
 public:
  void OnStart(const Activity& activity) override { started.push_back(activity.id); }
  void OnStop(const Activity& activity) override { stopped.push_back(activity); }
  void OnFinal(const Activity& activity) override { final[activity.id] = activity; }

  std::vector<EventInstanceId> started;
  std::vector<Activity> stopped;
  std::map<EventInstanceId, Activity> final;
};

// --- Table 2.4 ---

struct Row {
  EventInstanceId id;
  EventInstanceId parent;
  int64_t start;
  std::optional<int64_t> stop;
  uint32_t tid;
  int64_t exclusive;
  int64_t inclusive;
};
struct Example {
  int number;
  std::vector<Row> rows;
  int64_t trace_stop;
  int64_t covered;
};

void Play(const Example& example, DivisionRule rule, Recorder& recorder, int64_t& covered) {
  struct Step {
    int64_t time;
    bool start;
    Row row;
  };
  std::vector<Step> steps;
  for (const Row& row : example.rows) {
    steps.push_back({row.start, true, row});
    if (row.stop) steps.push_back({*row.stop, false, row});
  }
  // "ids = EventInstanceId; equal stops arrive in descending id"; a zero-length activity starts before it stops.
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.row.id == b.row.id) return a.start && !b.start;
    if (a.start != b.start) return !a.start;
    return a.start ? a.row.id < b.row.id : a.row.id > b.row.id;
  });
  const ActivityHistory history;
  ActivityTracker tracker({.division = rule}, history, &recorder);
  std::map<EventInstanceId, OpenActivity> open;
  for (const Step& step : steps) {
    if (step.start) {
      ActivityTracker::StartArgs args;
      args.time = step.time;
      args.id = step.row.id;
      args.tid = step.row.tid;
      if (step.row.parent != 0) args.parent = open[step.row.parent];
      open[step.row.id] = tracker.Start(args);
    } else {
      tracker.Stop(open[step.row.id], {.time = step.time, .id = 1000 + step.row.id, .tid = step.row.tid});
    }
  }
  tracker.Finish(example.trace_stop);
  covered = tracker.covered();
  EXPECT_EQ(tracker.open(), 0u);
}

const std::vector<Example>& Table24() {
  static const std::vector<Example> table = {
      {1, {{1, 0, 0, 50, 1, 25, 25}, {2, 0, 0, 50, 2, 25, 25}}, 50, 50},
      {2, {{1, 0, 0, 10, 1, 10, 10}, {2, 0, 10, 20, 2, 10, 10}}, 20, 20},
      {3, {{1, 0, 0, 100, 1, 50, 100}, {2, 1, 10, 60, 1, 50, 50}}, 100, 100},
      {4, {{1, 0, 0, 60, 1, 45, 45}, {2, 0, 30, 90, 2, 45, 45}}, 90, 90},
      {5, {{1, 0, 0, 100, 1, 33, 33}, {2, 0, 0, 100, 2, 34, 34}, {3, 0, 0, 100, 3, 33, 33}}, 100, 100},
      {6,
       {{1, 0, 0, 100, 1, 10, 63}, {2, 1, 10, 90, 2, 26, 26}, {3, 1, 10, 90, 3, 27, 27}, {4, 0, 0, 100, 4, 37, 37}},
       100,
       100},
      {7, {{1, 0, 0, 100, 1, 73, 73}, {2, 0, 10, 60, 2, 23, 23}, {3, 0, 20, 31, 3, 4, 4}}, 100, 100},
      {8, {{1, 0, 0, 10, 1, 10, 10}, {2, 1, 5, 5, 1, 0, 0}}, 10, 10},
      {9, {{1, 0, 0, {}, 1, 55, 80}, {2, 1, 20, 50, 2, 25, 25}, {3, 0, 40, 80, 3, 20, 20}}, 100, 100},
      {10, {{1, 0, 0, 100, 1, 20, 100}, {2, 1, 10, 60, 1, 40, 40}, {3, 1, 40, 90, 1, 40, 40}}, 100, 100},
      {11, {{1, 0, 0, 50, 1, 20, 80}, {2, 1, 20, 80, 2, 60, 60}}, 80, 80},
      {12, {{1, 0, 0, 10, 1, 10, 10}, {2, 0, 15, 20, 1, 5, 5}}, 20, 15},
      {13, {{1, 0, 0, 7, 1, 3, 3}, {2, 0, 0, 7, 2, 4, 4}}, 7, 7},
  };
  return table;
}

TEST(ActivityTracker, GivesTheResponsibilitiesOfTheTable) {
  for (const Example& example : Table24()) {
    SCOPED_TRACE(example.number);
    Recorder recorder;
    int64_t covered = 0;
    Play(example, DivisionRule::kLeaves, recorder, covered);
    EXPECT_EQ(covered, example.covered);
    ASSERT_EQ(recorder.final.size(), example.rows.size());
    for (const Row& row : example.rows) {
      EXPECT_EQ(recorder.final[row.id].exclusive_responsibility, row.exclusive) << "activity " << row.id;
      EXPECT_EQ(recorder.final[row.id].responsibility, row.inclusive) << "activity " << row.id;
      EXPECT_EQ(recorder.final[row.id].has(kUnterminated), !row.stop.has_value());
      EXPECT_EQ(recorder.final[row.id].parent, row.parent);
    }
  }
}

TEST(ActivityTracker, DividesAmongRootsFirstOnRequest) {
  Recorder recorder;
  int64_t covered = 0;
  Play(Table24()[5], DivisionRule::kRoots, recorder, covered);
  EXPECT_EQ(covered, 100);
  EXPECT_EQ(recorder.final[1].responsibility, 50);
  EXPECT_EQ(recorder.final[4].responsibility, 50);
  EXPECT_EQ(recorder.final[1].exclusive_responsibility, 10);
}

TEST(ActivityTracker, SaysThatChildrenAreLate) {
  Recorder recorder;
  int64_t covered = 0;
  Play(Table24()[10], DivisionRule::kLeaves, recorder, covered);
  ASSERT_EQ(recorder.stopped.size(), 2u);
  EXPECT_EQ(recorder.stopped[0].id, 1u);
  EXPECT_EQ(recorder.stopped[0].responsibility, 20) << "without the child that goes on";
  EXPECT_TRUE(recorder.final[1].has(kLateChildren));
}

// --- Random traces against the definitions ---

enum class Op { kStart, kStop, kSwitch, kThreadStart, kThreadEnd, kOther };
struct Record {
  Op op;
  int64_t time;
  EventInstanceId id = 0;
  EventInstanceId target = 0;  // kStop: activity; kStart: explicit parent, 0: enclosing
  uint32_t tid = 0;            // kSwitch: new
  uint32_t old_tid = 0;
  uint16_t processor = 0;
};

struct Reference {
  struct Entry {
    EventInstanceId id = 0;
    EventInstanceId parent = 0;
    uint32_t tid = 0;
    int64_t start = 0;
    int64_t stop = 0;
    size_t start_at = 0;  // place in the stream
    size_t stop_at = 0;   // rank among the stops
    FixedTicks earned;
    int64_t exclusive_responsibility = 0;
    int64_t responsibility = 0;
    int64_t exclusive_cpu = 0;
    int64_t cpu = 0;
    int64_t exclusive_duration = 0;
  };
  std::vector<Entry> entries;
  int64_t covered = 0;

  Entry& Get(EventInstanceId id) {
    for (Entry& entry : entries) {
      if (entry.id == id) return entry;
    }
    ADD_FAILURE() << id;
    return entries.front();
  }
};

struct Run {
  uint32_t tid;
  int64_t begin;
  int64_t end;
};

// On-CPU intervals by rules 1 to 4 of semantics.md 3.2.
std::vector<Run> Runs(const std::vector<Record>& records, int64_t trace_start, int64_t trace_stop) {
  std::vector<Run> runs;
  std::map<uint16_t, std::vector<size_t>> by_processor;
  struct State {
    bool seen = false;
    bool known = false;
    uint32_t tid = 0;
    int64_t since = 0;
    int64_t last = 0;
  };
  std::map<uint16_t, State> states;
  std::map<uint32_t, int64_t> starts;
  std::map<uint32_t, int64_t> ends;  // of threads, since their last start
  for (const Record& record : records) {
    State& state = states[record.processor];
    if (record.op == Op::kThreadStart) {
      starts[record.tid] = record.time;
      ends.erase(record.tid);
    }
    if (record.op == Op::kThreadEnd) {
      ends.try_emplace(record.tid, record.time);
      for (auto& [processor, other] : states) {
        if (other.known && other.tid == record.tid) {
          runs.push_back({other.tid, other.since, record.time});
          other.known = false;
        }
      }
    }
    if (record.op == Op::kSwitch) {
      if (!state.seen) {
        const int64_t since = starts.contains(record.old_tid) ? starts[record.old_tid] : trace_start;
        runs.push_back({record.old_tid, since, ends.contains(record.old_tid) ? ends[record.old_tid] : record.time});
      } else if (state.known) {
        runs.push_back({state.tid, state.since, state.tid == record.old_tid ? record.time : state.last});
      }
      state.seen = state.known = true;
      state.tid = record.tid;
      state.since = record.time;
    }
    state.last = record.time;
  }
  for (auto& [processor, state] : states) {
    if (state.known) runs.push_back({state.tid, state.since, trace_stop});
  }
  return runs;
}

Reference Solve(const std::vector<Record>& records, int64_t trace_start, int64_t trace_stop) {
  Reference result;
  auto& entries = result.entries;
  std::map<EventInstanceId, size_t> open;  // id: index
  size_t stops = 0;
  // Starts that are missing: the last to stop is the outermost of its thread.
  std::set<EventInstanceId> started;
  std::vector<const Record*> missing;
  for (const Record& record : records) {
    if (record.op == Op::kStart) started.insert(record.id);
    if (record.op == Op::kStop && !started.contains(record.target)) missing.push_back(&record);
  }
  std::map<uint32_t, EventInstanceId> inner;
  for (size_t i = missing.size(); i-- > 0;) {
    Reference::Entry entry;
    entry.id = missing[i]->id;
    entry.tid = missing[i]->tid;
    entry.start = trace_start;
    entry.parent = inner.contains(entry.tid) ? inner[entry.tid] : 0;
    entry.start_at = missing.size() - i;
    inner[entry.tid] = entry.id;
    open[entry.id] = entries.size();
    entries.push_back(entry);
  }
  const auto close = [&](EventInstanceId id, int64_t time) {
    entries[open[id]].stop = time;
    entries[open[id]].stop_at = stops++;
    open.erase(id);
  };
  const auto innermost = [&](uint32_t tid, size_t after = 0) {
    EventInstanceId found = 0;
    size_t best = 0;
    for (const auto& [id, index] : open) {
      if (entries[index].tid == tid && entries[index].start_at > after && entries[index].start_at >= best) {
        best = entries[index].start_at;
        found = id;
      }
    }
    return found;
  };
  for (size_t at = 0; at < records.size(); ++at) {
    const Record& record = records[at];
    switch (record.op) {
      case Op::kStart: {
        Reference::Entry entry;
        entry.id = record.id;
        entry.tid = record.tid;
        entry.start = record.time;
        entry.start_at = missing.size() + 1 + at;
        entry.parent = open.contains(record.target) ? record.target : innermost(record.tid);
        open[entry.id] = entries.size();
        entries.push_back(entry);
        break;
      }
      case Op::kStop: {
        const EventInstanceId id = started.contains(record.target) ? record.target : record.id;
        if (open.contains(id)) close(id, record.time);
        break;
      }
      case Op::kThreadStart:
      case Op::kThreadEnd:
        // Missing starts have stops that are still to come.
        while (const EventInstanceId id = innermost(record.tid, missing.size())) close(id, record.time);
        break;
      default: break;
    }
  }
  while (!open.empty()) close(open.rbegin()->first, trace_stop);

  // Zero-length activities are left out of the sweep: they are no boundaries.
  std::set<int64_t> sweep{trace_start, trace_stop};
  for (const auto& entry : entries) {
    if (entry.start < entry.stop) sweep.insert({entry.start, entry.stop});
  }
  std::set<int64_t> bounds = sweep;
  const std::vector<Run> runs = Runs(records, trace_start, trace_stop);
  for (const Run& run : runs) bounds.insert({run.begin, run.end});
  std::set<uint32_t> tids;
  for (const Run& run : runs) tids.insert(run.tid);

  const auto ancestor = [&](const Reference::Entry& above, const Reference::Entry& below) {
    for (EventInstanceId id = below.parent; id != 0; id = result.Get(id).parent) {
      if (id == above.id) return true;
    }
    return false;
  };
  const auto live_at = [&](int64_t time) {
    std::vector<Reference::Entry*> live;
    for (auto& entry : entries) {
      if (entry.start <= time && time < entry.stop) live.push_back(&entry);
    }
    return live;
  };
  for (auto bound = sweep.begin(); std::next(bound) != sweep.end(); ++bound) {
    const int64_t from = *bound;
    const int64_t to = *std::next(bound);
    const auto live = live_at(from);
    std::vector<Reference::Entry*> leaves;
    for (auto* entry : live) {
      if (std::none_of(live.begin(), live.end(), [&](auto* other) { return ancestor(*entry, *other); })) {
        leaves.push_back(entry);
      }
    }
    if (!leaves.empty()) result.covered += to - from;
    // By the text: q, r, then two 32-bit steps.
    for (auto* leaf : leaves) {
      const auto k = static_cast<uint64_t>(leaves.size());
      const auto d = static_cast<uint64_t>(to - from);
      const uint64_t r = d % k;
      const uint64_t hi = (r << 32) / k;
      const uint64_t rem = (r << 32) % k;
      const uint64_t lo = (rem << 32) / k;
      leaf->earned += {static_cast<int64_t>(d / k), hi << 32 | lo};
    }
  }
  for (auto bound = bounds.begin(); std::next(bound) != bounds.end(); ++bound) {
    const int64_t from = *bound;
    const int64_t to = *std::next(bound);
    const auto live = live_at(from);
    for (const uint32_t tid : tids) {
      if (tid == 0) continue;
      const bool runs_now = std::any_of(runs.begin(), runs.end(), [&](const Run& run) {
        return run.tid == tid && run.begin <= from && from < run.end;
      });
      if (!runs_now) continue;
      Reference::Entry* top = nullptr;
      for (auto* entry : live) {
        if (entry->tid == tid && (top == nullptr || entry->start_at > top->start_at)) top = entry;
      }
      if (top != nullptr) top->exclusive_cpu += to - from;
    }
    for (auto* entry : live) {
      const bool child_lives =
          std::any_of(live.begin(), live.end(), [&](auto* other) { return other->parent == entry->id; });
      if (!child_lives) entry->exclusive_duration += to - from;
    }
  }
  std::vector<Reference::Entry*> order;
  for (auto& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->stop_at < b->stop_at; });
  FixedTicks carry{0, uint64_t{1} << 63};
  for (auto* entry : order) {
    const FixedTicks sum = entry->earned + carry;
    entry->exclusive_responsibility = sum.whole;
    carry = {0, sum.fraction};
  }
  for (auto& entry : entries) {
    entry.responsibility = entry.exclusive_responsibility;
    entry.cpu = entry.exclusive_cpu;
    for (const auto& other : entries) {
      if (!ancestor(entry, other)) continue;
      entry.responsibility += other.exclusive_responsibility;
      entry.cpu += other.exclusive_cpu;
    }
  }
  return result;
}

std::vector<Record> RandomTrace(std::mt19937_64& random) {
  const auto below = [&](uint64_t n) { return random() % n; };
  std::vector<Record> records;
  const size_t length = 1 + below(40);
  const uint32_t threads = static_cast<uint32_t>(1 + below(5));
  const uint16_t processors = static_cast<uint16_t>(1 + below(3));
  const uint64_t step = below(2) == 0 ? 3 : 40;
  const bool switches = below(3) != 0;
  const uint64_t lost = below(3);  // in ten
  int64_t time = static_cast<int64_t>(below(20));
  std::vector<EventInstanceId> open;
  std::map<EventInstanceId, uint32_t> owner;
  std::map<uint16_t, uint32_t> running;
  EventInstanceId next = 1;
  const auto tid = [&] { return static_cast<uint32_t>(4 * (1 + below(threads))); };
  for (size_t i = 0; i < length; ++i) {
    time += static_cast<int64_t>(below(step));
    Record record{Op::kOther, time, next++};
    record.processor = static_cast<uint16_t>(below(processors));
    const uint64_t choice = below(20);
    if (choice < 7) {
      record.op = Op::kStart;
      record.tid = tid();
      if (!open.empty() && below(2) == 0) record.target = open[below(open.size())];
      open.push_back(record.id);
      owner[record.id] = record.tid;
    } else if (choice < 12 && !open.empty()) {
      const size_t which = below(3) == 0 ? below(open.size()) : open.size() - 1;
      record.op = Op::kStop;
      record.target = open[which];
      record.tid = below(5) == 0 ? tid() : owner[record.target];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (choice == 12) {
      record.op = Op::kStop;
      record.target = 1'000'000 + i;  // nobody started it
      record.tid = tid();
    } else if (choice == 13) {
      record.op = below(2) == 0 ? Op::kThreadStart : Op::kThreadEnd;
      record.tid = tid();
    } else if (choice < 18 && switches) {
      const uint32_t from = running.contains(record.processor) ? running[record.processor] : below(2) == 0 ? 0 : tid();
      const uint32_t to = below(3) == 0 ? 0 : tid();
      running[record.processor] = to;
      if (below(10) < lost) {
        record.op = Op::kOther;
      } else {
        record.op = Op::kSwitch;
        record.tid = to;
        record.old_tid = from;
      }
    }
    records.push_back(record);
  }
  return records;
}

TEST(ActivityTracker, AgreesWithTheDefinitionsOnRandomTraces) {
  std::mt19937_64 random(20261130);
  uint64_t activities = 0, with_cpu = 0, missing = 0, late = 0, anomalies = 0;
  for (int round = 0; round < 10'000; ++round) {
    const std::vector<Record> records = RandomTrace(random);
    const int64_t trace_start = records.front().time;
    const int64_t trace_stop = records.back().time;
    const Reference expected = Solve(records, trace_start, trace_stop);

    ActivityHistory history;
    SwitchHistoryBuilder switches(trace_start);
    std::set<EventInstanceId> started;
    for (const Record& record : records) {
      if (record.op == Op::kStart) started.insert(record.id);
      if (record.op == Op::kThreadStart) switches.ThreadStart(record.tid, record.time);
      if (record.op == Op::kThreadEnd) switches.ThreadEnd(record.tid);
      if (record.op == Op::kStop && !started.contains(record.target)) {
        ActivityHistory::MissingStart start;
        start.id = record.id;
        start.tid = record.tid;
        history.missing.push_back(start);
      }
      if (record.op == Op::kSwitch) {
        switches.Switch(record.processor, record.time, record.tid, record.old_tid);
      } else {
        switches.Event(record.processor, record.time);
      }
    }
    history.switches = switches.Finish();
    Recorder recorder;
    ActivityTracker tracker({.trace_start = trace_start}, history, &recorder);
    std::map<EventInstanceId, OpenActivity> open;
    for (const Record& record : records) {
      switch (record.op) {
        case Op::kStart: {
          ActivityTracker::StartArgs args;
          args.time = record.time;
          args.id = record.id;
          args.tid = record.tid;
          if (record.target != 0) args.parent = open[record.target];
          open[record.id] = tracker.Start(args);
          break;
        }
        case Op::kStop: {
          const bool known = started.contains(record.target);
          tracker.Stop(known ? open[record.target] : tracker.FindMissing(record.id),
                       {.time = record.time, .id = record.id, .tid = record.tid});
          break;
        }
        case Op::kSwitch: tracker.Switch(record.processor, record.time, record.tid, record.old_tid); break;
        case Op::kThreadStart: tracker.ThreadStart(record.tid, 1, record.time); break;
        case Op::kThreadEnd: tracker.ThreadEnd(record.tid, record.time); break;
        case Op::kOther: tracker.Advance(record.time); break;
      }
    }
    tracker.Finish(trace_stop);
    ASSERT_EQ(tracker.open(), 0u);
    ASSERT_EQ(recorder.final.size(), expected.entries.size()) << "round " << round;
    ASSERT_EQ(tracker.covered(), expected.covered) << "round " << round;
    int64_t sum = 0;
    for (const auto& entry : expected.entries) {
      const Activity& got = recorder.final[entry.id];
      ASSERT_EQ(got.parent, entry.parent) << "round " << round << " activity " << entry.id;
      ASSERT_EQ(got.start, entry.start) << "round " << round << " activity " << entry.id;
      ASSERT_EQ(got.stop, entry.stop) << "round " << round << " activity " << entry.id;
      ASSERT_EQ(got.exclusive_responsibility, entry.exclusive_responsibility) << "round " << round << " " << entry.id;
      ASSERT_EQ(got.responsibility, entry.responsibility) << "round " << round << " activity " << entry.id;
      ASSERT_EQ(got.exclusive_cpu, entry.exclusive_cpu) << "round " << round << " activity " << entry.id;
      ASSERT_EQ(got.cpu, entry.cpu) << "round " << round << " activity " << entry.id;
      ASSERT_EQ(got.exclusive_duration, entry.exclusive_duration) << "round " << round << " activity " << entry.id;
      sum += got.exclusive_responsibility;
      ++activities;
      with_cpu += got.exclusive_cpu != 0 ? 1 : 0;
      missing += got.has(kTruncatedStart) ? 1 : 0;
      late += got.has(kLateChildren) ? 1 : 0;
    }
    ASSERT_EQ(sum, expected.covered) << "round " << round;
    anomalies += history.switches.anomalies;
  }
  // The traces hold what they are made for.
  EXPECT_GT(activities, 50'000u);
  EXPECT_GT(with_cpu, 5'000u);
  EXPECT_GT(missing, 5'000u);
  EXPECT_GT(late, 2'000u);
  EXPECT_GT(anomalies, 500u);
}

// Ids are places in the file: the child of a later buffer of another processor may have the lower one.
TEST(ActivityTracker, ChildrenEndBeforeTheirParentsWhateverTheirIds) {
  const ActivityHistory history;
  for (const bool by_thread : {false, true}) {
    Recorder recorder;
    ActivityTracker tracker({}, history, &recorder);
    for (const EventInstanceId id : {30, 10, 20, 40}) {
      ActivityTracker::StartArgs args;
      args.time = static_cast<int64_t>(id == 40 ? 5 : 0);
      args.id = id;
      args.tid = id == 40 ? 2 : 1;
      tracker.Start(args);
    }
    if (by_thread) tracker.ThreadEnd(1, 9);
    tracker.Finish(9);
    std::vector<EventInstanceId> order;
    for (const Activity& activity : recorder.stopped) {
      order.push_back(activity.id);
      EXPECT_FALSE(activity.has(kLateChildren)) << activity.id;
      EXPECT_EQ(activity.responsibility, recorder.final[activity.id].responsibility) << activity.id;
    }
    EXPECT_EQ(order, by_thread ? (std::vector<EventInstanceId>{20, 10, 30, 40})
                               : (std::vector<EventInstanceId>{40, 20, 10, 30}));
  }
}

// semantics.md 2.2: a recorded stop counts more than the end of the thread.
TEST(ActivityTracker, ARecordedStopCountsMoreThanTheEndOfTheThread) {
  ActivityHistory history;
  for (const bool first_walk : {true, false}) {
    std::unordered_set<EventInstanceId> outlasting;
    Recorder recorder;
    ActivityTracker tracker({.outlasting = first_walk ? &outlasting : nullptr}, history, &recorder);
    const auto start = [&](EventInstanceId id, bool nests) {
      ActivityTracker::StartArgs args;
      args.id = id;
      args.tid = 1;
      args.nests = nests;
      return tracker.Start(args);
    };
    const OpenActivity stopped = start(1, false);
    start(2, false);
    start(3, true);
    tracker.ThreadEnd(1, 10);
    EXPECT_EQ(tracker.Innermost(1), OpenActivity{});
    tracker.Stop(stopped, {.time = 30, .id = 5, .tid = 2});
    tracker.Finish(50);
    EXPECT_EQ(recorder.final[1].stop, 30);
    EXPECT_EQ(recorder.final[1].flags & ~kLateChildren, kMigrated);
    EXPECT_EQ(recorder.final[3].stop, 10);
    if (first_walk) {
      EXPECT_EQ(outlasting, (std::unordered_set<EventInstanceId>{1}));
      history.outlasting = outlasting;
    } else {
      EXPECT_EQ(recorder.final[2].stop, 10);
      EXPECT_TRUE(recorder.final[2].has(kUnterminated));
    }
  }
}

TEST(ActivityTracker, AMissingStartSurvivesAnEarlierLifeOfItsThread) {
  ActivityHistory history;
  ActivityHistory::MissingStart missing;
  missing.id = 7;
  missing.tid = 1;
  history.missing.push_back(missing);
  missing.id = 8;
  missing.nests = false;
  history.missing.push_back(missing);
  Recorder recorder;
  ActivityTracker tracker({}, history, &recorder);
  EXPECT_EQ(tracker.Innermost(1).id, 7u) << "nobody knows which thread started what another can stop";
  tracker.ThreadEnd(1, 5);
  tracker.ThreadStart(1, 1, 10);
  tracker.Stop(tracker.FindMissing(7), {.time = 20, .id = 7, .tid = 1});
  tracker.Stop(tracker.FindMissing(8), {.time = 25, .id = 8, .tid = 1});
  tracker.Finish(30);
  EXPECT_EQ(recorder.final[7].stop, 20);
  EXPECT_EQ(recorder.final[7].flags, kTruncatedStart);
  EXPECT_EQ(recorder.final[8].stop, 25);
}

TEST(ActivityTracker, NestsAMillionDeep) {
  Recorder recorder;
  const ActivityHistory history;
  ActivityTracker tracker({}, history, &recorder);
  std::vector<OpenActivity> open;
  constexpr int kDepth = 1'000'000;
  for (int i = 0; i < kDepth; ++i) {
    ActivityTracker::StartArgs args;
    args.time = i;
    args.id = static_cast<EventInstanceId>(i) + 1;
    args.tid = 4;
    args.strict = true;
    open.push_back(tracker.Start(args));
  }
  // The outermost stops first and takes all others with it.
  tracker.Stop(open.front(), {.time = 2 * kDepth, .id = 7'000'000, .tid = 4, .ends_inner = true});
  EXPECT_EQ(tracker.open(), 0u);
  EXPECT_EQ(tracker.counts().unbalanced, static_cast<uint64_t>(kDepth) - 1);
  EXPECT_EQ(tracker.covered(), 2 * kDepth);
  EXPECT_EQ(recorder.final[1].responsibility, 2 * kDepth);
  EXPECT_EQ(recorder.final[kDepth].exclusive_responsibility, kDepth + 1);
  // The same with an end of the trace that finds all of them open.
  ActivityTracker second({}, history, nullptr);
  for (int i = 0; i < kDepth; ++i) {
    ActivityTracker::StartArgs args;
    args.id = static_cast<EventInstanceId>(i) + 1;
    args.tid = 4;
    second.Start(args);
  }
  second.Finish(10);
  EXPECT_EQ(second.open(), 0u);
  EXPECT_EQ(second.covered(), 10);
}

TEST(ActivityTracker, AStopBeforeItsStartIsZeroLong) {
  Recorder recorder;
  ActivityHistory history;
  history.negative.insert(2);
  ActivityTracker tracker({}, history, &recorder);
  ActivityTracker::StartArgs args;
  args.tid = 4;
  args.time = 0;
  args.id = 1;
  const OpenActivity outer = tracker.Start(args);
  args.time = 10;
  args.id = 2;
  const OpenActivity negative = tracker.Start(args);
  tracker.Advance(20);
  tracker.Stop(negative, {.time = 5, .id = 3, .tid = 4});
  tracker.Stop(outer, {.time = 30, .id = 4, .tid = 4});
  tracker.Finish(30);
  EXPECT_TRUE(recorder.final[2].has(kNegative));
  EXPECT_EQ(recorder.final[2].duration(), 0);
  EXPECT_EQ(recorder.final[2].responsibility, 0);
  EXPECT_EQ(recorder.final[1].exclusive_responsibility, 30);
  EXPECT_EQ(recorder.final[1].exclusive_duration, 30);
  EXPECT_EQ(tracker.counts().negative, 1u);
  EXPECT_EQ(tracker.counts().time_steps_back, 1u);
}

TEST(ActivityTracker, KnownEndsComeInTime) {
  Recorder recorder;
  const ActivityHistory history;
  ActivityTracker tracker({}, history, &recorder);
  ActivityTracker::StartArgs args;
  args.tid = 4;
  args.id = 1;
  const OpenActivity outer = tracker.Start(args);
  tracker.StopAt(outer, 100);
  args.time = 10;
  args.id = 2;
  tracker.StopAt(tracker.Start(args), 40);
  tracker.Advance(39);
  EXPECT_EQ(tracker.open(), 2u);
  tracker.Advance(40);
  EXPECT_EQ(tracker.open(), 1u);
  tracker.Finish(60);  // its end lies behind the last event, but is known
  EXPECT_EQ(recorder.final[1].stop, 100);
  EXPECT_FALSE(recorder.final[1].has(kUnterminated));
  EXPECT_EQ(recorder.final[1].exclusive_responsibility, 70);
  EXPECT_EQ(tracker.covered(), 100);
}

TEST(ActivityTracker, SamplesStandForTicksOfTheInnermost) {
  Recorder recorder;
  const ActivityHistory history;
  ActivityTracker tracker({.sampled_cpu = true}, history, &recorder);
  ActivityTracker::StartArgs args;
  args.tid = 4;
  args.id = 1;
  tracker.Start(args);
  tracker.Sample(4, 1000);
  tracker.Sample(8, 1000);
  tracker.Switch(0, 50, 4, 0);
  tracker.Finish(100);
  EXPECT_EQ(recorder.final[1].exclusive_cpu, 1000);

  ActivityTracker unasked({}, history, &recorder);
  unasked.Start(args);
  unasked.Sample(4, 1000);
  unasked.Finish(100);
  EXPECT_EQ(recorder.final[1].exclusive_cpu, 0);
}

TEST(ActivityTracker, ExtremeTimesDoNotOverflow) {
  Recorder recorder;
  const ActivityHistory history;
  ActivityTracker tracker({.trace_start = std::numeric_limits<int64_t>::min()}, history, &recorder);
  ActivityTracker::StartArgs args;
  args.tid = 4;
  args.id = 1;
  args.time = std::numeric_limits<int64_t>::min();
  const OpenActivity open = tracker.Start(args);
  tracker.Stop(open, {.time = std::numeric_limits<int64_t>::max(), .id = 2, .tid = 4});
  tracker.Finish(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(recorder.final[1].responsibility, int64_t{1} << 62);
}

}  // namespace
}  // namespace etwpipe::activities

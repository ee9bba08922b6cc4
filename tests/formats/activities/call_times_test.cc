// Instrumentation values: the worked example of semantics.md 5.2, and random calls against a reference that looks at
// every interval by itself.
#include "formats/activities/call_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace etwpipe::activities {

void PrintTo(const CallValues& values, std::ostream* out) {
  *out << values.calls << " calls, EI " << values.elapsed_inclusive << " EE " << values.elapsed_exclusive << " AI "
       << values.application_inclusive << " AE " << values.application_exclusive;
}

namespace {

CallValues Values(uint64_t calls, int64_t ei, int64_t ee, int64_t ai, int64_t ae) { return {calls, ei, ee, ai, ae}; }

constexpr uint32_t kMain = 0, kA = 1, kB = 2, kX = 0, kY = 1, kTid = 7, kPid = 70;

CallTimes::EnterArgs Start(uint32_t function, uint32_t module, int64_t time, uint32_t tid = kTid, uint32_t pid = kPid) {
  return {tid, pid, function, module, time};
}

// Table 5.2.
CallTimes WorkedExample() {
  CallTimes times;
  times.Enter(Start(kMain, kX, 0));
  times.Enter(Start(kA, kX, 10));
  times.Enter(Start(kB, kY, 30));
  times.SwitchOut(kTid, 33);
  times.SwitchIn(kTid, 40);
  times.Leave(kTid, kPid, kB, 45);
  times.Leave(kTid, kPid, kA, 60);
  times.Enter(Start(kA, kX, 70));
  times.Enter(Start(kA, kX, 75));
  times.OsEvent(kTid, 80);
  times.Leave(kTid, kPid, kA, 95);
  times.Leave(kTid, kPid, kA, 100);
  times.Leave(kTid, kPid, kMain, 110);
  times.Finish(110);
  return times;
}

TEST(CallTimes, WorkedExample) {
  const CallTimes times = WorkedExample();
  EXPECT_EQ(times.functions()[kMain], Values(1, 110, 30, 75, 30));
  EXPECT_EQ(times.functions()[kA], Values(3, 80, 65, 45, 45));
  EXPECT_EQ(times.functions()[kB], Values(1, 15, 15, 0, 0));
  EXPECT_EQ(times.modules()[kX], Values(4, 110, 95, 75, 75));
  EXPECT_EQ(times.modules()[kY], Values(1, 15, 15, 0, 0));
  EXPECT_EQ(times.session(), Values(5, 110, 110, 75, 75));
  ASSERT_EQ(times.threads().size(), 1u);
  EXPECT_EQ(times.threads()[0].values, times.session());
  EXPECT_EQ(times.threads()[0].outside, 0);
  ASSERT_EQ(times.processes().size(), 1u);
  EXPECT_EQ(times.processes()[0].pid, kPid);
  EXPECT_EQ(times.processes()[0].values, times.session());
  EXPECT_EQ(times.counts().flagged_intervals, 2u);
  EXPECT_EQ(times.counts().intervals, 9u);
  EXPECT_EQ(times.counts().unordered_leaves + times.counts().unmatched_leaves + times.counts().unfinished, 0u);

  const auto text = [&](uint32_t function) {
    const CallShares shares = SharesOf(times.functions()[function], times.session());
    return shares.elapsed_inclusive.Text() + " " + shares.elapsed_exclusive.Text() + " " +
           shares.application_inclusive.Text() + " " + shares.application_exclusive.Text();
  };
  EXPECT_EQ(text(kMain), "100.00 27.27 100.00 40.00");
  EXPECT_EQ(text(kA), "72.73 59.09 60.00 60.00");
  EXPECT_EQ(text(kB), "13.64 13.64 0.00 0.00");
}

TEST(CallTimes, SharesAreExactAndZeroOfNothing) {
  EXPECT_EQ((CallShare{0, 0}).Text(), "0.00");
  EXPECT_EQ((CallShare{5, 0}).Text(), "0.00");
  EXPECT_EQ((CallShare{1, 20'000}).Text(), "0.01");  // one half hundredth goes up
  EXPECT_EQ((CallShare{1, 20'001}).Text(), "0.00");
  EXPECT_EQ((CallShare{INT64_MAX, INT64_MAX}).Text(), "100.00");
  EXPECT_EQ((CallShare{INT64_MAX / 3, INT64_MAX}).Text(), "33.33");
  EXPECT_EQ((CallShare{1, 1}).hundredths(), 10'000);
}

TEST(CallTimes, ValuesOfOneCallAreToldAtItsEnd) {
  CallTimes times;
  const auto outer = times.Enter(Start(kA, kX, 100));
  const auto inner = times.Enter(Start(kA, kX, 110));
  times.OsEvent(kTid, 115);
  EXPECT_EQ(times.Leave(inner, 120), Values(1, 10, 10, 0, 0));
  EXPECT_EQ(times.Leave(inner, 125), Values(0, 0, 0, 0, 0)) << "it has ended";
  EXPECT_EQ(times.Leave(outer, 130), Values(1, 30, 20, 20, 20));
  times.Finish(130);
  EXPECT_EQ(times.functions()[kA], Values(2, 30, 30, 20, 20));
}

TEST(CallTimes, EventsOfAnInstantBelongToTheIntervalThatBeginsInIt) {
  for (const bool system_first : {false, true}) {
    CallTimes times;
    times.Enter(Start(kMain, kX, 0));
    if (system_first) times.OsEvent(kTid, 10);
    times.Enter(Start(kA, kX, 10));
    if (!system_first) times.OsEvent(kTid, 10);
    times.Leave(kTid, kPid, kA, 30);
    times.Leave(kTid, kPid, kMain, 60);
    times.Finish(60);
    EXPECT_EQ(times.functions()[kMain], Values(1, 60, 40, 40, 40)) << system_first;
    EXPECT_EQ(times.functions()[kA], Values(1, 20, 20, 0, 0)) << system_first;
  }
}

TEST(CallTimes, IntervalsThatBeginOffTheProcessorAreFlagged) {
  for (const bool in_first : {false, true}) {
    CallTimes times;
    times.SwitchOut(kTid, 5);  // before anybody knows of its calls
    times.Enter(Start(kMain, kX, 10));
    times.Enter(Start(kA, kX, 20));  // [10, 20) begins off
    if (in_first) times.SwitchIn(kTid, 30);
    times.Leave(kTid, kPid, kA, 30);  // [20, 30) likewise
    if (!in_first) times.SwitchIn(kTid, 30);
    times.Leave(kTid, kPid, kMain, 40);  // [30, 40) begins on: switched in at this instant
    times.Finish(40);
    EXPECT_EQ(times.functions()[kMain], Values(1, 30, 20, 10, 10)) << in_first;
    EXPECT_EQ(times.functions()[kA], Values(1, 10, 10, 0, 0)) << in_first;
  }
}

TEST(CallTimes, NobodyHasTheTimeBeforeTheFirstEnterAndBetweenRoots) {
  CallTimes times;
  times.OsEvent(kTid, 1);
  times.Enter(Start(kMain, kX, 100));
  times.LeaveTop(kTid, kPid, 110);
  times.Enter(Start(kMain, kX, 150));
  times.LeaveTop(kTid, kPid, 155);
  times.Finish(1000);
  EXPECT_EQ(times.session(), Values(2, 15, 15, 15, 15));
  EXPECT_EQ(times.threads()[0].outside, 40);
}

TEST(CallTimes, WhatDoesNotFitIsDefinedAndCounted) {
  CallTimes times;
  times.Enter(Start(kMain, kX, 0));
  times.Enter(Start(kA, kX, 10));
  EXPECT_EQ(times.Leave(kTid, kPid, kMain, 20), Values(1, 20, 10, 20, 10)) << "A stays";
  EXPECT_EQ(times.Leave(kTid, kPid, kB, 25), Values(0, 0, 0, 0, 0));
  times.Enter(Start(kB, kY, 24));  // earlier than the event before: at 25
  times.Finish(40);
  EXPECT_EQ(times.functions()[kMain], Values(1, 20, 10, 20, 10));
  EXPECT_EQ(times.functions()[kA], Values(1, 30, 15, 30, 15));
  EXPECT_EQ(times.functions()[kB], Values(1, 15, 15, 15, 15));
  EXPECT_EQ(times.modules()[kX], Values(2, 40, 25, 40, 25));
  EXPECT_EQ(times.session(), Values(3, 40, 40, 40, 40));
  EXPECT_EQ(times.counts().unordered_leaves, 1u);
  EXPECT_EQ(times.counts().unmatched_leaves, 1u);
  EXPECT_EQ(times.counts().time_steps_back, 1u);
  EXPECT_EQ(times.counts().unfinished, 2u);
}

TEST(CallTimes, TailCallsReplaceTheTop) {
  CallTimes times;
  times.Enter(Start(kMain, kX, 0));
  times.Enter(Start(kA, kX, 10));
  times.Tailcall(kTid, kPid, kA, 30);
  times.Enter(Start(kB, kY, 30));
  times.Leave(kTid, kPid, kB, 50);
  times.Leave(kTid, kPid, kMain, 60);
  times.Finish(60);
  EXPECT_EQ(times.functions()[kMain], Values(1, 60, 20, 60, 20));
  EXPECT_EQ(times.functions()[kA], Values(1, 20, 20, 20, 20));
  EXPECT_EQ(times.functions()[kB], Values(1, 20, 20, 20, 20));
  EXPECT_EQ(times.counts().tail_calls, 1u);
}

TEST(CallTimes, NumbersOfThreadsAreUsedAgainByOtherProcesses) {
  CallTimes times;
  times.Enter(Start(kMain, kX, 0, kTid, 1));
  times.OsEvent(kTid, 5);
  times.Enter(Start(kMain, kX, 10, kTid, 2));  // the first one never ended
  times.OsEvent(kTid, 15);                     // of the second
  times.Leave(kTid, 2, kMain, 30);
  times.Finish(50);
  ASSERT_EQ(times.threads().size(), 2u);
  EXPECT_EQ(times.threads()[0].values, Values(1, 50, 50, 0, 0));
  EXPECT_EQ(times.threads()[1].values, Values(1, 20, 20, 0, 0));
  ASSERT_EQ(times.processes().size(), 2u);
  EXPECT_EQ(times.session(), Values(2, 70, 70, 0, 0));
}

TEST(CallTimes, AnyTimesAreSurvived) {
  CallTimes times(INT64_MIN);
  for (uint32_t thread = 0; thread < 8; ++thread) {
    times.Enter(Start(kMain, kX, INT64_MIN, thread, kNoId));
    times.OsEvent(thread, INT64_MIN);
    times.Enter(Start(kMain, kX, INT64_MAX, thread, kNoId));
    times.SwitchOut(thread, INT64_MAX);
    times.SwitchIn(thread, INT64_MIN);
  }
  times.Finish(INT64_MIN);
  EXPECT_EQ(times.session().elapsed_inclusive, INT64_MAX) << "the sum of threads stops where the numbers end";
  EXPECT_EQ(times.threads()[0].values.elapsed_inclusive, int64_t{1} << 62);
}

// The cost of an event does not depend on the depth: this would take hours.
TEST(CallTimes, AMillionDeep) {
  constexpr uint32_t kDepth = 1'000'000;
  CallTimes times;
  int64_t time = 0;
  for (uint32_t i = 0; i < kDepth; ++i) times.Enter(Start(i % 1000, i % 10, time++));
  for (uint32_t i = 0; i < kDepth; ++i) {
    times.Enter(Start(1000, 10, time++));
    times.LeaveTop(kTid, kPid, time++);
  }
  while (time < 4 * int64_t{kDepth}) times.LeaveTop(kTid, kPid, time++);
  times.Finish(time);
  EXPECT_EQ(times.counts().unfinished + times.counts().unmatched_leaves, 0u);
  EXPECT_EQ(times.functions()[0].elapsed_inclusive, time - 1);
  EXPECT_EQ(times.functions()[999].elapsed_inclusive, time - 1 - 2 * 999);
  EXPECT_EQ(times.functions()[1000], Values(kDepth, kDepth, kDepth, kDepth, kDepth));
}

// --- Against a reference ---------------------------------------------------------------------------------------------

struct Event {
  enum Kind { kEnter, kLeave, kLeaveTop, kLeaveCall, kTailcall, kOs, kOut, kIn } kind = kEnter;
  uint32_t tid = 0;
  uint32_t function = 0;
  size_t call = 0;  // kEnter: its number among all enters; kLeaveCall: the one that ends
  int64_t time = 0;
};

uint32_t ModuleOf(uint32_t function) { return function % 3; }
uint32_t PidOf(uint32_t tid) { return 10 + tid % 2; }

struct Expected {
  std::map<uint32_t, CallValues> functions, modules, threads, processes;
  std::map<size_t, CallValues> calls;
  std::map<uint32_t, int64_t> outside;
  CallValues session;
};

// Written as semantics.md 5.1 says it: interval by interval, with the whole stack of each.
Expected Reference(const std::vector<Event>& events, int64_t end, int64_t overhead) {
  Expected expected;
  std::set<uint32_t> tids;
  for (const Event& event : events) tids.insert(event.tid);
  for (const uint32_t tid : tids) {
    struct Open {
      uint32_t function;
      size_t call;
    };
    std::vector<Open> stack;
    std::optional<int64_t> begin;
    const auto interval = [&](int64_t until) {
      if (!begin) {
        begin = until;
        return;
      }
      bool flagged = false, off = false;
      for (const Event& event : events) {
        if (event.tid != tid) continue;
        if (event.kind == Event::kOs || event.kind == Event::kOut) {
          flagged |= event.time >= *begin && event.time < until;
        }
        if (event.kind == Event::kOut && event.time <= *begin) off = true;
        if (event.kind == Event::kIn && event.time <= *begin) off = false;
      }
      flagged |= off;
      const int64_t ticks = std::max<int64_t>(0, until - *begin - overhead);
      begin = until;
      if (stack.empty()) {
        expected.outside[tid] += ticks;
        return;
      }
      const auto inclusive = [&](CallValues& values) {
        values.elapsed_inclusive += ticks;
        if (!flagged) values.application_inclusive += ticks;
      };
      const auto exclusive = [&](CallValues& values) {
        values.elapsed_exclusive += ticks;
        if (!flagged) values.application_exclusive += ticks;
      };
      std::set<uint32_t> functions, modules;
      for (const Open& open : stack) {
        functions.insert(open.function);
        modules.insert(ModuleOf(open.function));
        inclusive(expected.calls[open.call]);
      }
      for (const uint32_t function : functions) inclusive(expected.functions[function]);
      for (const uint32_t module : modules) inclusive(expected.modules[module]);
      exclusive(expected.calls[stack.back().call]);
      exclusive(expected.functions[stack.back().function]);
      exclusive(expected.modules[ModuleOf(stack.back().function)]);
      for (CallValues* values : {&expected.threads[tid], &expected.processes[PidOf(tid)], &expected.session}) {
        inclusive(*values);
        exclusive(*values);
      }
    };
    for (const Event& event : events) {
      if (event.tid != tid || event.kind >= Event::kOs) continue;
      interval(event.time);
      if (event.kind == Event::kEnter) {
        for (CallValues* values :
             {&expected.functions[event.function], &expected.modules[ModuleOf(event.function)], &expected.threads[tid],
              &expected.processes[PidOf(tid)], &expected.session, &expected.calls[event.call]}) {
          ++values->calls;
        }
        stack.push_back({event.function, event.call});
        continue;
      }
      for (size_t i = stack.size(); i-- != 0;) {
        const bool leaves =
            event.kind == Event::kLeaveTop ||
            (event.kind == Event::kLeaveCall ? stack[i].call == event.call : stack[i].function == event.function);
        if (!leaves) continue;
        stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    }
    if (!stack.empty()) interval(end);
  }
  return expected;
}

std::vector<Event> RandomEvents(std::mt19937& random, int64_t& end) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t threads = 1 + below(3), functions = 1 + below(6), count = 5 + below(60);
  const uint32_t odd = below(3) == 0 ? 4 : 0;     // out of 10 leaves are not of the top
  const uint32_t system = below(4) == 0 ? 0 : 4;  // out of 10 events are of the system
  std::vector<Event> events;
  struct Open {
    uint32_t function;
    size_t call;
  };
  std::vector<std::vector<Open>> stacks(threads);
  int64_t time = below(3);
  size_t calls = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (below(3) != 0) time += below(6);
    Event event;
    event.time = time;
    event.tid = below(threads);
    auto& stack = stacks[event.tid];
    if (below(10) < system) {
      event.kind = static_cast<Event::Kind>(Event::kOs + below(3));
    } else if (stack.empty() ? below(8) != 0 : below(2) == 0) {
      event.kind = Event::kEnter;
      event.function = below(functions);
      event.call = calls++;
      stack.push_back({event.function, event.call});
    } else if (stack.empty()) {
      event.kind = below(2) == 0 ? Event::kLeaveTop : Event::kLeave;  // of nothing
      event.function = below(functions);
    } else {
      size_t place = stack.size() - 1;
      const bool middle = below(10) < odd;
      if (middle) place = below(static_cast<uint32_t>(stack.size()));
      event.kind = middle && below(2) == 0 ? Event::kLeave : Event::kLeaveCall;
      if (!middle) event.kind = static_cast<Event::Kind>(Event::kLeave + below(4));
      event.function = middle && below(4) == 0 ? below(functions) : stack[place].function;
      event.call = stack[place].call;
      // What leaves is what the reference says; here only the shape of what follows depends on it.
      if (event.kind == Event::kLeave || event.kind == Event::kTailcall) {
        place = stack.size();
        while (place-- != 0 && stack[place].function != event.function) {
        }
      }
      if (place < stack.size()) stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(place));
    }
    events.push_back(event);
  }
  end = time + below(5);
  return events;
}

TEST(CallTimes, RandomCallsAsTheReferenceSaysAndTheIdentitiesHold) {
  uint64_t unordered = 0, unmatched = 0, flagged = 0, recursive = 0, ties = 0;
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    int64_t end = 0;
    const auto events = RandomEvents(random, end);
    const int64_t overhead = random() % 4 == 0 ? static_cast<int64_t>(random() % 3) : 0;
    const Expected expected = Reference(events, end, overhead);

    CallTimes times(overhead);
    std::vector<CallTimes::Call> calls;
    std::map<size_t, CallValues> ended;
    for (size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      ties += i != 0 && events[i - 1].time == event.time;
      switch (event.kind) {
        case Event::kEnter:
          calls.push_back(
              times.Enter(Start(event.function, ModuleOf(event.function), event.time, event.tid, PidOf(event.tid))));
          break;
        case Event::kLeave: times.Leave(event.tid, PidOf(event.tid), event.function, event.time); break;
        case Event::kTailcall: times.Tailcall(event.tid, PidOf(event.tid), event.function, event.time); break;
        case Event::kLeaveTop: times.LeaveTop(event.tid, PidOf(event.tid), event.time); break;
        case Event::kLeaveCall: ended[event.call] = times.Leave(calls[event.call], event.time); break;
        case Event::kOs: times.OsEvent(event.tid, event.time); break;
        case Event::kOut: times.SwitchOut(event.tid, event.time); break;
        case Event::kIn: times.SwitchIn(event.tid, event.time); break;
      }
    }
    times.Finish(end);

    const auto at = [](const std::map<uint32_t, CallValues>& values, uint32_t key) {
      const auto found = values.find(key);
      return found == values.end() ? CallValues() : found->second;
    };
    for (uint32_t i = 0; i < 6; ++i) {
      const CallValues got = i < times.functions().size() ? times.functions()[i] : CallValues();
      ASSERT_EQ(got, at(expected.functions, i)) << "function " << i;
      recursive += got.calls > 1;
    }
    for (uint32_t i = 0; i < 3; ++i) {
      ASSERT_EQ(i < times.modules().size() ? times.modules()[i] : CallValues(), at(expected.modules, i))
          << "module " << i;
    }
    for (const auto& thread : times.threads()) {
      ASSERT_EQ(thread.values, at(expected.threads, thread.tid)) << "thread " << thread.tid;
      const auto outside = expected.outside.find(thread.tid);
      ASSERT_EQ(thread.outside, outside == expected.outside.end() ? 0 : outside->second);
    }
    for (const auto& process : times.processes()) {
      ASSERT_EQ(process.values, at(expected.processes, process.pid)) << "process " << process.pid;
    }
    ASSERT_EQ(times.session(), expected.session);
    for (const auto& [call, values] : ended) ASSERT_EQ(values, expected.calls.at(call)) << "call " << call;

    // Identities of 5.1, which need no reference.
    CallValues functions, modules, threads, processes;
    const auto add = [](CallValues& sum, const CallValues& values) {
      ASSERT_LE(values.application_exclusive, values.elapsed_exclusive);
      ASSERT_LE(values.elapsed_exclusive, values.elapsed_inclusive);
      ASSERT_LE(values.application_exclusive, values.application_inclusive);
      ASSERT_LE(values.application_inclusive, values.elapsed_inclusive);
      sum.calls += values.calls;
      sum.elapsed_inclusive += values.elapsed_inclusive;
      sum.elapsed_exclusive += values.elapsed_exclusive;
      sum.application_inclusive += values.application_inclusive;
      sum.application_exclusive += values.application_exclusive;
    };
    for (const auto& values : times.functions()) add(functions, values);
    for (const auto& values : times.modules()) add(modules, values);
    for (const auto& thread : times.threads()) add(threads, thread.values);
    for (const auto& process : times.processes()) add(processes, process.values);
    for (const CallValues& sum : {functions, modules, threads, processes}) {
      ASSERT_EQ(sum.calls, times.session().calls);
      ASSERT_EQ(sum.elapsed_exclusive, times.session().elapsed_inclusive);
      ASSERT_EQ(sum.application_exclusive, times.session().application_inclusive);
    }
    ASSERT_EQ(threads.elapsed_inclusive, times.session().elapsed_inclusive);
    ASSERT_EQ(processes.elapsed_inclusive, times.session().elapsed_inclusive);
    unordered += times.counts().unordered_leaves;
    unmatched += times.counts().unmatched_leaves;
    flagged += times.counts().flagged_intervals;
  }
  // The cases are what they claim to be.
  EXPECT_GT(unordered, 1000u);
  EXPECT_GT(unmatched, 1000u);
  EXPECT_GT(flagged, 10'000u);
  EXPECT_GT(recursive, 1000u);
  EXPECT_GT(ties, 10'000u);
}

}  // namespace
}  // namespace etwpipe::activities

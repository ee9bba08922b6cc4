#include "formats/activities/call_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/clock.h"

namespace etwpipe::activities {
namespace {

// Hostile files hold any number; differences of these do not overflow.
int64_t Bounded(int64_t time) { return std::clamp(time, int64_t{0}, int64_t{1} << 62); }

// Sums over threads may exceed what one thread can reach.
void Add(int64_t& sum, int64_t ticks) {
  if (__builtin_add_overflow(sum, ticks, &sum)) sum = INT64_MAX;
}

void AddExclusive(CallValues& sum, const CallValues& values) {
  sum.calls += values.calls;
  Add(sum.elapsed_exclusive, values.elapsed_exclusive);
  Add(sum.application_exclusive, values.application_exclusive);
}

void AddAll(CallValues& sum, const CallValues& values) {
  AddExclusive(sum, values);
  Add(sum.elapsed_inclusive, values.elapsed_inclusive);
  Add(sum.application_inclusive, values.application_inclusive);
}

template <typename T>
T& Grown(std::vector<T>& values, uint32_t number) {
  if (number >= values.size()) values.resize(size_t{number} + 1);
  return values[number];
}

}  // namespace

int64_t CallShare::hundredths() const {
  if (whole <= 0) return 0;
  return static_cast<int64_t>((Int128{part} * 20'000 + whole) / (Int128{whole} * 2));
}

std::string CallShare::Text() const {
  const int64_t value = hundredths();
  return fmt::format("{}.{:02}", value / 100, value % 100);
}

CallShares SharesOf(const CallValues& values, const CallValues& session) {
  return {{values.elapsed_inclusive, session.elapsed_inclusive},
          {values.elapsed_exclusive, session.elapsed_inclusive},
          {values.application_inclusive, session.application_inclusive},
          {values.application_exclusive, session.application_inclusive}};
}

uint32_t CallTimes::ThreadOf(uint32_t tid, uint32_t pid) {
  if (last_thread_ != kNone && threads_[last_thread_].tid == tid && threads_[last_thread_].pid == pid) {
    return last_thread_;
  }
  const auto [known, added] = thread_of_.try_emplace(KeyOf(pid, tid), static_cast<uint32_t>(threads_.size()));
  if (added) {
    Thread& thread = threads_.emplace_back();
    thread.pid = pid;
    thread.tid = tid;
  }
  last_thread_ = known->second;
  return last_thread_;
}

CallTimes::System& CallTimes::SystemOf(uint32_t tid) {
  const auto known = systems_.find(tid);
  if (known != systems_.end()) return known->second;
  if (systems_.size() >= systems_limit_) {
    // Threads without calls that run are as those nobody has heard of.
    std::erase_if(systems_, [](const auto& entry) { return entry.second.thread == kNone && !entry.second.off; });
    systems_limit_ = std::max(size_t{1} << 16, systems_.size() * 2);
  }
  return systems_[tid];
}

void CallTimes::MakeCurrent(uint32_t number, int64_t time) {
  Thread& thread = threads_[number];
  System& system = SystemOf(thread.tid);
  if (system.thread != kNone) threads_[system.thread].current = false;
  system.thread = number;
  thread.current = true;
  thread.off = system.off;
  if (system.touched && system.last_touch >= time) {
    thread.touched = true;
    thread.first_touch = thread.last_touch = system.last_touch;
  }
}

uint32_t CallTimes::ModuleOn(uint32_t thread, uint32_t module) {
  const auto [known, added] = modules_of_.try_emplace(KeyOf(thread, module), static_cast<uint32_t>(on_stack_.size()));
  if (added) on_stack_.emplace_back().number = module;
  return known->second;
}

uint32_t CallTimes::FunctionOn(uint32_t thread, uint32_t function, uint32_t module) {
  const auto [known, added] =
      functions_of_.try_emplace(KeyOf(thread, function), static_cast<uint32_t>(on_stack_.size()));
  if (!added) return known->second;
  on_stack_.emplace_back().number = function;
  if (function >= module_of_.size()) module_of_.resize(size_t{function} + 1, kNone);
  if (module_of_[function] == kNone) module_of_[function] = module;
  const uint32_t owner = ModuleOn(thread, module_of_[function]);
  on_stack_[known->second].module = owner;
  return known->second;
}

void CallTimes::EndInterval(Thread& thread, int64_t time) {
  if (thread.begun) {
    if (time < thread.last) {
      ++counts_.time_steps_back;
      time = thread.last;
    }
    const int64_t ticks = std::max(int64_t{0}, time - thread.last - overhead_);
    const bool flagged = thread.began_off || (thread.touched && thread.first_touch < time);
    if (thread.top == kNone) {
      thread.outside += ticks;
    } else if (ticks != 0) {
      ++counts_.intervals;
      Frame& top = frames_[thread.top];
      thread.clocks.elapsed += ticks;
      top.exclusive.elapsed += ticks;
      if (flagged) {
        ++counts_.flagged_intervals;
      } else {
        thread.clocks.application += ticks;
        top.exclusive.application += ticks;
      }
    }
  }
  // A touch of this very instant is one of the interval that begins.
  if (thread.touched && thread.first_touch < time) {
    thread.touched = thread.last_touch >= time;
    thread.first_touch = thread.last_touch;
  }
  thread.began_off = thread.off;
  thread.last = time;
  thread.begun = true;
}

uint32_t CallTimes::Collect(uint32_t tid, uint32_t pid, int64_t time) {
  time = Bounded(time);
  const uint32_t number = ThreadOf(tid, pid);
  if (!threads_[number].current) MakeCurrent(number, time);
  EndInterval(threads_[number], time);
  return number;
}

CallTimes::Call CallTimes::Enter(const EnterArgs& args) {
  const uint32_t on_thread = Collect(args.tid, args.pid, args.time);
  Thread& thread = threads_[on_thread];
  const uint32_t function = FunctionOn(on_thread, args.function, args.module);
  ++Grown(functions_, args.function).calls;
  ++thread.calls;

  uint32_t number = free_;
  if (number == kNone) {
    number = static_cast<uint32_t>(frames_.size());
    frames_.emplace_back();
  } else {
    free_ = frames_[number].below;
  }
  Frame& frame = frames_[number];
  frame.thread = on_thread;
  frame.function = function;
  frame.below = thread.top;
  frame.above = kNone;
  frame.since = thread.clocks;
  frame.exclusive = {};
  if (thread.top != kNone) frames_[thread.top].above = number;
  thread.top = number;

  OnStack& own = on_stack_[function];
  frame.outer = own.innermost;
  frame.inner = kNone;
  if (own.innermost != kNone) frames_[own.innermost].inner = number;
  own.innermost = number;
  if (own.calls++ == 0) own.since = thread.clocks;
  OnStack& module = on_stack_[own.module];
  if (module.calls++ == 0) module.since = thread.clocks;
  return {number, frame.serial};
}

// Takes a call out of its stack, whose last interval has ended.
CallValues CallTimes::End(uint32_t number) {
  Frame& frame = frames_[number];
  Thread& thread = threads_[frame.thread];
  const Clocks& now = thread.clocks;
  CallValues values;
  values.calls = 1;
  values.elapsed_inclusive = now.elapsed - frame.since.elapsed;
  values.application_inclusive = now.application - frame.since.application;
  values.elapsed_exclusive = frame.exclusive.elapsed;
  values.application_exclusive = frame.exclusive.application;

  if (frame.above != kNone) {
    ++counts_.unordered_leaves;
    frames_[frame.above].below = frame.below;
  } else {
    thread.top = frame.below;
  }
  if (frame.below != kNone) frames_[frame.below].above = frame.above;

  OnStack& own = on_stack_[frame.function];
  if (frame.inner != kNone) {
    frames_[frame.inner].outer = frame.outer;
  } else {
    own.innermost = frame.outer;
  }
  if (frame.outer != kNone) frames_[frame.outer].inner = frame.inner;
  CallValues& total = functions_[own.number];
  Add(total.elapsed_exclusive, values.elapsed_exclusive);
  Add(total.application_exclusive, values.application_exclusive);
  // Inclusive values count an interval once, however many calls of the function or module are on the stack.
  const auto left = [&](OnStack& entry, CallValues& sum) {
    if (--entry.calls != 0) return;
    Add(sum.elapsed_inclusive, now.elapsed - entry.since.elapsed);
    Add(sum.application_inclusive, now.application - entry.since.application);
  };
  left(own, total);
  OnStack& module = on_stack_[own.module];
  left(module, Grown(modules_, module.number));

  ++frame.serial;
  frame.thread = kNone;
  frame.below = free_;
  free_ = number;
  return values;
}

CallValues CallTimes::Leave(Call call, int64_t time) {
  if (call.number >= frames_.size()) return {};
  const Frame& frame = frames_[call.number];
  if (frame.thread == kNone || frame.serial != call.serial) return {};
  const Thread& thread = threads_[frame.thread];
  Collect(thread.tid, thread.pid, time);
  return End(call.number);
}

CallValues CallTimes::Leave(uint32_t tid, uint32_t pid, uint32_t function, int64_t time) {
  const uint32_t thread = Collect(tid, pid, time);
  const auto known = functions_of_.find(KeyOf(thread, function));
  if (known == functions_of_.end() || on_stack_[known->second].innermost == kNone) {
    ++counts_.unmatched_leaves;
    return {};
  }
  return End(on_stack_[known->second].innermost);
}

CallValues CallTimes::LeaveTop(uint32_t tid, uint32_t pid, int64_t time) {
  const uint32_t thread = Collect(tid, pid, time);
  if (threads_[thread].top == kNone) {
    ++counts_.unmatched_leaves;
    return {};
  }
  return End(threads_[thread].top);
}

CallValues CallTimes::Tailcall(uint32_t tid, uint32_t pid, uint32_t function, int64_t time) {
  ++counts_.tail_calls;
  return Leave(tid, pid, function, time);
}

void CallTimes::Touch(System& system, int64_t time) {
  ++counts_.os_events;
  system.touched = true;
  system.last_touch = time;
  if (system.thread == kNone) return;
  Thread& thread = threads_[system.thread];
  time = std::max(time, thread.last);
  if (!thread.touched) thread.first_touch = time;
  thread.touched = true;
  thread.last_touch = time;
}

void CallTimes::OsEvent(uint32_t tid, int64_t time) { Touch(SystemOf(tid), Bounded(time)); }

void CallTimes::SwitchOut(uint32_t tid, int64_t time) {
  System& system = SystemOf(tid);
  Touch(system, Bounded(time));
  system.off = true;
  if (system.thread != kNone) threads_[system.thread].off = true;
}

void CallTimes::SwitchIn(uint32_t tid, int64_t time) {
  const auto known = systems_.find(tid);
  if (known == systems_.end()) return;
  known->second.off = false;
  if (known->second.thread == kNone) return;
  Thread& thread = threads_[known->second.thread];
  thread.off = false;
  if (Bounded(time) <= thread.last) thread.began_off = false;
}

void CallTimes::Finish(int64_t time) {
  time = Bounded(time);
  for (Thread& thread : threads_) {
    if (thread.top != kNone) EndInterval(thread, std::max(time, thread.last));
    for (; thread.top != kNone; ++counts_.unfinished) End(thread.top);
  }
  for (uint32_t function = 0; function < functions_.size(); ++function) {
    if (functions_[function].calls != 0) AddExclusive(Grown(modules_, module_of_[function]), functions_[function]);
  }
  for (const Thread& thread : threads_) {
    ThreadValues& row = thread_values_.emplace_back();
    row.pid = thread.pid;
    row.tid = thread.tid;
    row.outside = thread.outside;
    row.values.calls = thread.calls;
    row.values.elapsed_inclusive = row.values.elapsed_exclusive = thread.clocks.elapsed;
    row.values.application_inclusive = row.values.application_exclusive = thread.clocks.application;
  }
  std::sort(thread_values_.begin(), thread_values_.end(),
            [](const ThreadValues& a, const ThreadValues& b) { return KeyOf(a.pid, a.tid) < KeyOf(b.pid, b.tid); });
  for (const ThreadValues& thread : thread_values_) {
    if (process_values_.empty() || process_values_.back().pid != thread.pid) {
      process_values_.push_back({thread.pid, {}});
    }
    AddAll(process_values_.back().values, thread.values);
    AddAll(session_, thread.values);
  }
}

}  // namespace etwpipe::activities

#include "formats/activities/tracker.h"

#include <algorithm>

namespace etwpipe::activities {
namespace {

// Hostile files hold any number; differences of these do not overflow.
int64_t Bounded(int64_t time) { return std::clamp(time, int64_t{0}, int64_t{1} << 62); }

}  // namespace

ActivityTracker::ActivityTracker(const TrackerOptions& options, const ActivityHistory& history,
                                 ActivityListener* listener)
    : options_(options),
      history_(history),
      listener_(listener != nullptr ? listener : &silent_),
      divider_(MakeDivider(options.division)),
      now_(Bounded(options.trace_start)),
      divided_until_(now_) {
  if (!options_.sampled_cpu) {
    processors_.resize(history.switches.processors.size());
    for (size_t i = 0; i < processors_.size(); ++i) {
      const ProcessorHistory& told = history.switches.processors[i];
      if (told.first_thread == 0) continue;
      Appointment begin;
      begin.time = Bounded(told.first_since);
      begin.kind = Appointment::Kind::kRunBegins;
      begin.processor = static_cast<uint16_t>(i);
      Keep(begin);
    }
  }
  // The last to stop comes first, since it is the outermost of its thread.
  std::unordered_map<uint32_t, uint32_t> innermost;
  for (auto missing = history.missing.rbegin(); missing != history.missing.rend(); ++missing) {
    StartArgs args;
    args.time = options.trace_start;
    args.id = missing->id;
    args.pid = missing->pid;
    args.tid = missing->tid;
    args.name = missing->name;
    args.processor = missing->processor;
    args.flags = kTruncatedStart;
    args.kind = missing->kind;
    uint32_t parent = kNone;
    const bool nests = missing->nests && missing->tid != kNoId;
    if (nests) {
      const auto outer = innermost.find(missing->tid);
      if (outer != innermost.end()) parent = outer->second;
    }
    ++counts_.truncated_start;
    const OpenActivity begun = Begin(args, parent, true);
    if (nests) innermost[missing->tid] = begun.number;
    missing_[missing->id] = begun;
  }
}

ActivityTracker::~ActivityTracker() = default;

uint32_t ActivityTracker::NumberOf(OpenActivity activity) const {
  if (activity.number >= nodes_.size()) return kNone;
  const Node& node = nodes_[activity.number];
  return node.open && node.activity.id == activity.id ? activity.number : kNone;
}

OpenActivity ActivityTracker::OpenOf(uint32_t number) const {
  if (number == kNone || !nodes_[number].open) return {};
  return {number, nodes_[number].activity.id};
}

bool ActivityTracker::IsOpen(OpenActivity activity) const { return NumberOf(activity) != kNone; }

const Activity* ActivityTracker::Find(OpenActivity activity) const {
  const uint32_t number = NumberOf(activity);
  return number == kNone ? nullptr : &nodes_[number].activity;
}

OpenActivity ActivityTracker::ParentOf(OpenActivity activity) const {
  const uint32_t number = NumberOf(activity);
  return number == kNone ? OpenActivity{} : OpenOf(nodes_[number].parent);
}

OpenActivity ActivityTracker::Below(OpenActivity activity) const {
  const uint32_t number = NumberOf(activity);
  return number == kNone ? OpenActivity{} : OpenOf(nodes_[number].below);
}

OpenActivity ActivityTracker::Innermost(uint32_t tid) const {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? OpenActivity{} : OpenOf(found->second.innermost);
}

OpenActivity ActivityTracker::FindMissing(EventInstanceId stop_id) const {
  const auto found = missing_.find(stop_id);
  return found == missing_.end() || !IsOpen(found->second) ? OpenActivity{} : found->second;
}

ActivityTracker::Thread* ActivityTracker::FindThread(uint32_t tid) {
  if (tid == last_tid_ && last_thread_ != nullptr) return last_thread_;
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return nullptr;
  last_tid_ = tid;
  last_thread_ = &found->second;
  return last_thread_;
}

ActivityTracker::Thread& ActivityTracker::ThreadOf(uint32_t tid) {
  if (Thread* known = FindThread(tid)) return *known;
  if (threads_.size() >= threads_limit_) ForgetIdleThreads();
  last_tid_ = tid;
  last_thread_ = &threads_[tid];
  return *last_thread_;
}

void ActivityTracker::ForgetIdleThreads() {
  std::erase_if(threads_,
                [](const auto& entry) { return entry.second.innermost == kNone && entry.second.processors == 0; });
  last_thread_ = nullptr;
  threads_limit_ = std::max<size_t>(1 << 16, threads_.size() * 2);
}

// Leaves change once all records of an instant are known: what begins and ends in it is no boundary (semantics.md 2.5).
void ActivityTracker::MoveTo(int64_t time) {
  if (time <= now_) return;
  for (const uint32_t number : changed_) {
    Node& node = nodes_[number];
    const bool leaf = node.divides && node.live_children == 0;
    if (leaf == node.leaf) continue;
    Settle();
    if (leaf) {
      node.leaf = true;
      divider_->Enter(node.share, node.tree);
      ++leaves_;
    } else {
      Leave(node);
    }
  }
  changed_.clear();
  now_ = time;
}

// Divides what has passed since the last boundary.
void ActivityTracker::Settle() {
  if (leaves_ != 0 && divided_until_ < now_) {
    divider_->Pass(now_ - divided_until_);
    covered_ += now_ - divided_until_;
  }
  divided_until_ = now_;
}

void ActivityTracker::Leave(Node& node) {
  node.leaf = false;
  divider_->Leave(node.share, node.tree);
  --leaves_;
}

void ActivityTracker::Advance(int64_t time) {
  time = Bounded(time);
  if (time < now_) {
    ++counts_.time_steps_back;
    return;
  }
  while (!appointments_.empty() && appointments_.top().time <= time) {
    const Appointment due = appointments_.top();
    appointments_.pop();
    MoveTo(due.time);
    Make(due);
  }
  MoveTo(time);
}

void ActivityTracker::Keep(const Appointment& appointment) {
  Appointment kept = appointment;
  kept.order = appointments_made_++;
  appointments_.push(kept);
}

void ActivityTracker::Make(const Appointment& due) {
  switch (due.kind) {
    case Appointment::Kind::kStop: {
      const uint32_t number = NumberOf(due.activity);
      if (number != kNone) End(number, {.time = due.time});
      break;
    }
    case Appointment::Kind::kRunBegins: {
      const ProcessorHistory& told = history_.switches.processors[due.processor];
      Processor& processor = processors_[due.processor];
      if (processor.run != 0) break;
      processor.known = true;
      RunBegins(processor, told.first_thread);
      break;
    }
    case Appointment::Kind::kRunBreaks: {
      Processor& processor = processors_[due.processor];
      if (!processor.known || processor.run != due.run) break;
      Flag(processor.thread, kLostEvents);
      RunEnds(processor);
      processor.known = false;
      break;
    }
  }
}

void ActivityTracker::Credit(Thread& thread) {
  if (thread.processors == 0) return;
  if (thread.innermost != kNone) nodes_[thread.innermost].activity.exclusive_cpu += now_ - thread.since;
  thread.since = now_;
}

void ActivityTracker::RunBegins(Processor& processor, uint32_t tid) {
  processor.thread = tid;
  if (tid == 0) return;
  Thread& thread = ThreadOf(tid);
  Credit(thread);
  if (thread.processors++ == 0) thread.since = now_;
}

void ActivityTracker::RunEnds(Processor& processor) {
  if (!processor.known || processor.thread == 0) return;
  Thread* thread = FindThread(processor.thread);
  if (thread == nullptr) return;
  Credit(*thread);
  --thread->processors;
}

void ActivityTracker::Flag(uint32_t tid, ActivityFlag flag) {
  Thread* thread = FindThread(tid);
  if (thread != nullptr && thread->innermost != kNone) nodes_[thread->innermost].activity.flags |= flag;
}

void ActivityTracker::Switch(uint16_t index, int64_t time, uint32_t new_tid, uint32_t old_tid) {
  Advance(time);
  if (options_.sampled_cpu) return;
  if (index >= processors_.size()) processors_.resize(size_t{index} + 1);
  Processor& processor = processors_[index];
  if (processor.known && processor.thread == old_tid) {
    RunEnds(processor);
  } else {
    // The run of `old` began with a switch that is lost; that of the known thread ended at its appointment.
    if (processor.run != 0) Flag(old_tid, kLostEvents);
    RunEnds(processor);
  }
  ++processor.run;
  processor.known = true;
  RunBegins(processor, new_tid);
  if (index >= history_.switches.processors.size()) return;
  const auto& broken = history_.switches.processors[index].broken;
  if (processor.next_broken < broken.size() && broken[processor.next_broken].run == processor.run) {
    Appointment end;
    end.time = std::max(now_, Bounded(broken[processor.next_broken].end));
    end.kind = Appointment::Kind::kRunBreaks;
    end.processor = index;
    end.run = processor.run;
    Keep(end);
    ++processor.next_broken;
  }
}

void ActivityTracker::Sample(uint32_t tid, int64_t ticks) {
  if (!options_.sampled_cpu) return;
  Thread* thread = FindThread(tid);
  if (thread != nullptr && thread->innermost != kNone) nodes_[thread->innermost].activity.exclusive_cpu += ticks;
}

OpenActivity ActivityTracker::Start(const StartArgs& args) {
  Advance(args.time);
  uint32_t parent = NumberOf(args.parent);
  if (parent != kNone && !nodes_[parent].divides) parent = kNone;
  if (parent == kNone && args.tid != kNoId) {
    if (Thread* thread = FindThread(args.tid)) parent = thread->innermost;
  }
  return Begin(args, parent, history_.negative.empty() || !history_.negative.contains(args.id));
}

OpenActivity ActivityTracker::Begin(const StartArgs& args, uint32_t parent, bool divides) {
  uint32_t number = static_cast<uint32_t>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
    nodes_[number] = {};
  }
  Node& node = nodes_[number];
  node.open = true;
  node.strict = args.strict;
  node.parent = divides ? parent : kNone;
  node.tree = parent == kNone ? number : nodes_[parent].tree;
  Activity& activity = node.activity;
  activity.id = args.id;
  activity.parent = parent == kNone ? 0 : nodes_[parent].activity.id;
  activity.start = Bounded(args.time);
  activity.pid = args.pid;
  activity.tid = args.tid;
  activity.name = args.name;
  activity.processor = args.processor;
  activity.flags = args.flags;
  activity.kind = args.kind;
  ++open_;
  ++counts_.started;
  if (divides) {
    if (args.tid != kNoId) {
      Thread& thread = ThreadOf(args.tid);
      Credit(thread);
      if (args.pid != kNoId) thread.pid = args.pid;
      node.thread = &thread;
      node.below = thread.innermost;
      if (node.below != kNone) nodes_[node.below].above = number;
      thread.innermost = number;
    }
    node.divides = true;
    if (parent != kNone) {
      if (nodes_[parent].open_children++ == 0) nodes_[parent].children_since = now_;
      if (nodes_[parent].live_children++ == 0) changed_.push_back(parent);
    }
    node.begun = now_;
    changed_.push_back(number);
  }
  listener_->OnStart(activity);
  return {number, args.id};
}

void ActivityTracker::Stop(OpenActivity activity, const StopArgs& args) {
  Advance(args.time);
  const uint32_t number = NumberOf(activity);
  if (number == kNone) return;
  if (args.ends_inner) {
    Thread* thread = nodes_[number].thread;
    for (uint32_t inner = thread == nullptr ? number : thread->innermost; inner != number;) {
      const uint32_t below = nodes_[inner].below;
      if (nodes_[inner].strict) End(inner, {.time = args.time, .flags = kUnbalanced});
      inner = below;
    }
  }
  End(number, args);
}

void ActivityTracker::StopAt(OpenActivity activity, int64_t time) {
  const uint32_t number = NumberOf(activity);
  if (number == kNone) return;
  nodes_[number].stop_known = true;
  Appointment stop;
  stop.time = std::max(now_, Bounded(time));
  stop.activity = activity;
  Keep(stop);
}

void ActivityTracker::End(uint32_t number, const StopArgs& args) {
  Node& node = nodes_[number];
  Activity& activity = node.activity;
  activity.stop = Bounded(args.time);
  activity.stop_id = args.id;
  activity.flags |= args.flags;
  if (activity.stop < activity.start) {
    activity.flags |= kNegative;
    ++counts_.negative;
  }
  if (args.id != 0 && args.tid != kNoId && activity.tid != kNoId && args.tid != activity.tid) {
    activity.flags |= kMigrated;
    ++counts_.migrated;
  }
  if ((args.flags & kUnterminated) != 0) ++counts_.unterminated;
  if ((args.flags & kUnbalanced) != 0) ++counts_.unbalanced;

  if (node.thread != nullptr) {
    Thread& thread = *node.thread;
    Credit(thread);
    if (node.above != kNone) {
      nodes_[node.above].below = node.below;
    } else {
      thread.innermost = node.below;
    }
    if (node.below != kNone) nodes_[node.below].above = node.above;
    node.thread = nullptr;
    node.above = node.below = kNone;
  }
  if (node.divides) {
    if (node.begun < now_) Settle();
    if (node.leaf) Leave(node);
    activity.exclusive_responsibility = rounding_.Round(node.share.earned);
    if (node.open_children != 0) node.children_ticks += now_ - node.children_since;
    activity.exclusive_duration = std::max(int64_t{0}, activity.duration() - node.children_ticks);
    if (node.parent != kNone) {
      Node& parent = nodes_[node.parent];
      if (--parent.open_children == 0 && parent.open) parent.children_ticks += now_ - parent.children_since;
    }
  }
  node.open = false;
  node.divides = false;
  --open_;
  if (node.live_children != 0) {
    activity.flags |= kLateChildren;
    ++counts_.late_children;
  }
  activity.cpu = activity.exclusive_cpu + node.children_cpu;
  activity.responsibility = activity.exclusive_responsibility + node.children_responsibility;
  listener_->OnStop(activity);
  if (node.live_children == 0) SubtreeEnded(number);
}

// The activity and all its descendants have stopped.
void ActivityTracker::SubtreeEnded(uint32_t number) {
  for (;;) {
    Node& node = nodes_[number];
    Activity& activity = node.activity;
    activity.cpu = activity.exclusive_cpu + node.children_cpu;
    activity.responsibility = activity.exclusive_responsibility + node.children_responsibility;
    listener_->OnFinal(activity);
    const uint32_t up = node.parent;
    free_.push_back(number);
    if (up == kNone) return;
    Node& parent = nodes_[up];
    parent.children_cpu += activity.cpu;
    parent.children_responsibility += activity.responsibility;
    if (--parent.live_children != 0) return;
    if (parent.divides) changed_.push_back(up);
    if (parent.open) return;
    number = up;
  }
}

void ActivityTracker::ThreadStart(uint32_t tid, uint32_t pid, int64_t time) {
  Advance(time);
  Thread& thread = ThreadOf(tid);
  // Two providers may tell of one start.
  const bool again = thread.has_started && thread.pid == pid && now_ - thread.started <= options_.same_start;
  if (!again) {
    EndAll(thread, time);
    thread.has_started = true;
    thread.started = now_;
  }
  thread.pid = pid;
}

void ActivityTracker::ThreadEnd(uint32_t tid, int64_t time) {
  Advance(time);
  Thread* thread = FindThread(tid);
  if (thread == nullptr) return;
  EndAll(*thread, time);
  if (thread->processors == 0) return;
  for (Processor& processor : processors_) {
    if (!processor.known || processor.thread != tid) continue;
    RunEnds(processor);
    processor.known = false;
  }
}

void ActivityTracker::EndAll(Thread& thread, int64_t time) {
  for (uint32_t number = thread.innermost; number != kNone;) {
    const uint32_t below = nodes_[number].below;
    if (nodes_[number].activity.kind != ActivityKind::kThread) End(number, {.time = time, .flags = kUnterminated});
    number = below;
  }
}

void ActivityTracker::ProcessEnd(uint32_t pid, int64_t time) {
  Advance(time);
  // In the order of their numbers: the table has none that is the same everywhere.
  std::vector<uint32_t> tids;
  for (const auto& [tid, thread] : threads_) {
    if (thread.pid == pid && thread.innermost != kNone) tids.push_back(tid);
  }
  std::sort(tids.begin(), tids.end());
  for (const uint32_t tid : tids) EndAll(threads_.at(tid), time);
}

void ActivityTracker::Finish(int64_t time) {
  Advance(time);
  std::vector<OpenActivity> rest;
  for (uint32_t number = 0; number < nodes_.size(); ++number) {
    if (nodes_[number].open && !nodes_[number].stop_known) rest.push_back(OpenOf(number));
  }
  // Children come before their parents (semantics.md 2.3).
  std::sort(rest.begin(), rest.end(), [](const OpenActivity& a, const OpenActivity& b) { return a.id > b.id; });
  for (const OpenActivity& activity : rest) End(activity.number, {.time = now_, .flags = kUnterminated});
  while (open_ != 0) Advance(appointments_.top().time);
}

}  // namespace etwpipe::activities

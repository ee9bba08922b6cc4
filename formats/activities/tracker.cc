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
      if (told.first_thread == 0 || told.since_start) continue;
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
    args.nests = missing->nests;
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
    const bool told = processor.ended && processor.thread == old_tid;
    if (processor.run != 0 && !told) Flag(old_tid, kLostEvents);
    RunEnds(processor);
  }
  processor.ended = false;
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
  node.nests = args.nests;
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
    // Whoever stops an activity that nobody saw start need not be the thread that started it.
    const bool known = args.nests || args.kind == ActivityKind::kThread || (args.flags & kTruncatedStart) == 0;
    const bool of_thread = args.tid != kNoId && known;
    if (of_thread) {
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
  if (args.ends_inner && nodes_[number].thread != nullptr) EndStrict(*nodes_[number].thread, number, args.time);
  End(number, args);
}

void ActivityTracker::EndStrict(uint32_t tid, int64_t time) {
  Advance(time);
  if (Thread* thread = FindThread(tid)) EndStrict(*thread, kNone, time);
}

// Those above `last`.
void ActivityTracker::EndStrict(const Thread& thread, uint32_t last, int64_t time) {
  for (uint32_t inner = thread.innermost; inner != last;) {
    const uint32_t below = nodes_[inner].below;
    if (nodes_[inner].strict) End(inner, {.time = time, .flags = kUnbalanced});
    inner = below;
  }
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

  if (node.thread != nullptr) LeaveThread(node);
  if (node.orphan && args.id != 0 && options_.outlasting != nullptr) options_.outlasting->insert(activity.id);
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

void ActivityTracker::LeaveThread(Node& node) {
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
    EndOf(thread, time);
    thread.has_started = true;
    thread.started = now_;
  }
  thread.pid = pid;
  for (size_t i = 0; i < processors_.size() && i < history_.switches.processors.size(); ++i) {
    const ProcessorHistory& told = history_.switches.processors[i];
    Processor& processor = processors_[i];
    if (!told.since_start || told.first_thread != tid || processor.known || processor.run != 0) continue;
    if (Bounded(told.first_since) != now_) continue;
    processor.known = true;
    RunBegins(processor, tid);
  }
}

void ActivityTracker::ThreadEnd(uint32_t tid, int64_t time) {
  Advance(time);
  Thread* thread = FindThread(tid);
  if (thread == nullptr) return;
  EndOf(*thread, time);
  if (thread->processors == 0) return;
  for (Processor& processor : processors_) {
    if (!processor.known || processor.thread != tid) continue;
    RunEnds(processor);
    processor.known = false;
    processor.ended = true;
  }
}

void ActivityTracker::EndOf(const Thread& thread, int64_t time) {
  if (thread.innermost == kNone) return;
  std::vector<OpenActivity> ending;
  AddGoingOn(thread, ending);
  // A recorded stop counts more than the end of the thread (semantics.md 2.2).
  const auto first = std::stable_partition(ending.begin(), ending.end(), [this](const OpenActivity& activity) {
    return !Outlasts(nodes_[activity.number]);
  });
  for (auto orphan = first; orphan != ending.end(); ++orphan) {
    Node& node = nodes_[orphan->number];
    LeaveThread(node);
    node.orphan = true;
    if (options_.outlasting != nullptr) orphans_.push_back(*orphan);
  }
  ending.erase(first, ending.end());
  EndWithoutStop(std::move(ending), time);
}

bool ActivityTracker::Outlasts(const Node& node) const {
  return options_.outlasting != nullptr ? !node.nests : history_.outlasting.contains(node.activity.id);
}

void ActivityTracker::AddGoingOn(const Thread& thread, std::vector<OpenActivity>& list) const {
  for (uint32_t number = thread.innermost; number != kNone; number = nodes_[number].below) {
    const Activity& activity = nodes_[number].activity;
    // What has no start has a stop that is still to come, maybe in a later life of the thread.
    if (activity.kind != ActivityKind::kThread && !activity.has(kTruncatedStart)) list.push_back(OpenOf(number));
  }
}

// By descending ids, but children before their parents (semantics.md 2.3): a record of another processor may have a
// lower id although it came later.
void ActivityTracker::EndWithoutStop(std::vector<OpenActivity> ending, int64_t time) {
  std::sort(ending.begin(), ending.end(), [](const OpenActivity& a, const OpenActivity& b) { return a.id > b.id; });
  std::unordered_set<uint32_t> numbers;
  for (const OpenActivity& each : ending) numbers.insert(each.number);
  // How many children of a node end, or have descendants that do though they have stopped themselves.
  std::unordered_map<uint32_t, size_t> children;
  for (const OpenActivity& each : ending) {
    for (uint32_t up = nodes_[each.number].parent; up != kNone; up = nodes_[up].parent) {
      if (children[up]++ != 0 || numbers.contains(up)) break;
    }
  }
  for (const OpenActivity& next : ending) {
    const auto found = children.find(next.number);
    if (found != children.end() && found->second != 0) continue;
    uint32_t up = nodes_[next.number].parent;
    End(next.number, {.time = time, .flags = kUnterminated});
    // A node that is free keeps its fields until the next start.
    while (up != kNone && --children[up] == 0) {
      const uint32_t number = up;
      up = nodes_[number].parent;
      if (!numbers.contains(number)) continue;
      // One of a higher id has waited for its last child.
      if (nodes_[number].activity.id < next.id) break;
      End(number, {.time = time, .flags = kUnterminated});
    }
  }
}

void ActivityTracker::ProcessEnd(uint32_t pid, int64_t time) {
  Advance(time);
  std::vector<OpenActivity> ending;
  for (const auto& [tid, thread] : threads_) {
    if (thread.pid == pid) AddGoingOn(thread, ending);
  }
  std::erase_if(orphans_, [this](const OpenActivity& orphan) { return !IsOpen(orphan); });
  for (const OpenActivity& orphan : orphans_) {
    if (nodes_[orphan.number].activity.pid == pid) ending.push_back(orphan);
  }
  EndWithoutStop(std::move(ending), time);
}

void ActivityTracker::Finish(int64_t time) {
  Advance(time);
  std::vector<OpenActivity> rest;
  for (uint32_t number = 0; number < nodes_.size(); ++number) {
    if (nodes_[number].open && !nodes_[number].stop_known) rest.push_back(OpenOf(number));
  }
  EndWithoutStop(std::move(rest), now_);
  while (open_ != 0) Advance(appointments_.top().time);
}

}  // namespace etwpipe::activities

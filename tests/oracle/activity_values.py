"""What the time of activities was spent on, by the definitions alone (semantics.md 2 and 3): every elementary interval is
looked at on its own, with whole numbers and fractions."""

import struct
from fractions import Fraction

from activity_pairs import GROUP_THREAD, lifetime_of

ONE = 1 << 64


def ancestors(activity):
    while activity.parent is not None:
        activity = activity.parent
        yield activity


def in_stop_order(activities):
    """Effective stop, then the order of the records. Of those that end at one place without records of their own the
    highest id comes first, but a child before its parent, whatever their ids: an id is a place in the file, and a record
    of another processor may have a lower one although it came later."""
    places = {}
    for activity in activities:
        # Several known ends may come between two records.
        key = activity.stop_at, activity.stop if "coarse" in activity.flags else 0
        places.setdefault(key, []).append(activity)
    for _, ending in sorted(places.items()):
        going = set(ending)
        waiting = dict.fromkeys(ending, 0)
        for activity in ending:
            for above in ancestors(activity):
                if above in waiting:
                    waiting[above] += 1
        while going:
            activity = max((each for each in going if waiting[each] == 0), key=lambda each: each.id)
            going.remove(activity)
            for above in ancestors(activity):
                if above in waiting:
                    waiting[above] -= 1
            yield activity


def responsibility(activities):
    """Covered ticks; gives each activity exclusive_responsibility (2.3) and `exact` (2.2)."""
    begins, ends = {}, {}
    for activity in activities:
        activity.shares = {}
        if activity.end > activity.start:
            begins.setdefault(activity.start, []).append(activity)
            ends.setdefault(activity.end, []).append(activity)
    live = set()
    covered = 0
    sums = dict.fromkeys(activities, 0)
    times = sorted(set(begins) | set(ends))
    for time, after in zip(times, times[1:]):
        live.difference_update(ends.get(time, ()))
        live.update(begins.get(time, ()))
        if not live:
            continue
        inner = set()
        for activity in live:
            inner.update(ancestors(activity))
        leaves = live - inner
        ticks = after - time
        covered += ticks
        share = (ticks << 64) // len(leaves)
        for activity in leaves:
            sums[activity] += share
            activity.shares[len(leaves)] = activity.shares.get(len(leaves), 0) + ticks
    carry = ONE // 2
    for activity in in_stop_order(activities):
        carry += sums[activity]
        activity.exclusive_responsibility = carry // ONE
        carry %= ONE
        activity.exact = sum((Fraction(ticks, count) for count, ticks in activity.shares.items()), Fraction(0))
    return covered


def length_of_union(intervals):
    total, reached = 0, None
    for start, stop in sorted(intervals):
        if reached is None or start > reached:
            reached = start
        if stop > reached:
            total += stop - reached
            reached = stop
    return total


def exclusive_durations(activities):
    children = {}
    for activity in activities:
        if activity.parent is not None:
            children.setdefault(activity.parent, []).append(activity)
    for activity in activities:
        inside = [(max(child.start, activity.start), min(child.end, activity.end)) for child in children.get(activity, ())]
        inside = [interval for interval in inside if interval[0] < interval[1]]
        activity.exclusive_duration = activity.end - activity.start - length_of_union(inside)


class Switches:
    """When each thread was on a processor (3.2, rules 1 to 4)."""

    def __init__(self, records):
        self.runs = {}  # thread -> [start, stop)
        self.count = 0
        self.lost = []  # (thread that ran, place where that ends to be known, thread switched away from, its place)
        if not records:
            return
        trace_start = records[0].timestamp
        current, since, last_event, thread_starts, ended = {}, {}, {}, {}, {}
        for at, record in enumerate(records):
            cpu, time = record.buffer.cpu, record.timestamp
            life = lifetime_of(record)
            if life and life[0] == "thread":
                thread = life[2]
                if life[1]:
                    thread_starts[thread] = time
                else:
                    for where in [where for where, runs in current.items() if runs == thread]:
                        self.add(thread, since[where], time)
                        current[where] = 0
                        ended[where] = thread
            if record.provider == GROUP_THREAD and record.opcode == 36 and len(record.payload) >= 8:
                self.count += 1
                new, old = struct.unpack_from("<II", record.payload)
                if cpu not in current:
                    self.add(old, max(trace_start, thread_starts.get(old, trace_start)), time)
                elif current[cpu] != old and ended.get(cpu) != old:
                    last = records[last_event[cpu]].timestamp
                    before = next(place for place, other in enumerate(records) if other.timestamp >= last) - 0.5
                    self.lost.append((current[cpu], before, old, at))
                    self.add(current[cpu], since[cpu], last)
                else:
                    self.add(current[cpu], since[cpu], time)
                current[cpu], since[cpu] = new, time
                ended.pop(cpu, None)  # the switch away from a thread that has ended is no news
            last_event[cpu] = at
        stop = max(record.timestamp for record in records)
        for cpu, thread in current.items():
            self.add(thread, since[cpu], stop)

    def add(self, thread, start, stop):
        if thread != 0 and start < stop:
            self.runs.setdefault(thread, []).append((start, stop))


def cpu_ticks(activities, switches):
    threads = {}
    for activity in activities:
        activity.exclusive_cpu = 0
        threads.setdefault(activity.thread, []).append(activity)
    for thread, own in threads.items():
        runs = switches.runs.get(thread)
        if not runs:
            continue
        times = sorted({time for run in runs for time in run} | {activity.start for activity in own}
                       | {activity.end for activity in own})
        for time, after in zip(times, times[1:]):
            if any(start <= time < stop for start, stop in runs):
                going = [activity for activity in own if activity.start <= time < activity.end]
                if going:
                    top = max(going, key=lambda activity: (activity.at, activity.id))
                    top.exclusive_cpu += after - time


def flag_lost(activities, switches):
    """Where the trace does not tell how long a thread ran, its innermost activity has too few ticks."""
    for ran, last_event, old, switch in switches.lost:
        for thread, at in ((ran, last_event), (old, switch)):
            going = [activity for activity in activities if activity.thread == thread != 0 and
                     activity.at <= at < activity.stop_at and "negative" not in activity.flags]
            if going:
                max(going, key=lambda activity: activity.at).flags.add("lost_events")


def sum_up(activities):
    """Inclusive values are sums over the tree; late_children by the order of the records."""
    order = {activity: place for place, activity in enumerate(in_stop_order(activities))}
    for activity in activities:
        activity.cpu = activity.responsibility = 0
    for activity in activities:
        for owner in [activity, *ancestors(activity)]:
            owner.cpu += activity.exclusive_cpu
            owner.responsibility += activity.exclusive_responsibility
        for owner in ancestors(activity):
            if order[activity] > order[owner]:
                owner.flags.add("late_children")


def values_of(pairs):
    """Gives all values to pairs.found; returns (covered ticks, switches)."""
    covered = responsibility(pairs.found)
    exclusive_durations(pairs.found)
    switches = Switches(pairs.records)
    cpu_ticks(pairs.found, switches)
    flag_lost(pairs.found, switches)
    sum_up(pairs.found)
    return covered, switches

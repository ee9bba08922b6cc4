"""Activities of a trace by the definitions alone: which record starts, which one stops, and what encloses what.

The slow and plain way, in three steps over a list that is in memory: pairs, ends of what has no stop, parents. Nothing
here is shared with the program; activity_values.py says what the time was spent on.
"""

import struct
from dataclasses import dataclass, field

NO_GUID = bytes(16)
NO_THREAD = 0xFFFFFFFF
ITEM_RELATED_ACTIVITY = 1

CLR = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
CLR_RUNDOWN = "a669021c-c450-4609-a035-5af59af4df18"
CLR_PRIVATE = "763fd754-7086-4dfe-95eb-c01a46faf4ca"
CLR_STRESS = "cc2bcbba-16b6-4cf3-8990-d74c2e8af500"
INGEST = "db0dcde2-b09f-5816-161d-383eaa5152ec"
CALLS = "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc"
OWN = "56e4a0cd-0f35-5584-7110-f7ea1385f7bd"
VCPERF = "f78a07b0-796a-5da4-5c20-61aa526e77af"
KERNEL_PROCESS = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
GROUP_PROCESS = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"
GROUP_THREAD = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"
NO_APP = {CLR, CLR_RUNDOWN, CLR_PRIVATE, CLR_STRESS, INGEST, CALLS, OWN, VCPERF, KERNEL_PROCESS}


@dataclass(eq=False)
class Activity:
    id: int
    kind: str
    pid: int
    tid: int
    processor: int
    start: int  # raw ticks
    at: float  # place in the order of the trace; below 0 for what the trace does not show
    name: str = None  # None: not told by this reference
    stop: int = None
    stop_at: float = None
    synthetic: bool = False  # no record says that it stops there
    related: bytes = NO_GUID
    own_activity_id: bytes = NO_GUID
    nests: bool = True  # paired by its thread
    strict: bool = False
    parent: "Activity" = None
    timeline: object = None
    flags: set = field(default_factory=set)

    @property
    def thread(self):
        """Whose CPU ticks it gets and where it encloses others; None if nobody knows."""
        return None if self.tid == NO_THREAD or (self.at < 0 and not self.nests) else self.tid

    @property
    def end(self):
        """Half open [start, end); a stop before the start makes it empty."""
        return max(self.stop, self.start)


@dataclass
class Ends:
    """Where threads and processes end: number -> places in the order, with times."""
    threads: dict = field(default_factory=dict)
    processes: dict = field(default_factory=dict)


def lifetime_of(record):
    """(what, pid or tid) of a record that begins or ends the life of a process or thread; else None."""
    if record.provider == GROUP_THREAD and record.opcode in (1, 2) and len(record.payload) >= 8:
        return "thread", record.opcode == 1, struct.unpack_from("<II", record.payload)[0 if record.version == 0 else 1]
    if record.provider == GROUP_PROCESS and record.opcode in (1, 2) and record.version >= 2:
        width = 4 if record.header.endswith("32") else 8
        if len(record.payload) >= width + 4:
            return "process", record.opcode == 1, struct.unpack_from("<I", record.payload, width)[0]
    if record.provider == KERNEL_PROCESS and record.event_id in (1, 2) and len(record.payload) >= 4:
        return "process", record.event_id == 1, struct.unpack_from("<I", record.payload)[0]
    if record.provider == KERNEL_PROCESS and record.event_id in (3, 4) and len(record.payload) >= 8:
        return "thread", record.event_id == 3, struct.unpack_from("<II", record.payload)[1]
    return None


class Pairs:
    """First step: starts and stops of one list of records find each other."""

    def __init__(self, records, frequency):
        self.records = records
        self.frequency = frequency
        self.first = records[0].timestamp if records else 0
        self.last = max((record.timestamp for record in records), default=0)
        self.found = []
        self.open = {}  # key -> open activities, oldest first
        self.strict = {}  # (source, thread) -> open activities that nest strictly
        self.lives = {}  # ("process" or "thread", number) -> how many lives it had so far
        self.ends = Ends()
        self.thread_starts = {}
        self.exceptions_stop = {record.pid for record in records if record.provider == CLR and record.event_id == 256}

    def run(self):
        for at, record in enumerate(self.records):
            life = lifetime_of(record)
            if life:
                what, begins, number = life
                if what == "process" and begins:
                    continue
                if begins and not self.begins_anew(number, record):
                    continue
                # A thread that begins has ended before, whether the trace has that or not.
                ends = self.ends.threads if what == "thread" else self.ends.processes
                ends.setdefault(number, []).append((at, record.timestamp))
                self.lives[what, number] = self.lives.get((what, number), 0) + 1
                continue
            if not record.header.startswith("EVENT_HEADER"):
                continue
            if record.provider == CLR:
                self.clr(at, record)
            elif record.provider == INGEST:
                self.ingest(at, record)
            elif record.provider == CALLS:
                self.call(at, record)
            elif record.provider == VCPERF:
                self.build(at, record)
            elif record.provider not in NO_APP and record.opcode in (1, 2):
                self.app(at, record)
        return self.found

    def begins_anew(self, thread, record):
        """Two providers may tell of one start, at most 100 ms apart."""
        last, self.thread_starts[thread] = self.thread_starts.get(thread), record.timestamp
        if last is not None and record.timestamp - last <= self.frequency // 10:
            self.thread_starts[thread] = last
            return False
        return True

    def process(self, record):
        return record.pid, self.lives.get(("process", record.pid), 0)

    def thread(self, record):
        return self.process(record) + (record.tid, self.lives.get(("thread", record.tid), 0))

    def start(self, at, record, kind, key, name=None, **more):
        activity = Activity(record.id, kind, record.pid, record.tid, record.buffer.cpu, record.timestamp, at, name, **more)
        self.found.append(activity)
        if key is not None:
            self.open.setdefault(key, []).append(activity)
        return activity

    def stop(self, at, record, key, oldest=False):
        """The activity that the record stops, or None."""
        waiting = self.open.get(key)
        if not waiting:
            return None
        activity = waiting.pop(0 if oldest else -1)
        self.close(activity, at, record)
        return activity

    def close(self, activity, at, record):
        activity.stop = record.timestamp
        activity.stop_at = at
        if activity.tid != record.tid:
            activity.flags.add("migrated")

    def missing(self, at, record, kind, name=None, **more):
        """A stop without a start goes on since the trace began and has the id of its stop. Nobody knows on which thread it
        started, unless it is paired by its thread."""
        activity = Activity(record.id, kind, record.pid, record.tid, record.buffer.cpu, self.first, -1, name, **more)
        activity.flags.add("truncated_start")
        activity.stop = record.timestamp
        activity.stop_at = at
        self.found.append(activity)
        return activity

    # semantics.md 5.5, rules 1 and 2
    def app(self, at, record):
        by_id = record.activity != NO_GUID
        key = ((self.process(record), record.provider, record.task, record.activity) if by_id else
               (self.thread(record), record.provider, record.task))
        if record.opcode == 1:
            related = next((data for kind, data in record.items if kind == ITEM_RELATED_ACTIVITY and len(data) == 16), NO_GUID)
            self.start(at, record, "app", key, related=related, own_activity_id=record.activity, nests=not by_id)
        elif self.stop(at, record, key) is None:
            self.missing(at, record, "app", nests=not by_id, own_activity_id=record.activity)

    # semantics.md 5.4
    def clr(self, at, record):
        number, body = record.event_id, record.payload
        process, thread = self.process(record), self.thread(record)

        def value(layout, offset=0):
            return struct.unpack_from(layout, body, offset)[0] if len(body) >= offset + struct.calcsize(layout) else None

        if number in (1, 2):
            offset = {1: 4 * 4 if record.version else None, 2: 8 if record.version else None}[number]
            key = "GC", process, value("<H", offset) if offset is not None else None, value("<I")
            if number == 1:
                if not self.open.get(key):
                    self.start(at, record, "clr", key, "GC", nests=False)
            elif self.stop(at, record, key) is None:
                self.missing(at, record, "clr", "GC", nests=False)
        elif number in (9, 3):
            key = "suspension", process
            if number == 9:
                self.start(at, record, "clr", key, "GC/Suspension", nests=False)
            elif self.stop(at, record, key, oldest=True) is None:
                self.missing(at, record, "clr", "GC/Suspension", nests=False)
        elif number == 145:
            self.start(at, record, "clr", ("JIT", thread, value("<Q")), "JIT")
        elif number in (141, 143):
            # Precompiled code is loaded without a JIT: no start is missing.
            self.stop(at, record, ("JIT", thread, value("<Q")), oldest=True)
        elif number == 160:
            self.start(at, record, "clr", ("R2R", thread, value("<Q")), "R2REntryPoint")
        elif number == 159:
            self.stop(at, record, ("R2R", thread, value("<Q")), oldest=True)
        elif number in (73, 74):
            key = "TypeLoad", process, value("<I"), value("<H", 4)
            if number == 73:
                self.start(at, record, "clr", key, "TypeLoad", nests=False)
            elif self.stop(at, record, key) is None:
                self.missing(at, record, "clr", "TypeLoad", nests=False)
        elif number in (283, 284):
            key = "Tiering", process, value("<H")
            if number == 283:
                self.start(at, record, "clr", key, "Tiering", nests=False)
            elif self.stop(at, record, key) is None:
                self.missing(at, record, "clr", "Tiering", nests=False)
        else:
            pairs = {80: ("Exception", 256), 250: ("Exception/Catch", 251), 252: ("Exception/Finally", 253),
                     254: ("Exception/Filter", 255), 81: ("Contention", 91), 290: ("AssemblyLoad", 291)}
            if number in pairs:
                # Old runtimes do not say when an exception has been handled: a point in time then.
                if number != 80 or record.pid in self.exceptions_stop:
                    name = pairs[number][0]
                    self.start(at, record, "clr", (name, thread), name)
            for name, stop in pairs.values():
                if number == stop and self.stop(at, record, (name, thread)) is None:
                    self.missing(at, record, "clr", name)

    # proto/PROVIDER.md: Instance is the same in start and stop, so nothing else has to be looked at.
    def ingest(self, at, record):
        fields = bytes(record.payload)
        if record.opcode not in (1, 2) or len(fields) < 10:
            return
        key = "ingest", struct.unpack_from("<Q", fields, 2)[0]
        kind, _, rest = fields[10:].partition(b"\0")
        name = rest.partition(b"\0")[0]
        text = f"{kind.decode()}: {name.decode()}" if name else kind.decode()
        if record.opcode == 1:
            self.start(at, record, "buildinsights", key, text)
        elif self.stop(at, record, key) is None:
            self.missing(at, record, "buildinsights", text)

    def unwind(self, which, activity, at, record):
        """What is above an activity that nests strictly ends with it (rule 2): everything, if it began before the trace."""
        stack = self.strict.get(which, [])
        while stack:
            top = stack.pop()
            if top is activity:
                return
            if top.stop_at is None:
                self.close(top, at, record)
                top.flags.discard("migrated")
                top.flags.add("unbalanced")
                for waiting in self.open.values():
                    if top in waiting:
                        waiting.remove(top)

    # proto/PROVIDER.md: Enter 1, Leave 2, Tailcall 3; semantics.md 5.5, rule 5.
    def call(self, at, record):
        if record.event_id not in (1, 2, 3) or len(record.payload) < 8:
            return
        function, = struct.unpack_from("<Q", record.payload)
        which = "call", self.thread(record)
        stack = self.strict.setdefault(which, [])
        if record.event_id == 1:
            activity = self.start(at, record, "app", (which, function), strict=True)
            stack.append(activity)
            return
        activity = self.stop(at, record, (which, function))
        if activity is None:
            self.missing(at, record, "app", strict=True)
            self.unwind(which, None, at, record)
            return
        self.unwind(which, activity, at, record)

    # semantics.md 4.3: one record holds start and duration.
    def build(self, at, record):
        if record.opcode != 20:
            return
        layouts = {(0, 0): "HAAIWWAIiII", (0, 1): "HAAIWWAIiIII", (1000, 0): "HAAIWAAHAIi", (1000, 1): "HAAIWAAHAIiI",
                   (1500, 0): "HAAIWAAi", (1500, 1): "HAAIWQAAiI", (2000, 0): "HAAIWAAi", (2000, 1): "HAAIWAAiI"}
        layout = layouts.get((record.event_id, record.version))
        if layout is None:
            return
        fields = list(unpack(layout, record.payload))
        duration = fields[layout.index("i")]
        per_second = 1_000_000 if record.event_id == 2000 else 1000
        activity = self.start(at, record, "buildinsights", None)
        activity.flags.add("coarse")
        activity.timeline = fields[0]
        activity.stop = record.timestamp + duration * self.frequency // per_second


def unpack(layout, body):
    """Packed fields: H u16, I and i u32, Q u64, A ANSI with NUL, W UTF-16 with NUL."""
    at = 0
    for letter in layout:
        if letter == "A":
            end = body.index(b"\0", at)
            yield bytes(body[at:end])
            at = end + 1
        elif letter == "W":
            end = at
            while body[end:end + 2] != b"\0\0":
                end += 2
            yield bytes(body[at:end])
            at = end + 2
        else:
            size = {"H": 2, "I": 4, "i": 4, "Q": 8}[letter]
            yield int.from_bytes(body[at:at + size], "little")
            at += size


def end_unterminated(pairs):
    """Second step (semantics.md 2.2): a missing stop is that of the thread, of the process, of the trace."""
    merged = []  # time of the walk at each place
    for record in pairs.records:
        merged.append(max(record.timestamp, merged[-1]) if merged else record.timestamp)
    for activity in pairs.found:
        if "coarse" in activity.flags:
            # Known ahead: before the first record of that time, and often after the last record.
            activity.stop_at = next((place for place, time in enumerate(merged) if time >= activity.stop),
                                    len(merged) + activity.stop) - 0.5
            activity.stop_at = max(activity.stop_at, activity.at)
        if activity.stop is not None:
            if activity.stop < activity.start:
                activity.flags.add("negative")
            continue
        ends = pairs.ends.threads.get(activity.tid, []) + pairs.ends.processes.get(activity.pid, [])
        activity.stop_at, activity.stop = min((end for end in ends if end[0] > activity.at),
                                              default=(len(merged), pairs.last))
        activity.synthetic = True
        activity.flags.add("unterminated")


def find_parents(pairs):
    """Third step (semantics.md 5.5, rule 3), by the order of the records."""
    missing = [activity for activity in pairs.found if activity.at < 0]
    missing.sort(key=lambda activity: -activity.stop_at)  # of one thread the first to stop is innermost
    for place, activity in enumerate(missing):
        activity.at = -1 + place / (len(missing) + 1)
    for activity in pairs.found:
        if "coarse" in activity.flags:
            activity.parent = timeline_parent(pairs, activity)
            continue
        def goes_on(other):
            return other.at < activity.at < other.stop_at and "negative" not in other.flags
        if activity.at < 0 and not activity.nests:
            continue
        related = [other for other in pairs.found if activity.related != NO_GUID and
                   other.own_activity_id == activity.related and goes_on(other)]
        enclosing = [other for other in pairs.found if other.thread == activity.thread != None and goes_on(other)]
        activity.parent = max(related or enclosing, key=lambda other: other.at, default=None)


def timeline_parent(pairs, activity):
    """Containment within a timeline, durations being cut to milliseconds."""
    tolerance = pairs.frequency // 1000
    enclosing = [other for other in pairs.found if "coarse" in other.flags and other.timeline == activity.timeline and
                 other.at < activity.at < other.stop_at and activity.stop <= other.stop + tolerance]
    return max(enclosing, key=lambda other: other.at, default=None)


def activities_of(records, frequency):
    pairs = Pairs(records, frequency)
    pairs.run()
    end_unterminated(pairs)
    find_parents(pairs)
    return pairs

"""Small traces for compare_activities.py, of what no recording and no generated trace has: by chance, but the same every
time. Few threads, few ids and many equal timestamps make every odd order of starts and stops likely."""

import random
import struct
import uuid

from etl_writer import (FLUSH_MARKER, PROC_INDEX, TYPE_HEADER, Buffer, LogHeader, event_header, file_bytes, perfinfo,
                        system, wstr)

APP = ("c9f2d8a0-4d1f-4b7e-9c55-0a6b1e2f3a01", "c9f2d8a0-4d1f-4b7e-9c55-0a6b1e2f3a02")
CLR = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
INGEST = "db0dcde2-b09f-5816-161d-383eaa5152ec"
CALLS = "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc"
VCPERF = "f78a07b0-796a-5da4-5c20-61aa526e77af"
FREQUENCY = 10_000_000
FIRST = 1_000_000
RELATED_ACTIVITY, SCHEMA_TL = 1, 11
NO_ACTIVITY = str(uuid.UUID(int=0))
PROCESSES = {100: (101, 102, 103), 200: (201, 202), 300: (301,)}
THREADS = [(pid, tid) for pid, tids in PROCESSES.items() for tid in tids]


def schema(name, *fields):
    """Metadata of a TraceLogging event: fields are (name, in type)."""
    body = b"\0" + name + b"\0" + b"".join(field + b"\0" + bytes([kind]) for field, kind in fields)
    return SCHEMA_TL, struct.pack("<H", len(body) + 2) + body


U16, U64, TEXT = 6, 10, 2
ACTIVITY_SCHEMA = schema(b"Activity", (b"EventId", U16), (b"Instance", U64), (b"Kind", TEXT), (b"Name", TEXT))
CALL_SCHEMA = schema(b"Call", (b"FunctionID", U64))


class Maker:
    """A trace that grows in the order of time."""

    def __init__(self, seed, cpus=3, back=0):
        self.random = random.Random(seed)
        self.now = FIRST
        self.streams = {cpu: [] for cpu in range(cpus)}
        self.running = dict.fromkeys(range(cpus), 0)
        self.last = dict.fromkeys(range(cpus), 0)
        self.back = back
        self.instance = 0
        self.open = []
        self.count = 0

    def tick(self):
        """Time goes on, often not at all; with `back` it steps back now and then."""
        self.now += self.random.choice((0, 0, 1, 2, 7, 30, 110, 997))
        if self.back and self.random.random() < self.back:
            self.now -= self.random.choice((1, 5, 300, 2000))

    def put(self, record, cpu):
        self.streams[cpu].append(record)
        self.count += 1

    def cpu(self):
        return self.random.randrange(len(self.streams))

    def event(self, provider, number, opcode=0, who=None, **more):
        pid, tid = who or self.random.choice(THREADS)
        self.put(event_header(64, provider, number, self.now, pid=pid, tid=tid, opcode=opcode, level=4, **more), self.cpu())

    def bytes(self):
        size = 8192
        head = Buffer(size=size, flag=PROC_INDEX | FLUSH_MARKER, type=TYPE_HEADER)
        buffers = []
        for cpu, records in self.streams.items():
            for record in records:
                if not buffers or buffers[-1].cpu != cpu or not buffers[-1].has_room(record):
                    buffers.append(Buffer(cpu=cpu, size=size, sequence=len(buffers) + 1))
                buffers[-1].add(record)
        buffers[-1].flag |= FLUSH_MARKER
        head.add(LogHeader(buffer_size=size, processors=len(self.streams), frequency=FREQUENCY, start_ticks=FIRST,
                           buffers_written=len(buffers) + 1).record())
        return file_bytes([head, *buffers])

    # What may happen; each is one step.

    def app(self):
        """Starts and stops of two providers and tasks by their thread, in any order."""
        self.event(self.random.choice(APP), 1, self.random.choice((1, 1, 2)), task=self.random.choice((1, 2)))

    def asynchronous(self):
        """By activity id, stopped anywhere, the same ids in several processes; some name a parent."""
        ids = [str(uuid.UUID(int=number)) for number in range(1, 7)]
        items = []
        if self.random.random() < 0.5:
            items.append((RELATED_ACTIVITY, uuid.UUID(self.random.choice(ids)).bytes_le))
        self.event(self.random.choice(APP), 2, self.random.choice((1, 2)), task=3, activity=self.random.choice(ids), items=items)

    def call(self):
        """Enter, leave and tail call; some leaves are of outer functions or of none."""
        who = self.random.choice(THREADS)
        number = self.random.choice((1, 1, 1, 2, 2, 3))
        self.event(CALLS, number, who=who, items=[CALL_SCHEMA], payload=struct.pack("<Q", self.random.randrange(1, 5)))

    def ingest(self):
        """Build activities; a stop may be of an outer one, of one on another thread, or of none."""
        who = self.random.choice(THREADS)
        if not self.open or self.random.random() < 0.5:
            self.instance += 1
            self.open.append((who, self.instance))
            self.ingest_event(1, who, self.instance, b"file.h")
        else:
            who, number = self.open.pop(self.random.choice((-1, -1, 0)))
            self.ingest_event(2, who, number, b"")

    def ingest_event(self, opcode, who, number, name):
        payload = struct.pack("<HQ", 13, number) + b"FrontEndFile\0" + name + b"\0"
        self.event(INGEST, 0, opcode, who, items=[ACTIVITY_SCHEMA], payload=payload)

    def clr(self):
        what = self.random.randrange(9)
        few = self.random.randrange(1, 3)
        method = struct.pack("<Q", 0x1000 + few)
        load = method + bytes(16 + 12) + wstr("N") + wstr("M") + wstr("()") + struct.pack("<HQ", 9, 0)
        begins = self.random.random() < 0.5
        if what == 0:
            if begins:
                self.event(CLR, 1, 1, version=1, payload=struct.pack("<IIIIH", few, 0, 0, 0, 9))
            else:
                self.event(CLR, 2, 2, version=1, payload=struct.pack("<IIH", few, 0, 9))
        elif what == 1:
            if begins:
                self.event(CLR, 9, 10, version=1, payload=struct.pack("<IIH", 1, few, 9))
            else:
                self.event(CLR, 3, 132, version=1, payload=struct.pack("<H", 9))
        elif what == 2:
            if begins:
                self.event(CLR, 145, 42, version=1, payload=method + bytes(8 + 8) + wstr("N") + wstr("M") + wstr("()") +
                           struct.pack("<H", 9))
            elif self.random.random() < 0.5:
                self.event(CLR, 143, 37, version=2, payload=load)
            else:
                self.event(CLR, 141, 33, version=2, payload=method + bytes(28) + struct.pack("<HQ", 9, 0))
        elif what == 3:
            if begins:
                self.event(CLR, 80, 1, version=1, payload=wstr("E") + wstr("m") + struct.pack("<QIHH", 1, 2, 0, 9))
            else:
                self.event(CLR, 256, 2)
        elif what == 4:
            start = self.random.choice((250, 252, 254))
            self.event(CLR, start if begins else start + 1, 1 if begins else 2,
                       payload=struct.pack("<QQ", 1, 2) + wstr("M") + struct.pack("<H", 9) if begins else b"")
        elif what == 5:
            self.event(CLR, 81 if begins else 91, 1 if begins else 2, version=1,
                       payload=struct.pack("<BH", 0, 9) + (b"" if begins else bytes(8)))
        elif what == 6:
            self.event(CLR, 73 if begins else 74, 1 if begins else 2, payload=struct.pack("<IH", few, 9) +
                       (b"" if begins else bytes(10) + wstr("T")))
        elif what == 7:
            if begins:
                self.event(CLR, 160, 33, payload=method + struct.pack("<H", 9))
            else:
                self.event(CLR, 159, 33, payload=method + wstr("N") + wstr("M") + wstr("()") + struct.pack("<QH", 1, 9))
        else:
            self.event(CLR, 283 if begins else 284, 1 if begins else 2, payload=struct.pack("<HI", 9, 1) +
                       (b"" if begins else bytes(4)))

    def build(self):
        """What vcperf writes: one tree of activities that say how long they took, cut to milliseconds; each timeline has
        threads of its own, in two processes."""
        lane = self.random.choice((0, 1, 2))
        self.build_tree(lane, self.random.choice((0, 9_000, 30_000, 100_000)), 0)

    def build_tree(self, lane, ticks, depth):
        start = self.now
        self.build_event(THREADS[2 * lane + (depth & 1)], lane, ticks)
        while depth < 4 and self.random.random() < 0.6:
            self.now += self.random.choice((0, 1, 700, 11_000))
            room = start + ticks - self.now
            if room < 0:
                break
            self.build_tree(lane, self.random.choice((room, room // 2, room // 3)), depth + 1)
        self.now = start + ticks
        if depth == 0:
            # Beyond doubt the next tree: the tolerance is a millisecond.
            self.now += self.random.choice((10_001, 20_000, 50_000))

    def build_event(self, who, lane, ticks):
        took = ticks // 10_000
        start = struct.pack("<H", lane) + b"Lane\0CL\0" + struct.pack("<I", 1)
        number = self.random.choice((0, 1000, 1500, 2000))
        version = self.random.choice((0, 1))
        if number == 0:
            body = start + wstr("call") + wstr("a.cpp") + b"C1DLL\0" + struct.pack("<IIII", 0, took, 0, 0)
        elif number == 1000:
            body = start + wstr("a.cpp") + b"a.h\0\0" + struct.pack("<H", 0) + b"Parsing\0" + struct.pack("<II", 0, took)
        elif number == 1500:
            instance = struct.pack("<Q", 1) if version else b""
            body = start + wstr("a.cpp") + instance + b"f\0CodeGeneration\0" + struct.pack("<I", took)
        else:
            body = start + wstr("a.cpp") + b"P\0S\0" + struct.pack("<I", ticks // 10)
        self.event(VCPERF, number, 20, who, version=version, payload=body + (bytes(4) if version else b""))

    def switch(self, lost=0.0):
        """A context switch; lost ones leave no record."""
        cpu = self.cpu()
        free = [tid for _, tid in THREADS if tid not in self.running.values()]
        old, self.running[cpu] = self.running[cpu], self.random.choice(free + [0])
        if self.running[cpu] == old or self.random.random() < lost:
            return
        self.put(perfinfo(64, 5, 36, self.now, version=4, payload=struct.pack("<II", self.running[cpu], old) + bytes(16)), cpu)

    def life(self):
        """A thread or process ends or begins; their numbers are used again."""
        pid, tid = self.random.choice(THREADS)
        opcode = self.random.choice((1, 2, 2))
        if opcode == 1 or self.random.random() < 0.6:
            self.put(system(64, 5, opcode, self.now, version=3, pid=pid, tid=tid,
                            payload=struct.pack("<II", pid, tid) + bytes(64)), self.cpu())
            return
        self.put(system(64, 3, opcode, self.now, version=4, pid=pid, tid=tid,
                        payload=struct.pack("<QIIIi", 1, pid, 4, 0, 0) + bytes(8 + 4 + 4) + b"a.exe\0" + wstr("") * 3),
                 self.cpu())


def make(seed, weights, steps=100, cpus=3, back=0.0, lost=0.0):
    """A file: each step is an action of Maker by its weight."""
    maker = Maker(seed, cpus, back)
    actions = list(weights)
    for _ in range(steps):
        maker.tick()
        action = maker.random.choices(actions, [weights[each] for each in actions])[0]
        if action == "switch":
            maker.switch(lost)
        else:
            getattr(maker, action)()
    return maker.bytes()


# name -> arguments of make()
KINDS = {
    "app": {"weights": {"app": 1}},
    "async": {"weights": {"app": 1, "asynchronous": 2}},
    "calls": {"weights": {"call": 1}},
    "ingest": {"weights": {"ingest": 1}},
    "clr": {"weights": {"clr": 1}},
    "vcperf": {"weights": {"build": 1}},
    "switches": {"weights": {"app": 2, "switch": 3}},
    "lost": {"weights": {"app": 2, "switch": 3}, "lost": 0.2},
    "lives": {"weights": {"app": 6, "switch": 6, "life": 1}},
    "async_lives": {"weights": {"asynchronous": 6, "switch": 6, "life": 1}},
    "back": {"weights": {"app": 2, "switch": 2}, "back": 0.1},
    "all": {"weights": {"app": 3, "asynchronous": 3, "call": 3, "ingest": 3, "clr": 3, "switch": 8}},
    "everything": {"weights": {"app": 3, "asynchronous": 3, "call": 3, "clr": 3, "switch": 8, "life": 1},
                   "lost": 0.1},
}

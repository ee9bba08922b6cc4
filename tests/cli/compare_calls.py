#!/usr/bin/env python3
"""Instrumentation values: what annotate.instrumentation says of calls against an interval-by-interval count in Python over
records that the independent reader in tests/oracle finds (semantics.md 5.1, 5.3, 5.5).

The traces are written by the independent writer: random calls of etwpipe.profiler, of which some began before the trace,
some have no end, and some end with the leave of an outer one, tail calls, context switches, disk, file and page-fault records."""

import argparse
import collections
import json
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
import etl_reader  # noqa: E402
import etl_writer as writer  # noqa: E402
import make_cases  # noqa: E402

PROFILER = "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc"
IO, MEMORY, FILE, THREAD = 1, 2, 4, 5  # kernel event groups
ENTER, LEAVE, TAILCALL = 1, 2, 3
VALUES = ("elapsed_inclusive", "elapsed_exclusive", "application_inclusive", "application_exclusive")
CONFIGS = (("default", 0), ("vs", 0), ("default", 3))  # policy, overhead in ticks of 100 ns


# ------------------------------------------------------------------------------------------------- the reference


class Os:
    """Operating-system events of each thread: instants, and what the switches say of running."""

    def __init__(self, records, policy):
        self.touches = collections.defaultdict(list)
        self.switches = collections.defaultdict(list)  # tid: (time, whether out)
        self.process = {0: 0}
        for record in records:
            if (record.provider, record.opcode) == (writer.group_guid(THREAD, 3), 3):
                pid, tid = struct.unpack_from("<II", record.payload)
                self.process[tid] = pid
        disk, files = {}, {}
        for record in records:
            kind = (record.provider, record.opcode)
            payload, time = record.payload, record.timestamp
            u32 = lambda at: struct.unpack_from("<I", payload, at)[0]  # noqa: E731
            u64 = lambda at: struct.unpack_from("<Q", payload, at)[0]  # noqa: E731
            if kind == (writer.group_guid(THREAD, 36), 36):
                new, old = u32(0), u32(4)
                same = self.process.get(new) is not None and self.process.get(new) == self.process.get(old)
                if old != 0 and not (policy == "vs" and same):
                    self.touches[old].append(time)
                    self.switches[old].append((time, True))
                if new != 0:
                    self.switches[new].append((time, False))
            elif record.provider == writer.group_guid(IO, 0):
                if record.opcode in (12, 13, 15):
                    tid = u32(8) if record.version >= 3 else record.tid
                    disk[u64(0)] = tid
                    self.touches[tid].append(time)
                elif record.opcode in (10, 11, 14):
                    at = 16 if record.opcode == 14 else 32
                    issuer = disk.pop(u64(at), None)
                    tid = u32(24 if record.opcode == 14 else 48) if record.version >= 3 else issuer
                    if tid is not None:
                        self.touches[tid].append(time)
            elif policy == "vs":
                continue
            elif record.provider == writer.group_guid(FILE, 0):
                if record.opcode in (67, 68, 73):
                    irp, tid = (u64(0), u32(24)) if record.opcode == 73 else (u64(8), u32(32))
                    files[irp] = tid
                    self.touches[tid].append(time)
                elif record.opcode == 76 and u64(0) in files:
                    self.touches[files.pop(u64(0))].append(time)
            elif kind == (writer.group_guid(MEMORY, 32), 32):
                self.touches[u32(32)].append(time)

    def flags(self, tid, begin, end):
        off = False
        for time, out in self.switches[tid]:
            if time <= begin:
                off = out
        return off or any(begin <= time < end for time in self.touches[tid])


def missing_starts(events):
    """(function, record id) of leaves without an enter, of one thread: they were there from the beginning, each outside of
    those before it. A leave ends what is above its function."""
    missing, stack = [], []
    for function, kind, _, number in events:
        if kind == ENTER:
            stack.append(function)
        elif function in stack:
            while stack.pop() != function:
                pass
        else:
            stack.clear()
            missing.append((function, number))
    return missing


def reference(records, policy, overhead):
    """Values of every call by the ids of its records, and how often each case happened."""
    system = Os(records, policy)
    start, stop = records[0].timestamp, max(record.timestamp for record in records)
    threads = collections.defaultdict(list)
    for record in records:
        if record.provider == PROFILER:
            threads[record.pid, record.tid].append(
                (struct.unpack("<Q", record.payload)[0], record.event_id, record.timestamp, record.id))
    found, seen = {}, collections.Counter()
    for (_, tid), events in threads.items():
        missing = missing_starts(events)
        seen["missing starts"] += len(missing)
        missing_ids = {number for _, number in missing}
        stack = []  # lists: function, values, record ids
        for function, number in reversed(missing):
            stack.append((function, [0, 0, 0, 0], [number]))
        last = start if missing else None

        def interval(time):
            nonlocal last
            if last is not None and stack and time > last:
                ticks = max(0, time - last - overhead)
                flagged = system.flags(tid, last, time)
                seen["flagged" if flagged else "clear"] += 1
                for place, (_, values, _) in enumerate(stack):
                    top = place == len(stack) - 1
                    for value in ([0, 1] if top else [0]):
                        values[value] += ticks
                        values[value + 2] += 0 if flagged else ticks
            last = time

        def end(call):
            for number in call[2]:
                found[number] = call[1]

        for function, kind, time, number in events:
            interval(time)
            if kind == ENTER:
                seen["recursive"] += any(function == open_function for open_function, _, _ in stack)
                stack.append((function, [0, 0, 0, 0], [number]))
                continue
            while stack:
                call = stack.pop()
                if number in missing_ids:
                    if call[2] == [number]:
                        end(call)
                        break
                elif call[0] == function and call[2][0] not in missing_ids:
                    call[2].append(number)
                    end(call)
                    break
                seen["unbalanced"] += 1
                end(call)
        if stack:
            interval(stop)
        for call in stack:
            seen["unterminated"] += 1
            end(call)
    return found, seen


# ------------------------------------------------------------------------------------------------- traces


def thread_rundown(time, tid, pid):
    return writer.perfinfo(64, THREAD, 3, time, version=3, payload=struct.pack("<II", pid, tid) + bytes(64))


def os_record(random_, time, tid, others):
    """A record of the system about a thread, logged by nobody in particular."""
    irp = 0xFFFFA00000000000 + random_.randrange(6) * 64
    dice = random_.randrange(10)
    if dice < 4:
        pair = [tid, random_.choice([0, *others])]
        random_.shuffle(pair)
        return writer.perfinfo(64, THREAD, 36, time, version=4, payload=struct.pack("<II16x", *pair))
    if dice == 4:
        if random_.randrange(2):
            return writer.perfinfo(64, IO, 12, time, version=3, payload=struct.pack("<QI", irp, tid))
        return writer.system(64, IO, 13, time, version=2, tid=tid, pid=1, payload=struct.pack("<Q", irp))
    if dice == 5:
        if random_.randrange(2):
            return writer.perfinfo(64, IO, 10, time, version=3, payload=struct.pack("<32xQ8xI", irp, tid))
        return writer.system(64, IO, 11, time, version=2, tid=random_.choice(others), pid=1,
                             payload=struct.pack("<32xQ8x", irp))
    if dice == 6:
        return writer.perfinfo(64, FILE, random_.choice((67, 68)), time, version=3,
                               payload=struct.pack("<8xQ16xI12x", irp, tid))
    if dice == 7:
        return writer.perfinfo(64, FILE, 76, time, version=2, payload=struct.pack("<Q12x", irp))
    if dice == 8:
        return writer.perfinfo(64, MEMORY, 32, time, version=2, payload=struct.pack("<32xII", tid, 4096))
    return writer.perfinfo(64, FILE, 73, time, version=3, payload=struct.pack("<Q16xI", irp, tid))


def write_trace(path, seed, count):
    random_ = random.Random(seed)
    threads = [(100 + i, 10 + i % 2) for i in range(6)]
    stacks = collections.defaultdict(list)
    tids = [tid for tid, _ in threads]
    case = make_cases.Case("calls", "random calls", size=65536, frequency=10_000_000)
    time = case.log.start_ticks + 1000
    buffers = {}

    def put(cpu, record):
        if cpu not in buffers or not buffers[cpu].has_room(record):
            buffers[cpu] = case.buffer(cpu=cpu)
        buffers[cpu].add(record)

    for tid, pid in threads:
        put(0, thread_rundown(time, tid, pid))
    for _ in range(count):
        if random_.randrange(3):
            time += random_.randrange(12)
        tid, pid = random_.choice(threads)
        # All of one thread on one processor, so that its order is that of the file also within an instant.
        cpu = tid % 4
        if random_.randrange(3) == 0:
            put(cpu, os_record(random_, time, tid, [other for other in tids if other != tid]))
            continue
        stack = stacks[tid]
        kind, function = ENTER, random_.randrange(1, 9)
        if stack and random_.randrange(2):
            # Mostly the top; else an outer one, since the leaves of those above it are lost.
            kind = random_.choice((LEAVE, LEAVE, TAILCALL))
            function = random_.choice(stack) if random_.randrange(20) == 0 else stack[-1]
            while stack.pop() != function:
                pass
        elif not stack and random_.randrange(4) == 0:
            kind = LEAVE  # entered before the trace began
        else:
            stack.append(function)
        put(cpu, writer.event_header(64, PROFILER, kind, time, tid=tid, pid=pid, level=5, keyword=1,
                                     payload=struct.pack("<Q", function)))
    case.write(path.parent)
    (path.parent / "calls.etl").replace(path)


# ------------------------------------------------------------------------------------------------- the comparison


def check(etwpipe, trace, folder, seen):
    records = [record for record in etl_reader.Trace(trace.read_bytes()).merged()]
    records = [record for record in records if not (record.provider == writer.group_guid(0, 0) and record.opcode == 0)]
    good = True
    for policy, overhead in CONFIGS:
        wanted, counted = reference(records, policy, overhead)
        seen.update(counted)
        output = folder / "out.ndjson"
        stage = f"annotate.instrumentation:kinds=app,policy={policy}" + (f",overhead={overhead * 100}ns" if overhead else "")
        subprocess.run([etwpipe, "run", "-q", trace, "-o", output, "--force", "--stage", stage], check=True)
        got = {}
        with output.open() as lines:
            for line in lines:
                event = json.loads(line)
                if event.get("elapsed_inclusive") is None:
                    continue
                got[int(event["id"])] = [int(event[name]) for name in VALUES]
                if event["os_events"] != policy:
                    print(f"{trace.name}: policy {event['os_events']} instead of {policy}")
                    good = False
        seen["records"] += len(got)
        for number in sorted(wanted.keys() | got.keys()):
            if wanted.get(number) != got.get(number):
                print(f"{trace.name}, {policy}, overhead {overhead}: record {number} has {got.get(number)}, "
                      f"not {wanted.get(number)}")
                good = False
                break
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    parser.add_argument("--traces", type=int, default=6, help="how many traces")
    parser.add_argument("--events", type=int, default=1500, help="events of each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seen = collections.Counter()
    good = True
    with tempfile.TemporaryDirectory(prefix="etwpipe-calls-") as name:
        folder = Path(name)
        for seed in range(options.seed, options.seed + options.traces):
            trace = folder / f"calls-{seed}.etl"
            write_trace(trace, seed, options.events)
            good &= check(options.program, trace, folder, seen)
    print(", ".join(f"{count} {what}" for what, count in sorted(seen.items())))
    # The traces hold what they claim to.
    for what in ("records", "flagged", "clear", "recursive", "missing starts", "unbalanced", "unterminated"):
        if seen[what] < 10:
            print(f"too few: {what}")
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

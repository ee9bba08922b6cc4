"""Lives of .NET code and what refers to it, read from the bytes of a trace by plain linear scans.

The rules are those of semantics.md section 7; nothing here is shared with the generator. Knows the events that the
generator writes, not all that exist.
"""

import struct
import uuid
from collections import defaultdict

RUNTIME = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
RUNDOWN = "a669021c-c450-4609-a035-5af59af4df18"
PROFILER = "59c006b1-41ca-5ea1-b5e8-be24e5caf8dc"
PROCESS = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"
THREAD = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"
PERFINFO = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"
SLACK = 100_000  # 10 ms
NEVER, ALWAYS = float("inf"), float("-inf")

METHOD_EVENTS = {(RUNTIME, 141): "MethodLoad", (RUNTIME, 142): "MethodUnload", (RUNTIME, 143): "MethodLoadVerbose",
                 (RUNTIME, 144): "MethodUnloadVerbose", (RUNDOWN, 141): "MethodDCStart",
                 (RUNDOWN, 142): "MethodDCEnd", (RUNDOWN, 143): "MethodDCStartVerbose",
                 (RUNDOWN, 144): "MethodDCEndVerbose"}
MAP_EVENTS = {(RUNTIME, 190): "MethodILToNativeMap", (RUNDOWN, 149): "MethodDCStartILToNativeMap",
              (RUNDOWN, 150): "MethodDCEndILToNativeMap"}
MODULE_EVENTS = {(RUNTIME, 152), (RUNTIME, 153), (RUNDOWN, 153), (RUNDOWN, 154)}
CALL_EVENTS = {1: "ProfilerEnter", 2: "ProfilerLeave", 3: "ProfilerTailcall"}
MARKS = {147: ("start", False), 145: ("start", True), 148: ("end", False), 146: ("end", True)}


def same_runtime(a, b):
    return None in (a["clr_instance"], b["clr_instance"]) or a["clr_instance"] == b["clr_instance"]


class Payload:
    def __init__(self, record):
        self.data = record.payload
        self.at = 0

    def take(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        end = self.at
        while self.data[end:end + 2] != b"\0\0":
            if end >= len(self.data):
                raise ValueError("a string without its end")
            end += 2
        text = self.data[self.at:end].decode("utf-16-le")
        self.at = end + 2
        return text

    def guid(self):
        value = uuid.UUID(bytes_le=bytes(self.data[self.at:self.at + 16]))
        self.at += 16
        return str(value)

    def finish(self):
        if self.at != len(self.data):
            raise ValueError(f"{len(self.data) - self.at} bytes too many")


class Owners:
    """Which process or thread a number means at a time: the last one that had started, else the first."""

    def __init__(self):
        self.starts = defaultdict(list)  # number -> [(ticks, value)]

    def add(self, number, ticks, value):
        self.starts[number].append((ticks, value))

    def find(self, number, ticks):
        found = None
        for start, value in self.starts.get(number, ()):
            if found is None or start <= ticks:
                found = value
        return found


class Code:
    """The code of one trace; `methods` and `references` in the order of the trace."""

    def __init__(self, records):
        self.methods = []
        self.references = []
        self.modules = []
        self.rundowns = {}
        self.names = {}     # (instance, id, clr) -> (namespace, name, signature) of verbose records
        self.jitting = {}   # the same of MethodJittingStarted
        self.owners = Owners()
        self.thread_pids = Owners()
        self.narrow = set()
        self._by_id = defaultdict(list)
        self._by_instance = defaultdict(list)
        records = list(records)
        for record in records:
            self._process(record)
        for record in records:
            self._record(record)
        self._answer()

    def _process(self, record):
        if record.provider == PROCESS and record.opcode in (1, 3):
            pid, = struct.unpack_from("<I", record.payload, 8)
            self.owners.add(pid, ALWAYS if record.opcode == 3 else record.timestamp, record.id)
        elif record.provider == THREAD and record.opcode in (1, 3):
            pid, tid = struct.unpack_from("<II", record.payload, 0)
            self.thread_pids.add(tid, ALWAYS if record.opcode == 3 else record.timestamp, pid)

    def _record(self, record):
        key = (record.provider, record.event_id)
        if record.provider == PERFINFO and record.opcode == 46 and record.header.startswith("PERFINFO"):
            address, tid = struct.unpack_from("<QI", record.payload, 0)
            pid = self.thread_pids.find(tid, record.timestamp)
            self._refer(record, "SampledProfile", "address", address, None, pid=pid, tid=tid)
        elif record.provider == PROFILER:
            payload = Payload(record)
            self._refer(record, CALL_EVENTS[record.event_id], "id", payload.take("Q"), None)
            payload.finish()
        elif record.provider not in (RUNTIME, RUNDOWN):
            return
        elif key in METHOD_EVENTS:
            self._method(record, METHOD_EVENTS[key])
        elif key in MAP_EVENTS:
            payload = Payload(record)
            method_id, _, _, count = payload.take("Q"), payload.take("Q"), payload.take("B"), payload.take("H")
            payload.at += 8 * count
            self._refer(record, MAP_EVENTS[key], "id", method_id, payload.take("H"))
            payload.finish()
        elif key in MODULE_EVENTS:
            self._module(record)
        elif record.provider == RUNDOWN and record.event_id in MARKS:
            which, complete = MARKS[record.event_id]
            self.rundowns[(record.pid, Payload(record).take("H"), which)] = complete
        elif record.provider == RUNTIME:
            self._runtime_event(record)

    def _runtime_event(self, record):
        payload = Payload(record)
        pointer = "I" if record.header.endswith("32") else "Q"
        if record.event_id == 72:
            self._refer(record, "MethodDetails", "id", payload.take("Q"), None)
        elif record.event_id == 89:
            clr, _, method_id = payload.take("H"), payload.take("Q"), payload.take("Q")
            self._refer(record, "ILStubCacheHit", "id", method_id, clr)
        elif record.event_id == 80:
            payload.text(), payload.text()
            address, _, _, clr = payload.take(pointer), payload.take("I"), payload.take("H"), payload.take("H")
            payload.finish()
            self._refer(record, "ExceptionThrown", "address", address, clr)
        elif record.event_id == 82:
            clr, _, count = payload.take("H"), payload.take("H"), payload.take("I")
            for frame in range(count):
                self._refer(record, "CLRStackWalk", "address", payload.take(pointer), clr, frame)
            payload.finish()
        elif record.event_id == 145:
            method_id = payload.take("Q")
            payload.at += 16
            names = (payload.text(), payload.text(), payload.text())
            self.jitting[(self._instance(record), method_id, payload.take("H"))] = names
            payload.finish()

    def _instance(self, record):
        return record.pid, self.owners.find(record.pid, record.timestamp)

    def _refer(self, record, event, kind, value, clr, frame=0, pid=None, tid=None):
        pid = record.pid if pid is None else pid
        self.references.append({"event": event, "ts": record.timestamp, "cpu": record.buffer.cpu, "pid": pid,
                                "tid": record.tid if tid is None else tid, "kind": kind, "frame": frame,
                                "clr_instance": clr, "value": value,
                                "instance": (pid, self.owners.find(pid, record.timestamp))})

    def _method(self, record, event):
        payload = Payload(record)
        method = {"pid": record.pid, "instance": self._instance(record), "method_id": payload.take("Q"),
                  "module": payload.take("Q"), "start": payload.take("Q"), "size": payload.take("I"),
                  "token": payload.take("I"), "flags": payload.take("I"), "clr_instance": None, "rejit": 0,
                  "learnt_by": event, "from": None, "to": NEVER}
        names = (payload.text(), payload.text(), payload.text()) if event.endswith("Verbose") else None
        if record.version >= 1:
            method["clr_instance"] = payload.take("H")
        if record.version >= 2:
            method["rejit"] = payload.take("Q")
        payload.finish()
        if record.header.endswith("32"):
            self.narrow.add(method["instance"])
        now = record.timestamp
        mine = self._by_instance[method["instance"]]
        low, high = self._range(method)

        def same(other):
            return (other["method_id"], other["start"], other["rejit"]) == (
                method["method_id"], method["start"], method["rejit"]) and same_runtime(other, method)

        def overlaps(other):
            begin, end = self._range(other)
            return begin < high and low < end

        open_ones = [other for other in mine if other["to"] == NEVER]
        known = next((other for other in open_ones if same(other)), None)
        if event.startswith("MethodLoad"):
            for other in open_ones:
                if overlaps(other):
                    other["to"] = now
            method["from"] = now
            known = None
        elif known is None:
            method["from"] = max((other["to"] for other in mine if other["to"] != NEVER and overlaps(other)),
                                 default=ALWAYS)
        found = known or method
        if event.startswith("MethodUnload"):
            found["to"] = now
        if known is None:
            method["number"] = len(self.methods)
            self.methods.append(method)
            mine.append(method)
            self._by_id[(method["instance"], method["method_id"])].append(method)
        if names:
            found.setdefault("names", names)
            self.names.setdefault((method["instance"], method["method_id"], method["clr_instance"]), []).append(names)

    def _range(self, method):
        start = method["start"] & 0xFFFFFFFF if method["instance"] in self.narrow else method["start"]
        return start, start + method["size"]

    def _module(self, record):
        payload = Payload(record)
        module_id = payload.take("Q")
        payload.at += 16
        module = {"pid": record.pid, "module_id": module_id, "il_path": payload.text(),
                  "native_path": payload.text(), "clr_instance": payload.take("H"), "pdb_guid": payload.guid(),
                  "pdb_age": payload.take("I"), "pdb_path": payload.text(), "native_pdb_guid": payload.guid(),
                  "native_pdb_age": payload.take("I"), "native_pdb_path": payload.text()}
        payload.finish()
        self.modules.append((record.provider, record.event_id, record.timestamp, module))
        if (record.provider, record.event_id) != (RUNTIME, 153):
            return
        for method in self._by_instance[self._instance(record)]:
            if method["to"] == NEVER and method["module"] == module_id and method["clr_instance"] in (
                    None, module["clr_instance"]):
                method["to"] = record.timestamp

    def _answer(self):
        for reference in self.references:
            if reference["kind"] == "id":
                candidates = [method for method in self._by_id.get((reference["instance"], reference["value"]), ())
                              if same_runtime(method, reference)]
            else:
                candidates = []
                for method in self._by_instance.get(reference["instance"], ()):
                    low, high = self._range(method)
                    if low <= reference["value"] < high:
                        candidates.append(method)
            self._answer_one(reference, candidates)

    @staticmethod
    def _answer_one(reference, candidates):
        now = reference["ts"]
        by_id = reference["kind"] == "id"
        alive = [method for method in candidates if method["from"] <= now < method["to"]]
        later = [method for method in candidates if method["from"] > now and (by_id or method["from"] - now <= SLACK)]
        earlier = [method for method in candidates if method["to"] <= now] if by_id else []
        reference["alive"] = len(alive) if by_id else 0
        if alive:
            best = max(method["from"] for method in alive)
            reference["methods"] = [method["number"] for method in alive if method["from"] == best]
            reference["outcome"] = "ambiguous" if by_id and len(alive) > 1 else "exact"
        elif later:
            best = min(method["from"] for method in later)
            reference["methods"] = [method["number"] for method in later if method["from"] == best]
            reference["outcome"] = "backfilled"
        elif earlier:
            best = max(method["to"] for method in earlier)
            reference["methods"] = [method["number"] for method in earlier if method["to"] == best]
            reference["outcome"] = "stale"
        else:
            reference["methods"] = []
            reference["outcome"] = "unknown"


def compare(code, truth):
    """What the truth says otherwise than the bytes do; a list of sentences."""
    failures = []
    numbers = defaultdict(list)  # key -> numbers in the truth
    for number, method in enumerate(truth["methods"]):
        if method["learnt_by"]:
            numbers[(method["pid"], method["clr_instance"], int(method["method_id"], 16),
                                int(method["start"], 16), method["rejit"], method["from_ts"],
                                method["to_ts"])].append(number)
    told = sum(len(group) for group in numbers.values())
    if not truth["methods_truncated"] and told != len(code.methods):
        failures.append(f"methods: reader {len(code.methods)}, truth {told}")
    to_truth = {}
    for method in code.methods:
        begin = None if method["from"] == ALWAYS else method["from"]
        end = None if method["to"] == NEVER else method["to"]
        key = (method["pid"], method["clr_instance"], method["method_id"], method["start"],
                          method["rejit"], begin, end)
        if not numbers[key]:
            if not truth["methods_truncated"]:
                failures.append(f"method {method}: not in the truth")
            continue
        number = numbers[key].pop(0)
        to_truth[method["number"]] = number
        failures += _compare_method(code, method, truth["methods"][number], truth["methods_truncated"])
    for key, rest in numbers.items():
        if rest and not truth["methods_truncated"]:
            failures.append(f"method {key}: not in the trace")
    failures += _compare_references(code, truth, to_truth)
    failures += _compare_modules(code, truth)
    rundowns = {(entry["pid"], entry["clr_instance"], entry["which"]): entry["complete"] for entry in truth["rundowns"]}
    if rundowns != code.rundowns:
        failures.append(f"rundowns: reader {code.rundowns}, truth {rundowns}")
    return failures


def _compare_method(code, method, expected, truncated):
    failures = []
    for key in ("size", "learnt_by"):
        if method[key] != expected[key]:
            failures.append(f"{key} of {method}: truth {expected[key]}")
    if (hex(method["flags"]), method["flags"] >> 7 & 7) != (expected["flags"], expected["tier"]):
        failures.append(f"flags of {method}: truth {expected['flags']}, tier {expected['tier']}")
    names = (expected["namespace"], expected["name"], expected["signature"])
    where = (method["instance"], method["method_id"], method["clr_instance"])
    named_by = None
    if names in code.names.get(where, ()):
        named_by = "method"
    elif code.jitting.get(where) == names:
        named_by = "jitting"
    # Versions that the truth leaves out may have lent their names.
    if named_by != expected["named_by"] and not truncated or method.get("names", names) != names:
        failures.append(f"names of {method}: {named_by}, truth {names} by {expected['named_by']}")
    return failures


def _compare_references(code, truth, to_truth):
    failures = []
    fields = ("event", "ts", "cpu", "pid", "kind", "frame", "clr_instance", "value")
    read = defaultdict(list)
    for reference in code.references:
        read[tuple(reference[field] for field in fields)].append(reference)
    for entry in truth["references"]:
        entry = dict(entry, value=int(entry["value"], 16))
        group = read[tuple(entry[field] for field in fields)]
        if not group:
            failures.append(f"reference {entry}: not in the trace")
            continue
        reference = group.pop()
        answers = [to_truth.get(number) for number in reference["methods"]]
        expected = [] if entry["method"] is None else [entry["method"]]
        if (entry["outcome"], entry["alive"]) != (reference["outcome"], reference["alive"]) or bool(answers) != bool(
                expected) or (expected and entry["method"] not in answers):
            failures.append(f"reference {entry}: reader {reference} = methods {answers}")
    if not truth["references_truncated"]:
        # Samples of processes without .NET are no references.
        pids = {entry["pid"] for entry in truth["references"]}
        rest = [reference for group in read.values() for reference in group
                if reference["event"] != "SampledProfile" and reference["pid"] in pids]
        if rest:
            failures.append(f"{len(rest)} references are not in the truth, the first: {rest[0]}")
    return failures


def _compare_modules(code, truth):
    failures = []
    for entry in truth["modules"]:
        entry = dict(entry, module_id=int(entry["module_id"], 16))
        load, unload = entry.pop("load"), entry.pop("unload")
        mine = [(provider, event_id, ts) for provider, event_id, ts, module in code.modules if module == entry]
        if not mine:
            failures.append(f"module {entry}: not in the trace")
        for ts, event_id in ((load, 152), (unload, 153)):
            times = [at for provider, number, at in mine if (provider, number) == (RUNTIME, event_id)]
            if times != ([] if ts is None else [ts]):
                failures.append(f"module {entry}: event {event_id} at {ts}: reader {mine}")
    return failures

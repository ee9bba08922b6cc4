#!/usr/bin/env python3
"""Compares what `stats`, `dump` and `info` say of real recordings with what PerfView and other readers see in them
(expected/*.json)."""

import re
from collections import Counter

from samples import SAMPLES, expected, run_checks, sample_path

# PerfView's name of the kernel's provider where it has no name of its own.
PERFVIEW_KERNEL = "MSNT_SystemTrace/"

# What PerfView calls fields that MOF calls otherwise: of the kernel's events, and of single events.
PERFVIEW_FIELDS = {"ProcessID": "ProcessId", "ParentID": "ParentId", "SessionID": "SessionId",
                   "PageDirectoryBase": "DirectoryTableBase", "FileKey": "FileObject"}
PERFVIEW_FIELDS_OF = {
    "ImageID/DbgID_RSDS": {"PDBFileName": "PdbFileName"},
    "PerfInfo/CollectionStart": {"SampleSource": "Source"},
    # PerfView prints the affinity under this name.
    "Thread/Start": {"StartAddr": "Affinity"},
    "Thread/Stop": {"StartAddr": "Affinity"},
    "GC/MarkWithType": {"Promoted": "Bytes"},
}

# What no schema describes, by sample: events of each provider. Neither the file nor a public source describes them.
OPAQUE = {"diaghub.kernel.1": {"6f669bfa-816a-4204-a824-47c8e6a00474": 1}}


def kind_key(kind):
    return kind["header"], kind["provider"], kind["id"], kind["opcode"], kind["version"]


def row_name(row):
    return f"{row.get('provider_name')}/{row.get('name')}"


def names(program):
    """stats: every kind has the name and the count that PerfView gives it."""
    compared = 0
    for sample, facts in expected("perfview-kinds").items():
        if sample.startswith("_"):
            continue
        by_kind = {kind_key(row): row for row in program.json("stats", "--format", "json", sample_path(sample))["kinds"]}
        by_name = {}
        for row in program.json("stats", "--format", "json", "--by", "name", sample_path(sample))["names"]:
            name = row_name(row)
            if row["name"] is not None and name in by_name:
                yield f"{sample}: {name} has two rows"
            by_name[name] = row["count"]
        counts = Counter()
        totals = Counter()
        for entry in facts["kinds"]:
            wanted = entry["perfview_name"].replace(PERFVIEW_KERNEL, "Windows Kernel/")
            for kind in entry["from"]:
                compared += 1
                counts[kind_key(kind)] += kind["count"]
                row = by_kind.get(kind_key(kind))
                if row is None:
                    yield f"{sample}: no row for {kind_key(kind)} ({wanted})"
                elif row_name(row) != wanted:
                    yield f"{sample}: {kind_key(kind)} is {row_name(row)}, PerfView: {wanted}"
            totals[wanted] += entry["count"]
        # What PerfView does not list may share its kind or its name with what it does.
        for kind in facts["not_shown"]:
            counts[kind_key(kind)] += kind["count"]
            name = row_name(by_kind.get(kind_key(kind), {}))
            if name in totals:
                totals[name] += kind["count"]
        for kind in set(counts) | set(by_kind):
            if by_kind.get(kind, {}).get("count", 0) != counts[kind]:
                yield f"{sample}: {by_kind.get(kind)}, expected {counts[kind]} events of {kind}"
        for name, count in totals.items():
            if by_name.get(name) != count:
                yield f"{sample}: stats --by name: {by_name.get(name)} x {name}, expected {count}"
    if compared < 200:
        yield f"only {compared} kinds compared"


def event_key(event):
    id_key = "event_id" if "event_id" in event else "id"
    return (event["ts"], event["cpu"], event["header"], event["provider"], event[id_key], event["opcode"],
            event["version"])


def wanted_events(program, entries_by_sample):
    """Yields (sample, entry, events that could be it). One dump a sample."""
    for sample, entries in entries_by_sample.items():
        wanted = {event_key(entry) for entry in entries}
        found = {}
        for event in program.events("--payload", "hex", sample_path(sample)):
            if event_key(event) in wanted:
                found.setdefault(event_key(event), []).append(event)
        for entry in entries:
            yield sample, entry, found.get(event_key(entry), [])


def raw(value):
    """A value without the name that a map gives it."""
    return value["value"] if isinstance(value, dict) and set(value) == {"value", "name"} else value


def number(text):
    """An integer as PerfView, the expected files or we write it; None if it is none."""
    if isinstance(text, bool):
        return int(text)
    if isinstance(text, int):
        return text
    if isinstance(text, str) and re.fullmatch(r"-?\d+|0x[0-9a-f]+", text):
        return int(text, 0) if text.startswith("0x") else int(text)
    return None


def same(ours, theirs):
    """Whether our JSON value says what the text of an expected file says."""
    ours = raw(ours)
    if isinstance(theirs, list):
        return same_list(ours, theirs)
    left, right = number(ours), number(theirs)
    if left is not None and right is not None:
        return left == right
    if isinstance(ours, float) and not isinstance(ours, bool):
        return ours == float(theirs)
    return isinstance(ours, str) and ours == theirs


def same_list(ours, theirs):
    """Members of a struct (each with its name) or elements of an array."""
    if theirs and isinstance(theirs[0], dict):
        return (hasattr(ours, "pairs") and [name for name, _ in ours.pairs] == [item["name"] for item in theirs]
                and all(same(value, item["value"]) for (_, value), item in zip(ours.pairs, theirs)))
    return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))


def same_as_perfview(ours, theirs):
    """PerfView has 32-bit values signed that are not, and a SYSTEMTIME here has its day of the week beside it."""
    if same(ours, theirs):
        return True
    left, right = number(raw(ours)), number(theirs)
    if left is not None and right is not None:
        return right < 0 and left == right + (1 << 32)
    return ours == re.sub(r" \(dow \d\)$", "Z", theirs)


def perfview_field(event, name):
    """Our name of a field that PerfView calls `name`."""
    own = PERFVIEW_FIELDS_OF.get(event.split("/", 1)[1], {}) if "/" in event else {}
    return own.get(name, PERFVIEW_FIELDS.get(name, name) if event.startswith("Windows Kernel/") else name)


def perfview_values(program):
    """dump: fields have the values that PerfView shows."""
    by_sample = {}
    if len(expected("perfview-fields")["entries"]) < 100:
        yield "the expected file has few entries"
    for entry in expected("perfview-fields")["entries"]:
        by_sample.setdefault(entry["sample"], []).append(entry)
    for sample, entry, candidates in wanted_events(program, by_sample):
        where = f"{sample}: {entry['perfview_name']} at {entry['ts']}"
        event = next((event for event in candidates if event["payload"] == entry["payload_hex"]), None)
        if event is None:
            yield f"{where}: not in the dump"
            continue
        name = f"{event['provider_name']}/{event['name']}"
        if name != entry["perfview_name"].replace(PERFVIEW_KERNEL, "Windows Kernel/"):
            yield f"{where}: is called {name}"
        fields = event["fields"]
        if "_extra" in fields:
            yield f"{where}: bytes left over"
        for theirs, value in entry["fields"].items():
            ours = perfview_field(name, theirs)
            if ours not in fields:
                yield f"{where}: no field {theirs}; there are {' '.join(fields)}"
            elif not same_as_perfview(fields[ours], value):
                yield f"{where}: {theirs} is {fields[ours]!r}, PerfView: {value!r}"


def decoded_strings(program):
    """dump: names, order and values of fields are those of the self-describing and other events of strings.json."""
    by_sample = {sample: entries for sample, entries in expected("strings").items() if not sample.startswith("_")}
    if sum(map(len, by_sample.values())) < 200:
        yield "the expected file has few entries"
    for sample, entry, candidates in wanted_events(program, by_sample):
        where = f"{sample}: {entry['event']} at {entry['ts']}"
        wanted = entry["fields"]
        names_wanted = [field["name"] for field in wanted]
        complaints = []
        for event in candidates:
            pairs = event["fields"].pairs if event["fields"] is not None else []
            # Kernel entries name a part of the fields; the order must be theirs all the same.
            if entry["basis"] == "kernel":
                pairs = [(name, value) for name, value in pairs if name in names_wanted]
            if [name for name, _ in pairs] != names_wanted:
                complaints.append(f"{where}: fields {[name for name, _ in event['fields'].pairs]}, expected {names_wanted}")
                continue
            complaints += [f"{where}: {name} is {value!r}, expected {field['value']!r}"
                           for (name, value), field in zip(pairs, wanted) if not same(value, field["value"])]
            if entry["basis"] == "tracelogging" and (event["provider_name"], event["name"]) != (
                    entry["provider_name"], entry["event"]):
                complaints.append(f"{where}: is called {event['provider_name']}/{event['name']}")
            if not complaints:
                break
        if not candidates:
            yield f"{where}: not in the dump"
        elif complaints:
            yield complaints[-1]


def opaque(program):
    """info: no event is opaque but those of providers that nothing describes."""
    for sample in SAMPLES:
        facts = program.json("info", "--format", "json", sample_path(sample))
        wanted = OPAQUE.get(sample, {})
        found = {row["provider"]: row["opaque"] for row in facts["providers"] if row["opaque"] != 0}
        for provider, count in found.items():
            print(f"  opaque in {sample}: {count} events of {provider}")
        if found != wanted:
            yield f"{sample}: opaque are {found}, expected {wanted}"
        if facts["events"]["opaque"] != sum(wanted.values()):
            yield f"{sample}: {facts['events']['opaque']} opaque events, expected {sum(wanted.values())}"


if __name__ == "__main__":
    run_checks(__doc__, names, perfview_values, decoded_strings, opaque)

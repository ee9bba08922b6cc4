#!/usr/bin/env python3
"""Compares `--where` over decoded events with the same conditions in Python over the fields that `dump` prints."""

import re

from samples import run_checks, sample_path


def value(event, name):
    """A top-level field as a number or text; None where the event lacks it."""
    found = (event["fields"] or {}).get(name)
    if isinstance(found, dict) and set(found) == {"value", "name"}:
        found = found["value"]
    if isinstance(found, str) and re.fullmatch(r"0x[0-9a-f]+", found):
        return int(found, 16)
    return found


def named(event, name):
    """The name of a field's value."""
    found = (event["fields"] or {}).get(name)
    return found["name"] if isinstance(found, dict) and set(found) == {"value", "name"} else None


def number(event, name):
    found = value(event, name)
    if isinstance(found, str) and re.fullmatch(r"-?\d+", found):
        return int(found)
    return found if isinstance(found, (int, float)) else None


def has_number(event, name, test):
    found = number(event, name)
    return found is not None and test(found)


def kind(event):
    return None if event["name"] is None else f"{event['provider_name']}/{event['name']}"


CONDITIONS = {
    "DynamicEvents": (
        ("payload.Type == 3", lambda e: number(e, "Type") == 3),
        ("payload.Bytes > 100000 and name == 'GC/MarkWithType'",
         lambda e: e["name"] == "GC/MarkWithType" and has_number(e, "Bytes", lambda n: n > 100000)),
        ("payload.Type == 'Older'", lambda e: named(e, "Type") == "Older"),
        ("payload.Depth != 0", lambda e: has_number(e, "Depth", lambda n: n != 0)),
        ("payload.ThreadName =~ '^[.]NET'", lambda e: (value(e, "ThreadName") or "").startswith(".NET")),
        ("payload.UserStackBase == 0", lambda e: number(e, "UserStackBase") == 0),
        ("payload.StackBase >= 0xfffffd0f93000000", lambda e: has_number(e, "StackBase",
                                                                         lambda n: n >= 0xfffffd0f93000000)),
        ("has(payload.ThreadName) and not payload.ThreadName == ''",
         lambda e: value(e, "ThreadName") not in (None, "")),
        ("payload.threadname == '.NET TP Worker'", lambda e: value(e, "ThreadName") == ".NET TP Worker"),
        ("kind == 'PerfView/ProviderEnableParameters'", lambda e: kind(e) == "PerfView/ProviderEnableParameters"),
        ("provider_name == 'PerfView' or kind =~ '/Process/'",
         lambda e: e["provider_name"] == "PerfView" or "/Process/" in (kind(e) or "")),
        ("payload.providerGuid == 1095638c-8748-4c7a-b39e-baea27b9c589",
         lambda e: value(e, "providerGuid") == "1095638c-8748-4c7a-b39e-baea27b9c589"),
        ("payload.UserSID == 'S-1-5-18'", lambda e: value(e, "UserSID") == "S-1-5-18"),
        ("payload.BasePriority in (8, 9) and payload.PagePriority & 1",
         lambda e: number(e, "BasePriority") in (8, 9) and has_number(e, "PagePriority", lambda n: n & 1)),
        ("payload.ExitStatus < 259", lambda e: has_number(e, "ExitStatus", lambda n: n < 259)),
        ("provider == 'Microsoft-Windows-DotNETRuntime' and keyword & GCKeyword",
         lambda e: e["provider_name"] == "Microsoft-Windows-DotNETRuntime" and int(e["keyword"], 16) & 1),
    ),
    "KernelNetwork": (
        ("payload.PID == 2716 and payload.size == 1460",
         lambda e: number(e, "PID") == 2716 and number(e, "size") == 1460),
        ("payload.daddr == '157.56.244.38'", lambda e: value(e, "daddr") == "157.56.244.38"),
        ("payload.daddr =~ '^(fe80|ff02|2001):'",
         lambda e: re.match("(fe80|ff02|2001):", value(e, "daddr") or "") is not None),
        ("payload.dport in (443, 500)", lambda e: number(e, "dport") in (443, 500)),
        ("payload.sport > 60000 and not has(payload.endtime)",
         lambda e: has_number(e, "sport", lambda n: n > 60000) and value(e, "endtime") is None),
        ("payload.endtime != 0", lambda e: has_number(e, "endtime", lambda n: n != 0)),
    ),
    "diaghub.kernel.1": (
        ("payload.FileName =~ '(?i)\\\\system32\\\\'",
         lambda e: "\\system32\\" in (value(e, "FileName") or "").lower()),
        ("payload.ImageBase > 0x7fffffffffffffff", lambda e: has_number(e, "ImageBase", lambda n: n > (1 << 63) - 1)),
        ("payload.ProcessId == 4 and payload.ImageSize >= 0x10000",
         lambda e: number(e, "ProcessId") == 4 and has_number(e, "ImageSize", lambda n: n >= 0x10000)),
        ("payload.ImageFileName == 'svchost.exe'", lambda e: value(e, "ImageFileName") == "svchost.exe"),
        ("payload.ExitStatus == 259 or payload.ExitStatus == -1073741510",
         lambda e: number(e, "ExitStatus") in (259, -1073741510)),
        ("not has(name)", lambda e: e["name"] is None),
    ),
    "primitive-types": (
        ("payload.boolean_type == true", lambda e: value(e, "boolean_type") is True),
        ("payload.boolean_type == false", lambda e: value(e, "boolean_type") is False),
        ("payload.int16_type == -95", lambda e: number(e, "int16_type") == -95),
        ("payload.int64_type > 18446744073709551236", lambda e: has_number(e, "int64_type",
                                                                           lambda n: n > 18446744073709551236)),
        ("payload.string_type in ('Venus', 'Earth')", lambda e: value(e, "string_type") in ("Venus", "Earth")),
        ("payload.file_time_type == '2021-09-09T14:59:35.7990000Z'",
         lambda e: value(e, "file_time_type") == "2021-09-09T14:59:35.7990000Z"),
    ),
    "SelfDescribingSingleEvent": (
        ("payload.a.b =~ '.'", lambda e: isinstance(value(e, "a"), dict) and value(e, "a").get("b", "") != ""),
        ("has(payload.a)", lambda e: isinstance(value(e, "a"), dict)),
    ),
}


def filters(program):
    """dump --where: keeps exactly the events for which the condition is true of what dump prints."""
    for sample, conditions in CONDITIONS.items():
        events = program.events(sample_path(sample))
        for expression, holds in conditions:
            wanted = [event["id"] for event in events if holds(event)]
            found = [event["id"] for event in program.events("--where", expression, sample_path(sample))]
            if found != wanted:
                first = next(iter(set(found) ^ set(wanted)), "the order")
                yield f"{sample}: {expression}: {len(found)} events, expected {len(wanted)}; differs: {first}"
            if not wanted or len(wanted) == len(events):
                yield f"{sample}: {expression}: tests nothing, {len(wanted)} of {len(events)} events"


def processes(program):
    """dump --where process: as many events as stats --by process counts, but for the log-file header record."""
    for sample in ("DynamicEvents", "diaghub.kernel.1"):
        counts = {}
        for row in program.json("stats", "--format", "json", "--by", "process", sample_path(sample))["processes"]:
            if row["process"] is not None:
                counts[row["process"]] = counts.get(row["process"], 0) + row["count"]
        if not counts:
            yield f"{sample}: no processes"
        missing = {}
        for image, count in counts.items():
            found = len(program.events("--no-fields", "--where", f"process == '{image}'", sample_path(sample)))
            if found != count:
                missing[image] = count - found
        if list(missing.values()) not in ([], [1]):
            yield f"{sample}: stats counts more than dump keeps: {missing}"


if __name__ == "__main__":
    run_checks(__doc__, filters, processes)

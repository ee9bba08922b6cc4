#!/usr/bin/env python3
"""`etwpipe analyze` against the definitions: every activity of a trace as an independent reader and a brute force
reference see it (tests/oracle/activity_pairs.py, activity_values.py), and every value of every row."""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))

import activity_pairs
import activity_traces
import activity_values
import samples
from etl_reader import Trace

FIELDS = ("parent", "pid", "tid", "processor", "kind", "start", "stop", "duration", "exclusive_duration", "cpu",
          "exclusive_cpu", "responsibility", "exclusive_responsibility", "flags")
# Where a clock steps back, the program divides the time of its walk, which cannot: the shares differ, their sum does not.
PLACES = ("pid", "tid", "processor", "kind", "start", "stop", "duration")
COUNTED = ("unterminated", "truncated_start", "unbalanced", "migrated", "negative", "late_children")


SAMPLES = ("net.4.5.2.x64", "DynamicEvents", "gcevents")


def reference_of(path):
    """id -> row as `analyze` should print it, and totals."""
    trace = Trace(path.read_bytes())
    pairs = activity_pairs.activities_of(list(trace.merged()), trace.header["frequency"])
    covered, switches = activity_values.values_of(pairs)
    rows = {}
    complaints = []
    for activity in pairs.found:
        # The exact share, which rounding may miss by one tick.
        if abs(activity.exclusive_responsibility - activity.exact) > 1:
            complaints.append(f"{activity.id}: {activity.exclusive_responsibility} for {activity.exact}")
        assert str(activity.id) not in rows
        rows[str(activity.id)] = {
            "name": activity.name, "parent": str(activity.parent.id) if activity.parent else None, "pid": activity.pid,
            "tid": activity.tid, "processor": activity.processor, "kind": activity.kind, "start": activity.start,
            "stop": activity.stop, "duration": activity.end - activity.start,
            "exclusive_duration": activity.exclusive_duration, "cpu": activity.cpu,
            "exclusive_cpu": activity.exclusive_cpu, "responsibility": activity.responsibility,
            "exclusive_responsibility": activity.exclusive_responsibility, "flags": sorted(activity.flags)}
    totals = {"activities": len(rows), "covered": covered, "switches_lost": len(switches.lost),
              "responsibility": sum(row["exclusive_responsibility"] for row in rows.values())}
    for flag in COUNTED:
        totals[flag] = sum(flag in row["flags"] for row in rows.values())
    if switches.count == 0:
        totals["cpu_time"] = "none"
    if totals["responsibility"] != covered:
        complaints.append(f"reference: {totals['responsibility']} of {covered} ticks")
    return rows, totals, complaints


def compare(program, path, fields):
    """Complaints, and the rows as printed."""
    rows, totals, complaints = reference_of(path)
    printed = json.loads(subprocess.run([program, "analyze", "--format", "json", path], check=True,
                                        stdout=subprocess.PIPE).stdout)
    found = {row["event_instance_id"]: row for row in printed["activities"]}
    if len(found) != len(printed["activities"]):
        complaints.append("ids are not unique")
    for id in sorted(rows.keys() - found.keys(), key=int):
        complaints.append(f"{id}: not listed: {rows[id]}")
    for id in sorted(found.keys() - rows.keys(), key=int):
        complaints.append(f"{id}: no activity: {found[id]}")
    for id in sorted(rows.keys() & found.keys(), key=int):
        wanted, got = rows[id], dict(found[id], flags=sorted(found[id]["flags"]))
        wrong = [f"{field} {got[field]}, not {wanted[field]}" for field in fields if got[field] != wanted[field]]
        if wanted["name"] not in (None, got["name"]):
            wrong.append(f"name {got['name']}, not {wanted['name']}")
        if wrong:
            complaints.append(f"{id} ({got['name']}): {'; '.join(wrong)}")
    if fields == FIELDS:
        complaints += [f"totals: {key} {printed['totals'][key]}, not {value}" for key, value in totals.items()
                       if printed["totals"][key] != value]
    given = sum(row["exclusive_responsibility"] for row in found.values())
    if not given == printed["totals"]["covered"] == printed["totals"]["responsibility"]:
        complaints.append(f"shares add up to {given}: {printed['totals']}")
    return complaints, list(found.values())


def traces(options, folder):
    """(name, path, fields to compare) of every trace."""
    for scenario in ("build", "switches", "clr", "mixed"):
        for seed in range(1, options.seeds + 1):
            path = folder / f"{scenario}-{seed}.etl"
            subprocess.run([options.tracegen, "--scenario", scenario, "--size", "1MiB", "--seed", str(seed), "-o", path],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            yield path.name, path, FIELDS
    for kind, arguments in activity_traces.KINDS.items():
        for seed in range(1, options.seeds + 1):
            path = folder / f"{kind}-{seed}.etl"
            path.write_bytes(activity_traces.make(seed, **arguments))
            yield path.name, path, PLACES if kind == "back" else FIELDS
    for sample in SAMPLES:
        path = samples.sample_path(sample)
        if path.exists():
            yield path.name, path, FIELDS
        else:
            print(f"SKIPPED {sample}: no test data at {samples.DATA}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    parser.add_argument("--tracegen", required=True, type=Path, help="the built generator")
    parser.add_argument("--seeds", type=int, default=2, help="traces of each kind")
    options = parser.parse_args()
    failed = 0
    flags = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="etwpipe-activities-") as folder:
        for name, path, fields in traces(options, Path(folder)):
            complaints, rows = compare(options.program, path, fields)
            flags.update(flag for row in rows for flag in row["flags"])
            flags["cpu"] += sum(row["cpu"] != 0 for row in rows)
            if len(rows) < 3:
                complaints.append(f"only {len(rows)} activities")
            failed += bool(complaints)
            print(f"{'FAILED' if complaints else 'ok'}  {name}: {len(rows)} activities, {len(complaints)} complaints")
            for complaint in complaints[:10]:
                print(f"    {complaint}")
    print(f"seen: {dict(flags)}")
    unseen = {*COUNTED, "coarse", "lost_events", "cpu"} - flags.keys()
    if unseen:
        print(f"FAILED: no activity with {sorted(unseen)}")
    return 1 if failed or unseen else 0


if __name__ == "__main__":
    sys.exit(main())

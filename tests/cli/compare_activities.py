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
import activity_values
from etl_reader import Trace

FIELDS = ("parent", "pid", "tid", "processor", "kind", "start", "stop", "duration", "exclusive_duration", "cpu",
          "exclusive_cpu", "responsibility", "exclusive_responsibility", "flags")
COUNTED = ("unterminated", "truncated_start", "unbalanced", "migrated", "negative", "late_children")


def reference_of(path):
    """id -> row as `analyze` should print it, and totals."""
    trace = Trace(path.read_bytes())
    pairs = activity_pairs.activities_of(list(trace.merged()), trace.header["frequency"])
    covered, switches = activity_values.values_of(pairs)
    rows = {}
    complaints = []
    for activity in pairs.found:
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
    if (switches.count == 0) != (False):
        totals["cpu_time"] = "none"
    if totals["responsibility"] != covered:
        complaints.append(f"reference: {totals['responsibility']} of {covered} ticks")
    return rows, totals, complaints


def compare(program, path):
    """Complaints, and how many rows were compared."""
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
        wanted, got = rows[id], dict(found[id])
        got["flags"] = sorted(got["flags"])
        wrong = [f"{field} {got[field]}, not {wanted[field]}" for field in FIELDS if got[field] != wanted[field]]
        if wanted["name"] is not None and wanted["name"] != got["name"]:
            wrong.append(f"name {got['name']}, not {wanted['name']}")
        if wrong:
            complaints.append(f"{id} ({got['name']}): {'; '.join(wrong)}")
    complaints += [f"totals: {key} {printed['totals'][key]}, not {value}" for key, value in totals.items()
                   if printed["totals"][key] != value]
    flags = collections.Counter(flag for row in found.values() for flag in row["flags"])
    return complaints, len(rows), flags


if __name__ == "__main__":
    for name in sys.argv[2:]:
        complaints, count, flags = compare(sys.argv[1], Path(name))
        print(name, count, dict(flags), len(complaints))
        for c in complaints[:12]: print("   ", c[:600])

#!/usr/bin/env python3
"""Compares `stats` and `dump` with what tests/oracle/make_cases.py says it wrote. Prints what differs, then how many
files were compared."""

import json
import subprocess
import sys
from pathlib import Path


def output(*command):
    return subprocess.run(["etwpipe", *command], check=True, capture_output=True, text=True).stdout


def kind_set(counts):
    keys = ("header", "provider", "id", "opcode", "version", "count", "bytes")
    return {tuple(kind[key] for key in keys) for kind in counts["kinds"]}


def as_printed(value):
    """Integers beyond 2^53 are strings in our JSON."""
    return str(value) if isinstance(value, int) and abs(value) > 1 << 53 else value


def compare(trace, truth):
    """Complaints about one file."""
    stats = json.loads(output("stats", "--format", "json", trace))
    expected = truth["counts"]
    for key in ("events", "buffers"):
        if stats[key] != expected[key]:
            yield f"{key}: {stats[key]}, expected {expected[key]}"
    for kind in kind_set(stats) ^ kind_set(expected):
        yield f"kind: {kind}"
    events = [json.loads(line) for line in output("dump", "--format", "ndjson", "--payload", "hex", trace).splitlines()]
    if len(events) != len(truth["events"]):
        yield f"{len(events)} events, expected {len(truth['events'])}"
    for number, (event, wanted) in enumerate(zip(events, truth["events"])):
        wrong = {key: (event.get(key), value) for key, value in wanted.items()
                 if event.get(key) != as_printed(value)}
        if wrong:
            yield f"event {number}: {wrong}"
            return


def main():
    compared = 0
    for truth_path in sorted(Path(sys.argv[1]).glob("*.json")):
        truth = json.loads(truth_path.read_text())
        if truth.get("ambiguous"):
            continue
        compared += 1
        for complaint in compare(truth_path.with_suffix(".etl"), truth):
            print(f"{truth_path.stem}: {complaint}")
    print(f"{compared} files compared")


if __name__ == "__main__":
    main()

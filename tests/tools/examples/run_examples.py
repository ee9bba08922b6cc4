#!/usr/bin/env python3
"""Runs the example programs on a generated trace of a build.

What they print is compared with what follows from the events that `etwpipe dump` shows and from the generator's truth.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTION = 15
FRONT_END_FILE = 13
BUILD_PROVIDER = "etwpipe.ingest"


def run(*command):
    """The lines a program prints; it must succeed and say nothing else."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{command[0]} exits with {done.returncode}: {done.stderr}")
    return done.stdout.splitlines()


def refused(*command, output=subprocess.PIPE):
    """The exit status and what is said on standard error of a program that must not succeed quietly."""
    done = subprocess.run([str(part) for part in command], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def generate(*command):
    subprocess.run([str(part) for part in command], capture_output=True, check=True)


def events(etwpipe, trace, where):
    return [json.loads(line) for line in run(etwpipe, "dump", "--format", "ndjson", "--where", where, trace)]


def activities(etwpipe, trace):
    """Activities of the build as (EventId, name, start, stop), stop null without one, in raw ticks."""
    found = {}
    for event in events(etwpipe, trace, f"provider == '{BUILD_PROVIDER}' and opcode != 0"):
        fields = event["fields"]
        if event["opcode"] == 1:
            found[fields["Instance"]] = [fields["EventId"], fields["Name"], event["ts"], None]
        else:
            found[fields["Instance"]][3] = event["ts"]
    return list(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--etwpipe", required=True)
    parser.add_argument("--tracegen", required=True)
    parser.add_argument("--examples", required=True, type=Path, help="folder of the example programs")
    arguments = parser.parse_args()
    failures = []

    def check(what, got, expected):
        if got != expected:
            failures.append(f"{what}:\n  got      {got}\n  expected {expected}")

    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "build.etl"
        truth_file = Path(folder) / "truth.json"
        generate(arguments.tracegen, "--scenario", "build", "--size", "4MiB", "-o", trace, "--truth", truth_file)
        truth = json.loads(truth_file.read_text())
        known = activities(arguments.etwpipe, trace)
        info = json.loads("\n".join(run(arguments.etwpipe, "info", "--format", "json", trace)))
        ticks_to_ns = 1_000_000_000 // info["clock"]["frequency"]

        printed = run(arguments.examples / "example_longest_functions", trace, 1_000_000)
        durations = sorted(((stop - start) * ticks_to_ns if stop else 0 for kind, _, start, stop in known
                            if kind == FUNCTION), reverse=True)
        check("durations of functions", [int(line.split()[0]) for line in printed], durations)
        names = {name for kind, name, _, _ in known if kind == FUNCTION}
        check("names of functions", {line.split(" ", 2)[2] for line in printed}, names)
        check("ten functions", run(arguments.examples / "example_longest_functions", trace), printed[:10])

        in_cpp = run(arguments.examples / "example_responsible_files", trace, 1_000_000)
        in_c = run(arguments.examples / "example_responsible_files_c", trace, 1_000_000)
        check("the C program prints what the C++ program prints", in_c, in_cpp)
        check("the most responsible file", in_cpp[0].split(" ", 2)[2], truth["planted"]["name"])
        files = [name for kind, name, _, _ in known if kind == FRONT_END_FILE]
        check("how often each file was read", {line.split(" ", 2)[2]: int(line.split()[1]) for line in in_cpp},
              {name: files.count(name) for name in files})

        marked = Path(folder) / "marked.etl"
        least_ns = 1_000_000
        slow = sorted([start, (stop - start) * ticks_to_ns] for _, _, start, stop in known
                      if stop and (stop - start) * ticks_to_ns >= least_ns)
        check("there are slow activities", len(slow) > 10, True)
        run(arguments.examples / "example_mark_slow_activities", trace, marked, least_ns // 1_000_000)
        marks = events(arguments.etwpipe, marked, "name == 'SlowActivity'")
        of_build = [mark for mark in marks if "/" not in mark["fields"]["Name"]]
        check("marked activities", sorted([mark["ts"], mark["fields"]["DurationNs"]] for mark in of_build), slow)
        before = run(arguments.etwpipe, "dump", "--format", "ndjson", trace)
        after = [line for line in run(arguments.etwpipe, "dump", "--format", "ndjson", marked)
                 if '"etwpipe.examples"' not in line]
        check("all records are kept, with their ids", sorted(after) == sorted(before), True)

        damaged = Path(folder) / "damaged.etl"
        damaged.write_bytes(trace.read_bytes()[:-40_000])
        for name in ("longest_functions", "responsible_files", "responsible_files_c"):
            example = arguments.examples / f"example_{name}"
            for number in ("ten", "-1", "10x"):
                check(f"{name} {number}", refused(example, trace, number)[0], 2)
            with open("/dev/full", "w") as full:
                check(f"{name} on a full disk", refused(example, trace, output=full)[0], 1)
            check(f"{name} of a damaged trace", "could not be read" in refused(example, damaged)[1], True)
        mark = arguments.examples / "example_mark_slow_activities"
        check("milliseconds", refused(mark, trace, Path(folder) / "new.etl", "-5")[0], 2)
        status, message = refused(mark, trace, marked, 1)
        check("an output that exists", (status, "exists already" in message), (2, True))

    for failure in failures:
        print(failure)
    print(f"{len(known)} activities, {len(slow)} slow ones: {'failed' if failures else 'passed'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

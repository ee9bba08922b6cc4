#!/usr/bin/env python3
"""Names of code: what enrich.method and enrich.stack say of a generated trace against the generator's own truth, which was
worked out by other rules in other code (tests/tracegen/TRUTH.md)."""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = (1, 5, 11)
# Names of events that carry the name of the method as well as its id, so that nothing is to be added.
NAMED_EVENTS = {"ILStubCacheHit"}
WANTED = 1000  # references that a trace must have, so that the test cannot pass on nothing


def name_of(method):
    """Namespace.Name as far as the trace tells it."""
    if method is None or method["named_by"] is None:
        return None
    # Helpers of the JIT have no type.
    return f"{method['namespace']}.{method['name']}".lstrip(".")


def numbers_in(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_in(inner)
    elif isinstance(value, str) and value.startswith("0x"):
        yield int(value, 16)
    elif isinstance(value, int):
        yield value


def check_id(reference, method, event):
    """A sentence where the event is not named as it should be, or None."""
    wanted = name_of(method)
    named = event["method_name"] is not None
    got = f"{event['method_namespace'] or ''}.{event['method_name']}".lstrip(".") if named else None
    if got != wanted:
        return f"is {got}, not {wanted}"
    # Several versions of one method are one answer to us.
    allowed = {reference["outcome"]} | ({"exact"} if reference["alive"] > 1 else set())
    return None if event["method_outcome"] in allowed else f"is {event['method_outcome']}, not {reference['outcome']}"


def check_address(reference, method, event):
    shown = event["stack"][reference["frame"]] if event["name"].startswith("ClrStack") else event["symbol"]
    wanted = name_of(method)
    if wanted is None:
        return None
    return None if shown is not None and wanted in shown else f"is shown as {shown}, not {wanted}"


def check(etwpipe, tracegen, seed, folder):
    trace, truth_file, output = folder / "clr.etl", folder / "truth.json", folder / "out.ndjson"
    subprocess.run([tracegen, "--scenario", "clr", "--size", "3MiB", "--seed", str(seed), "-o", trace, "--truth", truth_file],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([etwpipe, "run", "-q", trace, "-o", output, "--force", "--stage", "enrich.method", "--stage",
                    "enrich.stack"], check=True)
    truth = json.loads(truth_file.read_text())
    events = collections.defaultdict(list)
    with output.open() as lines:
        for line in lines:
            event = json.loads(line)
            events[(int(event["ts"]), event["cpu"])].append(event)
    checked = collections.Counter()
    wrong = []
    for reference in truth["references"]:
        if reference["event"] in NAMED_EVENTS:
            continue
        value = int(reference["value"], 16) if isinstance(reference["value"], str) else reference["value"]
        method = None if reference["method"] is None else truth["methods"][reference["method"]]
        by_id = reference["kind"] == "id"
        found = [event for event in events[(reference["ts"], reference["cpu"])]
                 if (event["method_outcome"] if by_id else event["symbol"]) and value in numbers_in(event["fields"] or {})]
        if not found:
            # Frames of stack events stand in the event they belong to.
            if by_id:
                wrong.append(f"{reference}: no event")
            continue
        sentence = (check_id if by_id else check_address)(reference, method, found[0])
        checked[(reference["kind"], reference["outcome"])] += 1
        if sentence:
            wrong.append(f"{reference}: {sentence}")
    total = sum(checked.values())
    print(f"seed {seed}: {total} references, {len(wrong)} wrong: {dict(checked)}")
    for sentence in wrong[:10]:
        print(f"  {sentence}")
    outcomes = {outcome for kind, outcome in checked if kind == "id"}
    return not wrong and total >= WANTED and {"exact", "backfilled", "stale", "ambiguous", "unknown"} <= outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    parser.add_argument("--tracegen", required=True, type=Path, help="the built generator")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="etwpipe-methods-") as folder:
        good = [check(options.program, options.tracegen, seed, Path(folder)) for seed in SEEDS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

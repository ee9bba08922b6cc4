#!/usr/bin/env python3
"""Generates traces and compares them with the independent reader of tests/oracle.

Usage: check_truth.py TRACEGEN [option of tracegen]...
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "oracle")]

import code_oracle  # noqa: E402
import etl_reader  # noqa: E402


def kinds_of(counts):
    names = ("header", "provider", "id", "opcode", "version")
    return {tuple(kind[name] for name in names): (kind["count"], kind["bytes"]) for kind in counts["kinds"]}


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.etl")
        truth_path = os.path.join(folder, "t.json")
        subprocess.run([sys.argv[1], *sys.argv[2:], "-o", trace, "--truth", truth_path], check=True)
        with open(truth_path, encoding="utf-8") as file:
            truth = json.load(file)
        with open(trace, "rb") as file:
            data = file.read()
    failures = []
    for name, complaints in etl_reader.check(data).items():
        failures += [f"{name}: {complaint}" for complaint in complaints]
    counts = etl_reader.Trace(data).counts()
    for key in ("events", "buffers"):
        if counts[key] != truth[key]:
            failures.append(f"{key}: reader {counts[key]}, truth {truth[key]}")
    read, expected = kinds_of(counts), kinds_of(truth)
    for key in sorted(set(read) | set(expected), key=str):
        if read.get(key) != expected.get(key):
            failures.append(f"{key}: reader {read.get(key)}, truth {expected.get(key)}")
    code = code_oracle.Code(etl_reader.Trace(data).merged())
    failures += code_oracle.compare(code, truth)
    for failure in failures[:20]:
        print(failure)
    print(f"{counts['events']} events of {len(read)} kinds, {len(code.methods)} methods, "
          f"{len(truth['references'])} references, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

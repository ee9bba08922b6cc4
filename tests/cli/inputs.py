#!/usr/bin/env python3
"""Makes the input files of the command-line cases, the same every time."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

ORACLE_CASES = ("all_headers", "wpp", "damaged_record", "unfinalised", "xpress")


def make_inputs(folder, tracegen):
    """Fills `folder`, emptied before. `tracegen` is the built generator."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([tracegen, "--size", "1MiB", "--seed", "1", "-o", folder / "mixed.etl"], check=True)
    subprocess.run([tracegen, "--size", "1MiB", "--seed", "2", "-o", folder / "other.etl"], check=True)
    subprocess.run([tracegen, "--scenario", "build", "--size", "1MiB", "--seed", "1", "-o", folder / "build.etl"],
                   check=True)
    oracle = folder / "oracle"
    subprocess.run([sys.executable, Path(__file__).resolve().parent.parent / "oracle" / "make_cases.py", oracle],
                   check=True, stdout=subprocess.DEVNULL)
    for name in ORACLE_CASES:
        shutil.copy(oracle / f"{name}.etl", folder)
    truth = json.loads((oracle / "all_headers.json").read_text())
    whole = (folder / "all_headers.etl").read_bytes()
    (folder / "flipped.etl").write_bytes(flip_last_byte(whole, truth["events"][-1], truth["header"]["buffer_size"]))
    (folder / "words.txt").write_text("these are only words\n")
    (folder / "empty.etl").write_bytes(b"")


def flip_last_byte(data, event, buffer_size):
    """The last byte of one record changed: one event differs, everything else is as it was."""
    place = int(event["id"])
    buffer, offset = place >> 21 & ((1 << 35) - 1), (place & ((1 << 21) - 1)) * 8
    at = buffer * buffer_size + offset + event["size"] - 1
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracegen", required=True, type=Path, help="the built etwpipe-tracegen")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    make_inputs(options.folder, options.tracegen.resolve())

#!/usr/bin/env python3
"""Runs the command-line cases: see README.md for their form."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TIMEOUT = 120  # seconds
SKIP_STATUS = 77  # what a command exits with when the machine lacks what its case needs


class Block:
    """One command and what is expected of it. `lines` are the lines of the file that make it up."""

    def __init__(self, command):
        self.command = command
        self.out = []
        self.err = []
        self.exit = 0
        self.files = None

    def render(self):
        text = [f"$ {self.command}"]
        text += [f"> {line}".rstrip() for line in self.out]
        text += [f"! {line}".rstrip() for line in self.err]
        if self.exit != 0:
            text.append(f"exit {self.exit}")
        if self.files is not None:
            text.append(f"files: {' '.join(self.files)}".rstrip())
        return text


def parse(path):
    """Comments and blank lines as they are, blocks as Block, in the order of the file."""
    parts = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        block = parts[-1] if parts and isinstance(parts[-1], Block) else None
        if line.startswith("$ "):
            parts.append(Block(line[2:]))
        elif not line or line.startswith("#"):
            parts.append(line)
        elif block is None:
            raise SystemExit(f"{path}:{number}: a line without a command")
        elif line[0] in ">!" and line[1:2] in ("", " "):
            (block.out if line[0] == ">" else block.err).append(line[2:])
        elif line.startswith("exit "):
            block.exit = int(line[5:])
        elif line.startswith("files:"):
            block.files = line[6:].split()
        else:
            raise SystemExit(f"{path}:{number}: cannot be read: {line}")
    return parts


def line_matches(expected, actual):
    if expected.startswith("re: "):
        return re.fullmatch(expected[4:], actual) is not None
    return expected.rstrip() == actual.rstrip()


def matches(expected, actual):
    """Whether the lines fit; `...` stands for any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and line_matches(expected[0], actual[0]) and matches(expected[1:], actual[1:])


def run(block, folder, environment):
    # /bin/sh and not a list of words: cases use pipes and redirections as users do.
    try:
        done = subprocess.run(["/bin/sh", "-c", block.command], cwd=folder, env=environment, capture_output=True,
                              timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return None, [], [f"still running after {TIMEOUT} seconds"]
    out = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    err = done.stderr.decode("utf-8", "backslashreplace").splitlines()
    return done.returncode, out, err


def complaints(block, status, out, err, files):
    found = []
    if status != block.exit:
        found.append(f"exit {status}, expected {block.exit}")
    for name, expected, actual in (("stdout", block.out, out), ("stderr", block.err, err)):
        if not matches(expected, actual):
            found += [f"{name}:"] + [f"  {line}" for line in actual] + ["expected:"] + [f"  {e}" for e in expected]
    if block.files is not None and files != sorted(block.files):
        found.append(f"files {files}, expected {sorted(block.files)}")
    return found


def run_file(path, input_folder, environment, rewrite):
    """Runs the blocks of one file in one folder, one after the other. Returns how many failed."""
    parts = parse(path)
    failed = 0
    names = {p.name for p in input_folder.iterdir() if p.is_file()}
    with tempfile.TemporaryDirectory(prefix="etwpipe-cli-") as folder:
        for name in names:
            shutil.copy(input_folder / name, folder)
        for block in (part for part in parts if isinstance(part, Block)):
            status, out, err = run(block, folder, environment)
            if status == SKIP_STATUS:
                print(f"SKIPPED {path.name}: {block.command}: {' '.join(out)}")
                continue
            files = sorted(name for name in os.listdir(folder) if name not in names)
            found = complaints(block, status, out, err, files)
            if found and rewrite:
                block.exit = status
                block.out = block.out if matches(block.out, out) else out
                block.err = block.err if matches(block.err, err) else err
                block.files = None if block.files is None else files
            elif found:
                failed += 1
                print(f"FAILED {path.name}: {block.command}")
                print("\n".join(f"    {line}" for line in found))
    if rewrite:
        lines = []
        for part in parts:
            lines += part.render() if isinstance(part, Block) else [part]
        path.write_text("\n".join(lines) + "\n")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    parser.add_argument("--inputs", required=True, type=Path, help="folder that inputs.py made")
    parser.add_argument("--rewrite", action="store_true", help="write what came out into the cases")
    parser.add_argument("cases", nargs="*", type=Path, help="case files (default: all)")
    options = parser.parse_args()

    here = Path(__file__).resolve().parent
    environment = {"PATH": f"{options.program.resolve().parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent",
                   "ETWPIPE_CLI": str(here), "ETWPIPE_INPUTS": str(options.inputs.resolve())}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    failed = 0
    for path in options.cases or sorted((here / "cases").glob("*.case")):
        failed += run_file(path, options.inputs, environment, options.rewrite)
    print("all as expected" if failed == 0 else f"{failed} commands failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Reads archives with tests/oracle/etwp_reader.py, which was written from formats/etwp/FORMAT.md and shares no code with
the program: events and ids must be those that `etwpipe dump` shows of the original, and the original must come back."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from samples import DATA, REPOSITORY, SAMPLES, SKIP_STATUS, Program, find_interpreter, sample_path

PROTO = REPOSITORY / "proto"
LEVELS = ("fast", "default", "max")
# What the traces made here must show between them: every encoding of blocks.
ENCODINGS = set(range(1, 14))


def read_archive(archive, original, program):
    """Complaints about an archive, and the encodings that its blocks name. Runs where the messages are importable."""
    import archive_pb2
    from etwp_reader import Archive
    found = []
    read = Archive(archive_pb2, archive.read_bytes())
    dumped = [json.loads(line) for line in program.output("dump", "--format", "ndjson", original).splitlines()]
    theirs = [(event["cpu"], int(event["id"]), event["size"]) for event in dumped]
    ours = [(cpu, instance, len(record)) for cpu, instance, record in read.events]
    # The log-file header record stands in the trace header.
    if theirs[-len(ours):] != ours or len(theirs) - len(ours) > 1:
        found.append(f"{len(ours)} events read, {len(theirs)} in the original, or others")
    if read.original() != original.read_bytes():
        found.append("the original does not come back")
    return found, read.encodings


def check_all(program, recordings, folder):
    failed = 0
    used = set()
    for number, (recording, options) in enumerate(recordings):
        archive = folder / "archive.etwp"
        level = LEVELS[number % len(LEVELS)]
        program.output("run", "-q", "--force", recording, "-o", archive, "--level", level, *options)
        found, encodings = read_archive(archive, recording, program)
        used |= encodings
        failed += len(found)
        print(f"{'FAILED' if found else 'ok'}  {recording.name}, level {level}")
        for complaint in found:
            print(f"    {complaint}")
    if used != ENCODINGS:
        print(f"FAILED  encodings {sorted(ENCODINGS ^ used)} were not seen, or are new")
        failed += 1
    return failed


def generated(tracegen, folder):
    """Traces of every scenario, each at two of the levels; the second time in blocks small enough for a prefix."""
    for turn, (size, options) in enumerate((("1MiB", ()), ("2MiB", ("--block-size", "64")))):
        for scenario in ("switches", "clr", "build", "mixed"):
            trace = folder / f"{scenario}-{size}.etl"
            subprocess.run([tracegen, "--size", size, "--seed", str(turn), "--scenario", scenario, "-o", trace],
                           check=True, capture_output=True)
            yield trace, options


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    parser.add_argument("--tracegen", required=True, type=Path, help="the built etwpipe-tracegen")
    parser.add_argument("--messages", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="etwpipe-restore-") as name:
        folder = Path(name)
        if options.messages is None:
            interpreter = find_interpreter()
            if interpreter is None:
                print("SKIPPED: no Python with the modules zstandard and google.protobuf: tools/install-packages test")
                sys.exit(SKIP_STATUS)
            subprocess.run(["protoc", f"--proto_path={PROTO}", f"--python_out={folder}", "archive.proto"], check=True)
            sys.exit(subprocess.run([interpreter, __file__, *sys.argv[1:], "--messages", folder]).returncode)
        sys.path[:0] = [str(options.messages), str(REPOSITORY / "tests" / "oracle")]
        program = Program(options.program.resolve())
        recordings = list(generated(options.tracegen, folder))
        if (DATA / "etl").is_dir():
            for sample in SAMPLES:
                # Those with compressed buffers come back compressed anew; the largest takes a minute here.
                info = program.json("info", "--format", "json", sample_path(sample))
                if info["buffers"]["compressed"] == 0 and sample != "net.4.5.2.x64":
                    recordings.append((sample_path(sample), ()))
        else:
            print(f"no test data at {DATA}: generated traces only")
        sys.exit(1 if check_all(program, recordings, folder) else 0)


if __name__ == "__main__":
    main()

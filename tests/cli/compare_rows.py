#!/usr/bin/env python3
"""Reads archives of rows with proto/read_rows.py, which knows nothing but proto/, and compares what it prints with
`etwpipe dump` of the original; then turns the rows into an .etl again and compares that."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from samples import DATA, REPOSITORY, SAMPLES, SKIP_STATUS, Program, find_interpreter, sample_path

PROTO = REPOSITORY / "proto"
# What schemas and names of providers add; a row has the bytes.
DECODED = {"provider_name", "name", "fields", "component_id", "extended"}


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def check(program, interpreter, original, folder, environment):
    """Complaints about one recording."""
    rows, back = folder / "rows.etwp", folder / "back.etl"
    program.output("run", "-q", "--force", original, "-o", rows, "--layout", "rows", "--verify")
    reader = subprocess.run([interpreter, PROTO / "read_rows.py", rows], env=environment, capture_output=True)
    if reader.returncode != 0:
        yield f"read_rows.py: {reader.stderr.decode()}"
        return
    read = json_lines(reader.stdout)
    dumped = json_lines(program.output("dump", "--format", "ndjson", "--payload", "hex", original))
    if len(read) != len(dumped):
        yield f"{len(read)} events read, {len(dumped)} in the original"
    for number, (theirs, ours) in enumerate(zip(dumped, read)):
        if {key: theirs.get(key) for key in ours} != ours:
            yield f"event {number}: {ours} instead of {theirs}"
            break
        if number == 0 and set(theirs) - set(ours) - DECODED:
            yield f"columns of dump that a row lacks: {sorted(set(theirs) - set(ours) - DECODED)}"
    program.output("run", "-q", "--force", rows, "-o", back, "--verify")
    for command in (("diff", original, back), ("verify", rows, "--against", original)):
        status, out, err = program.run(*command)
        if status != 0:
            yield f"{command[0]}: exit {status}: {out}{err}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    parser.add_argument("--tracegen", required=True, type=Path, help="the built etwpipe-tracegen")
    options = parser.parse_args()
    interpreter = find_interpreter()
    if interpreter is None:
        print("SKIPPED: no Python with the modules zstandard and google.protobuf: tools/install-packages test")
        sys.exit(SKIP_STATUS)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="etwpipe-rows-") as name:
        folder = Path(name)
        subprocess.run(["protoc", f"--proto_path={PROTO}", f"--python_out={folder}", "archive.proto", "event.proto"],
                       check=True)
        environment = {**os.environ, "PYTHONPATH": name}
        generated = folder / "generated.etl"
        subprocess.run([options.tracegen, "--size", "2MiB", "--seed", "3", "-o", generated], check=True,
                       capture_output=True)
        recordings = [generated]
        if (DATA / "etl").is_dir():
            recordings += [sample_path(sample) for sample in SAMPLES if sample != "net.4.5.2.x64"]
        else:
            print(f"no test data at {DATA}: the generated trace only")
        for recording in recordings:
            found = list(check(Program(options.program.resolve()), interpreter, recording, folder, environment))
            failed += len(found)
            print(f"{'FAILED' if found else 'ok'}  {recording.name}")
            for complaint in found:
                print(f"    {complaint[:600]}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

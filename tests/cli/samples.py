"""What the tests of whole commands on real recordings share: where those are, the program, and its output as values."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

SKIP_STATUS = 77  # SKIP_RETURN_CODE in CMakeLists.txt
REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ETWPIPE_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
SAMPLES = ("net.4.5.2.x64", "diaghub", "diaghub.kernel.1", "ShutdownPerfDiagLogger", "gcevents", "KernelNetwork",
           "SelfDescribingSingleEvent", "lxcore_kernel", "primitive-types", "powershell", "waasmedic", "DynamicEvents")


class Program:
    """The built program, as a user runs it."""

    def __init__(self, path):
        self.path = path

    def run(self, *arguments, cwd=None):
        """Exit status, standard output and standard error."""
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, cwd=cwd)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def output(self, *arguments, cwd=None):
        """Standard output of a command that must succeed."""
        status, out, err = self.run(*arguments, cwd=cwd)
        if status != 0:
            raise SystemExit(f"FAILED etwpipe {' '.join(map(str, arguments))}: exit {status}\n{err}")
        return out

    def json(self, *arguments):
        return json.loads(self.output(*arguments))

    def events(self, *arguments):
        """The events of `dump --format ndjson`. Objects keep repeated keys: see Fields."""
        lines = self.output("dump", "--format", "ndjson", *arguments).splitlines()
        return [json.loads(line, object_pairs_hook=Fields) for line in lines]


class Fields(dict):
    """A JSON object that remembers all its pairs: an event may have two fields of one name."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


def sample_path(name):
    return DATA / "etl" / f"{name}.etl"


def expected(name):
    return json.loads((DATA / "expected" / f"{name}.json").read_text(encoding="utf-8"))


def find_interpreter():
    """A Python that can read archives: the running one, or Debian's, for which the packages are."""
    for interpreter in (sys.executable, "/usr/bin/python3"):
        modules = subprocess.run([interpreter, "-c", "import zstandard, google.protobuf"], capture_output=True)
        if modules.returncode == 0:
            return interpreter
    return None


def run_checks(description, *checks):
    """Runs checks, functions of a Program that yield complaints, on the program that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True, type=Path, help="the built etwpipe")
    program = Program(parser.parse_args().program.resolve())
    if not (DATA / "expected").is_dir():
        print(f"SKIPPED: no test data at {DATA}; set ETWPIPE_TEST_DATA to a folder with etl/ and expected/")
        sys.exit(SKIP_STATUS)
    failed = 0
    for check in checks:
        found = list(check(program))
        failed += len(found)
        print(f"{'FAILED' if found else 'ok'}  {check.__doc__.splitlines()[0]}")
        for complaint in found[:40]:
            print(f"    {complaint}")
        if len(found) > 40:
            print(f"    ... {len(found) - 40} more")
    sys.exit(1 if failed else 0)

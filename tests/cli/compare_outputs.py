#!/usr/bin/env python3
"""Compares the outputs of `run` and `dump` with each other: tables with events, archives with their originals, and any
number of threads with one."""

import csv
import io
import json
import re
import sys
import tempfile
from pathlib import Path

from samples import SAMPLES, run_checks, sample_path

TABLE_SAMPLES = ("DynamicEvents", "diaghub.kernel.1", "powershell", "SelfDescribingSingleEvent", "gcevents")
ROUND_TRIP_SAMPLES = ("DynamicEvents", "KernelNetwork", "powershell", "gcevents")
HEADER_COLUMNS = ("id", "ts", "time", "cpu", "pid", "tid", "header", "provider", "provider_name", "component_id", "name",
                  "event_id", "version", "opcode", "level", "task", "keyword", "size")
csv.field_size_limit(sys.maxsize)


def cell_of(value):
    """The cell that stands for a JSON value, except for arrays and structs."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def same_cell(cell, value):
    if isinstance(value, dict) and set(value) == {"value", "name"}:
        plain = cell_of(value["value"])
        return cell == (plain if value["name"] is None else f"{value['name']}({plain})")
    if isinstance(value, (dict, list)):
        return json.loads(cell) == value
    if isinstance(value, float):
        return float(cell) == value
    return cell == cell_of(value)


def file_name(kind):
    """What a kind's file is called, before a number tells apart those that would share a name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", kind[:120])


def compare_table(path, events):
    """Complaints about one table; the ids of its rows are removed from `events`."""
    with open(path, encoding="utf-8", newline="") as file:
        titles, *rows = csv.reader(file)
    if tuple(titles[:len(HEADER_COLUMNS)]) != HEADER_COLUMNS:
        yield f"{path.name}: titles {titles}"
        return
    fields = titles[len(HEADER_COLUMNS):]
    if path.name != "unknown.csv" and fields.pop() != "_extra":
        yield f"{path.name}: the last column is no _extra"
    if not rows:
        yield f"{path.name}: no rows"
    for row in rows:
        event = events.pop(row[0], None)
        if event is None:
            yield f"{path.name}: no event {row[0]}, or twice"
            continue
        wrong = [f"{title} is {cell!r}, not {event.get(title)!r}"
                 for title, cell in zip(HEADER_COLUMNS, row) if cell != cell_of(event.get(title))]
        cells = row[len(HEADER_COLUMNS):]
        if event["fields"] is None:
            kind = "unknown"
            if fields != ["payload"] or cells != [event["payload"]]:
                wrong.append(f"{fields} are {cells}, not {event['payload']}")
        else:
            kind = f"{event['provider_name']}.{event['name']}.v{event['version']}"
            wrong += compare_fields(fields, cells, event["fields"])
        if re.sub(r"~\d+$", "", path.stem) != file_name(kind):
            wrong.append(f"a {kind}")
        yield from (f"{path.name}: {row[0]}: {complaint}" for complaint in wrong)


def compare_fields(titles, cells, fields):
    """Complaints about the cells of one event: a column for every field in order, empty ones behind a short payload."""
    pairs = [pair for pair in fields.pairs if pair[0] != "_extra"]
    names = [name for name, _ in pairs]
    if titles[:len(names)] != names:
        yield f"columns {titles}, fields {names}"
        return
    yield from (f"{name} is {cell!r}, not {value!r}"
                for (name, value), cell in zip(pairs, cells) if not same_cell(cell, value))
    yield from (f"{cell!r} in {title}, which the event lacks"
                for title, cell in zip(titles[len(names):], cells[len(names):-1]) if cell)
    if cells[-1] != fields.get("_extra", ""):
        yield f"_extra is {cells[-1]!r}, not {fields.get('_extra')!r}"


def tables(program):
    """run -o x.csv: the tables hold exactly the events of the dump, in its order, with the same values."""
    for sample in TABLE_SAMPLES:
        events = {event["id"]: event for event in program.events(sample_path(sample))}
        places = {id: place for place, id in enumerate(events)}
        with tempfile.TemporaryDirectory(prefix="etwpipe-tables-") as folder:
            out = Path(folder) / "x.csv"
            program.output("run", "-q", sample_path(sample), "-o", out)
            for path in sorted(out.iterdir()):
                yield from (f"{sample}: {complaint}" for complaint in compare_table(path, events))
                with open(path, encoding="utf-8", newline="") as file:
                    order = [places.get(row[0], -1) for row in list(csv.reader(file))[1:]]
                if order != sorted(order):
                    yield f"{sample}: {path.name}: rows are not in the order of events"
            if [path.name for path in Path(folder).iterdir()] != ["x.csv"]:
                yield f"{sample}: left behind: {sorted(path.name for path in Path(folder).iterdir())}"
        if events:
            yield f"{sample}: {len(events)} events are in no table, the first {next(iter(events.values()))}"


def repeated_keys(value):
    """Keys that an object of a JSON value has twice, fields of one name included."""
    if isinstance(value, list):
        return [key for element in value for key in repeated_keys(element)]
    if not isinstance(value, dict):
        return []
    names = [name for name, _ in value.pairs]
    return [name for name in value if names.count(name) > 1] + [
        key for _, member in value.pairs for key in repeated_keys(member)]


def formats(program):
    """dump: ndjson, csv and text have the same events, one a line or row; no JSON object has a key twice."""
    for sample in SAMPLES:
        if sample in ("net.4.5.2.x64", "diaghub"):
            continue  # large, and of kinds that the others have
        events = program.events(sample_path(sample))
        for event in events:
            if repeated_keys(event):
                yield f"{sample}: {event['id']} has {repeated_keys(event)} twice"
        # Lines as a terminal and a line reader see them.
        lines = program.output("dump", sample_path(sample)).split("\n")[1:-1]
        if len(lines) != len(events):
            yield f"{sample}: {len(lines)} lines of text, {len(events)} events"
        titles, *rows = csv.reader(io.StringIO(program.output("dump", "--format", "csv", sample_path(sample)), newline=""))
        if tuple(titles) != HEADER_COLUMNS + ("fields", "payload") or len(rows) != len(events):
            yield f"{sample}: {len(rows)} rows of {titles}"
            continue
        for event, line, row in zip(events, lines, rows):
            wrong = [title for title, cell in zip(HEADER_COLUMNS, row) if cell != cell_of(event.get(title))]
            if json.loads(row[-2] or "null") != event["fields"]:
                wrong.append("fields")
            if row[-1] != event.get("payload", ""):
                wrong.append("payload")
            if wrong:
                yield f"{sample}: {event['id']}: csv has other {wrong}"
            if not line.startswith(event["time"]) or any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in line):
                yield f"{sample}: {event['id']}: {line!r}"


def round_trips(program):
    """run -o x.etwp: the archive's events, names and fields are those of its original."""
    for sample in ROUND_TRIP_SAMPLES:
        with tempfile.TemporaryDirectory(prefix="etwpipe-archive-") as folder:
            archive, thinned, again = (Path(folder) / name for name in ("x.etwp", "thinned.etwp", "again.etl"))
            program.output("run", "-q", sample_path(sample), "-o", archive)
            for options in (("--format", "ndjson"), ("--format", "ndjson", "--messages", "--payload", "hex"), ()):
                if program.output("dump", *options, archive) != program.output("dump", *options, sample_path(sample)):
                    yield f"{sample}: dump {' '.join(options)} of the archive differs"
            for by in ("kind", "name", "provider", "process"):
                original, copy = (program.json("stats", "--format", "json", "--by", by, file)
                                  for file in (sample_path(sample), archive))
                if original | {"file": ""} != copy | {"file": ""}:
                    yield f"{sample}: stats --by {by} of the archive differs"
            # Events that a filter kept keep their names, fields and ids through both formats.
            condition = "event_id != 0 or opcode in (1, 3)"
            program.output("run", "-q", sample_path(sample), "-o", thinned, "--where", condition)
            program.output("run", "-q", thinned, "-o", again)
            # What the end of an archive tells is what its events tell: --fail-on reads them.
            for by in ("kind", "name", "provider"):
                for file in (archive, thinned):
                    told, read = (program.json("stats", "--format", "json", "--by", by, *options, file)
                                  for options in ((), ("--fail-on", "damage")))
                    if told != read:
                        yield f"{sample}: stats --by {by} of {file.name} differs from its events"
            told, read = (program.json("info", "--format", "json", *options, thinned)
                          for options in ((), ("--fail-on", "damage")))
            if told != read:
                yield f"{sample}: info of {thinned.name} differs from its events"
            kept = program.output("dump", "--format", "ndjson", "--where", condition, sample_path(sample))
            if not kept:
                yield f"{sample}: the filter keeps nothing"
            for file in (thinned, again):
                if program.output("dump", "--format", "ndjson", file) != kept:
                    yield f"{sample}: dump of {file.name} differs"


def threads(program):
    """--threads 1, 2 and 4: the same ndjson, csv, text and tables."""
    for sample in ROUND_TRIP_SAMPLES:
        results = []
        for count in (1, 2, 4):
            with tempfile.TemporaryDirectory(prefix="etwpipe-threads-") as folder:
                out = Path(folder) / "x.csv"
                program.output("run", "-q", "--threads", count, sample_path(sample), "-o", out)
                result = {path.name: path.read_bytes() for path in out.iterdir()}
            for form in ("ndjson", "csv", "text"):
                result[form] = program.output("dump", "--threads", count, "--format", form, sample_path(sample))
            results.append(result)
        for count, result in zip((2, 4), results[1:]):
            differing = [name for name in results[0] | result if results[0].get(name) != result.get(name)]
            if differing:
                yield f"{sample}: {count} threads: {differing} differ"


if __name__ == "__main__":
    run_checks(__doc__, tables, formats, round_trips, threads)

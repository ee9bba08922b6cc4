#!/usr/bin/env python3
"""Prints the events of an archive made with `etwpipe run --layout rows`, one JSON object per line.

An example of a reader in another language. It needs python3-protobuf, python3-zstandard and the messages:
protoc --python_out=FOLDER --proto_path=proto archive.proto event.proto; PYTHONPATH=FOLDER proto/read_rows.py FILE
"""

import datetime
import json
import struct
import sys
import uuid

import zstandard

import archive_pb2
import event_pb2

SYNC = b"\x89EWP"
TAIL_MAGIC = struct.pack("<Q", 0x0A444E4550545745)


def frames(file):
    """The messages of the file in order; of packed ones the message inside."""
    while (prefix := file.read(16)) and prefix[:4] == SYNC:
        body = file.read(struct.unpack_from("<I", prefix, 4)[0])
        frame = archive_pb2.Frame.FromString(body)
        if frame.HasField("packed"):
            frame = archive_pb2.Frame.FromString(zstandard.decompress(frame.packed.content))
        yield frame
    if not (prefix + file.read()).endswith(TAIL_MAGIC):
        sys.exit("the file is cut off")


def events(file):
    for frame in frames(file):
        if not frame.HasField("block"):
            continue
        if not frame.block.HasField("rows"):
            sys.exit("the file holds columns; make one of rows: etwpipe run FILE -o NEW.etwp --layout rows")
        yield from event_pb2.EventList.FromString(zstandard.decompress(frame.block.rows.content)).events


def iso_time(file_time):
    seconds, ticks = divmod(file_time, 10_000_000)
    return f"{datetime.datetime(1601, 1, 1) + datetime.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{ticks:07d}Z"


def shown(event):
    return {"id": str(event.instance_id), "ts": event.timestamp, "time": iso_time(event.file_time), "cpu": event.cpu,
            "pid": event.pid if event.HasField("pid") else None, "tid": event.tid if event.HasField("tid") else None,
            "header": event.header, "provider": str(uuid.UUID(bytes_le=event.provider)) if event.provider else None,
            "event_id": event.event_id, "version": event.version, "opcode": event.opcode, "level": event.level,
            "task": event.task, "keyword": hex(event.keyword),
            "size": len(event.header_bytes) + len(event.extended) + len(event.payload), "payload": event.payload.hex()}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as archive:
        for each in events(archive):
            print(json.dumps(shown(each)))

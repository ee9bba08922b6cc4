#!/usr/bin/env python3
"""Writes small .etl files, one per header kind or container feature, and beside each the truth as <name>.json.

The truth comes from how a file was built, never from reading it: a Case keeps its buffers and records, says which of
them damage makes unreachable, and orders the rest by the merge rule. Everything is deterministic.

JSON keys: header (log file header fields), buffers (ordinals, skipped ranges included), events (merged order, as
`etl_reader.py --events` prints them), filetimes (UTC of each event in 100 ns, rounded down), extended (id -> [[type,
hex]] of extended items), counts (as --counts), damaged (ordinal, file offset, offset in the buffer, bytes lost,
reason), check_fails (names of the checks that must fail), ambiguous (true: public layouts do not settle this case).
"""

import argparse
import json
import struct
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import etl_writer as w
from etl_names import GROUP_GUIDS

FILETIME_2024 = 133_500_000_000_000_000
START_TICKS = 5_000_000_000
CLOCK_NAMES = {1: "qpc", 2: "system", 3: "cycles"}

MANIFEST = "3d5f1a70-91b2-4c6e-8a1d-0c2b4e6f8091"
TRACELOG = "a1b2c3d4-e5f6-4789-9abc-def012345678"
CLASSIC = "0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f"
WPP = "11223344-5566-4778-899a-abbccddeeff0"
ACTIVITY = "c0ffee00-1234-4321-8888-0123456789ab"


def pattern(length, seed=0):
    """Bytes that do not repeat soon; `seed` makes two payloads differ."""
    return bytes((seed * 31 + i * 7 + (i >> 3)) & 0xFF for i in range(length))


def words(length, seed=0):
    """Text that compresses well."""
    text = f"thread {seed} waits for the disk, thread {seed + 1} waits for thread {seed}; ".encode()
    return (text * (length // len(text) + 1))[:length]


def filetime_text(value):
    if value == 0:
        return None
    moment = datetime(1601, 1, 1) + timedelta(microseconds=value // 10)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + f"{value % 10}Z"


class Case:
    def __init__(self, name, about, *, size=4096, header_size=None, ambiguous=False, **log):
        self.name = name
        self.about = about
        self.ambiguous = ambiguous
        self.size = size
        log.setdefault("start_time", FILETIME_2024)
        log.setdefault("end_time", FILETIME_2024 + 600_000_000)
        log.setdefault("boot_time", FILETIME_2024 - 36_000_000_000)
        log.setdefault("start_ticks", START_TICKS)
        log.setdefault("buffers_written", None)
        log.setdefault("processors", 4)
        log.setdefault("buffer_size", size)
        log.setdefault("log_file_name", f"C:\\traces\\{name}.etl")
        self.log = w.LogHeader(**log)
        self.head = w.Buffer(size=header_size or size, flag=w.FLUSH_MARKER, type=w.TYPE_HEADER)
        self.buffers = [self.head]
        self.first_lost = {}
        self.damaged = []
        self.damage = []
        self.check_fails = []
        self.flush_last = True

    def buffer(self, cpu=0, **fields):
        """Appends a data buffer; the sequence number is the place in the file unless given."""
        fields.setdefault("sequence", len(self.buffers))
        fields.setdefault("size", self.size)
        buffer = w.Buffer(cpu=cpu, **fields)
        self.buffers.append(buffer)
        return buffer

    def lose(self, buffer, first_record, reason, file_offset, offset, length):
        """Says that damage hides the records of `buffer` from number `first_record` on."""
        ordinal = self.buffers.index(buffer)
        self.first_lost[ordinal] = first_record
        self.damaged.append({"ordinal": ordinal, "file_offset": file_offset, "offset": offset, "length": length,
                             "reason": reason})

    def start_of(self, buffer):
        return sum(len(other.encode()) for other in self.buffers[:self.buffers.index(buffer)])

    def finish_header(self):
        """Puts the log file header record in front of whatever the header buffer holds."""
        if self.log.buffers_written is None:
            self.log.buffers_written = len(self.buffers)
        extra = self.head.records
        self.head.records, self.head.offsets, self.head.filled = [], [], w.BUFFER_HEADER_SIZE
        self.head.add(self.log.record(), *extra)
        if self.flush_last:
            self.buffers[-1].flag |= w.FLUSH_MARKER

    def reachable(self):
        """(ordinal, buffer, offset, record) of every record a reader can reach, in file order."""
        for ordinal, buffer in enumerate(self.buffers):
            for number, (offset, record) in enumerate(zip(buffer.offsets, buffer.records)):
                if number < self.first_lost.get(ordinal, len(buffer.records)):
                    yield ordinal, buffer, offset, record

    def merged(self):
        """(sort key, timestamp, ordinal, buffer, offset, record): merge times never step back within a stream, so
        sorting by (merge time, cpu, sequence, offset) is the merge."""
        streams = {}
        for entry in self.reachable():
            streams.setdefault(entry[1].cpu, []).append(entry)
        events = []
        for cpu, entries in streams.items():
            entries.sort(key=lambda entry: (entry[1].sequence, entry[2]))
            merge_time = None
            timestamp = self.log.start_ticks
            for ordinal, buffer, offset, record in entries:
                if ordinal == 0 and offset == w.BUFFER_HEADER_SIZE:
                    continue
                if record.timestamp is not None:
                    timestamp = record.timestamp
                merge_time = timestamp if merge_time is None else max(merge_time, timestamp)
                events.append(((merge_time, cpu, buffer.sequence, offset), timestamp, ordinal, buffer, offset, record))
        events.sort(key=lambda event: event[0])
        return events

    def filetime(self, timestamp):
        ticks = timestamp - self.log.start_ticks
        if self.log.clock == 2:
            return timestamp
        if self.log.clock == 3:
            return self.log.start_time + ticks * 10 // self.log.cpu_mhz
        return self.log.start_time + ticks * 10_000_000 // self.log.frequency

    def truth(self, data):
        events, filetimes, extended = [], [], {}
        for _, timestamp, ordinal, buffer, offset, record in self.merged():
            number = str(ordinal * (1 << 21) + offset // 8)
            events.append({"id": number, "ts": timestamp, "cpu": buffer.cpu, "pid": record.pid, "tid": record.tid,
                           "header": record.header, "provider": record.provider, "event_id": record.event_id,
                           "version": record.version, "opcode": record.opcode, "level": record.level,
                           "task": record.task, "keyword": hex(record.keyword), "size": record.size,
                           "payload": record.payload.hex()})
            filetimes.append(self.filetime(timestamp))
            if record.items:
                extended[number] = record.items
        kinds, sizes = Counter(), Counter()
        for _, _, _, record in self.reachable():
            key = (record.header, record.provider, record.event_id, record.opcode, record.version)
            kinds[key] += 1
            sizes[key] += record.size
        log = self.log
        header = {"pointer_size": log.pointer_size, "processors": log.processors, "clock": CLOCK_NAMES[log.clock],
                  "frequency": log.frequency, "start_time": filetime_text(log.start_time),
                  "end_time": filetime_text(log.end_time), "boot_time": filetime_text(log.boot_time),
                  "logger_name": log.logger_name, "log_file_name": log.log_file_name,
                  "log_file_mode": log.log_file_mode, "events_lost": log.events_lost,
                  "buffers_lost": log.buffers_lost, "buffers_written": log.buffers_written, "os_build": log.os_build,
                  "os_version": "%d.%d" % log.os_version, "trace_version": "%d.%d" % log.trace_version,
                  "cpu_mhz": log.cpu_mhz, "timer_resolution": log.timer_resolution,
                  "maximum_file_size": log.maximum_file_size, "buffer_size": log.buffer_size,
                  "start_ticks": log.start_ticks, "start_filetime": log.start_time, "end_filetime": log.end_time,
                  "boot_filetime": log.boot_time, "header_record": "SYSTEM32" if log.pointer_size == 4 else "SYSTEM64"}
        counts = {"events": sum(kinds.values()), "buffers": len(self.buffers),
                  "kinds": [{"header": key[0], "provider": key[1], "id": key[2], "opcode": key[3], "version": key[4],
                             "count": kinds[key], "bytes": sizes[key]}
                            for key in sorted(kinds, key=lambda key: (-kinds[key], key[0], key[1] or "", key[2:]))]}
        return {"file": f"{self.name}.etl", "about": self.about, "ambiguous": self.ambiguous, "size": len(data),
                "header": header, "buffers": len(self.buffers), "events": events, "filetimes": filetimes,
                "extended": extended, "counts": counts, "damaged": self.damaged,
                "check_fails": sorted(self.check_fails)}

    def write(self, folder):
        self.finish_header()
        data = w.file_bytes(self.buffers)
        for change in self.damage:
            data = change(data)
        truth = self.truth(data)
        (folder / f"{self.name}.etl").write_bytes(data)
        lines = []
        for key, value in truth.items():
            if key == "events" and value:
                value = "[\n" + ",\n".join("  " + json.dumps(event) for event in value) + "\n ]"
            else:
                value = json.dumps(value)
            lines.append(f" {json.dumps(key)}: {value}")
        (folder / f"{self.name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return len(data)


class Ticker:
    """Timestamps that rise by `step`."""

    def __init__(self, start=START_TICKS + 1000, step=250):
        self.now = start
        self.step = step

    def __call__(self):
        self.now += self.step
        return self.now


def manifest_event(ticks, number, *, bits=64, length=16, **fields):
    fields.setdefault("tid", 4000 + number)
    fields.setdefault("pid", 400 + number % 7)
    return w.event_header(bits, MANIFEST, 100 + number % 5, ticks, level=4, keyword=0x8000000000000001,
                          payload=pattern(length, number), **fields)


# ------------------------------------------------------------------------------------------------- cases


def fill_all_headers(case, own_bits):
    """Every record header kind, in the width of the file first and then in the other one."""
    ticks = Ticker()
    current = {}

    def add(record, cpu=0):
        if cpu not in current or not current[cpu].has_room(record):
            current[cpu] = case.buffer(cpu)
        current[cpu].add(record)

    for bits in (own_bits, 96 - own_bits):
        for group in list(range(1, len(GROUP_GUIDS))) + [0x1F, 0xFF]:
            add(w.system(bits, group, 5 + group % 40, ticks(), tid=8 * group, pid=4 * group, version=group % 5,
                         kernel_time=group, user_time=2 * group, payload=pattern(group % 9, group)))
            add(w.perfinfo(bits, group, 40 + group % 40, ticks(), version=2 + group % 3,
                           payload=pattern(8 + group % 9, group)))
            add(w.compact(bits, group, 80 + group % 40, ticks(), tid=0xFFFFFFFF, pid=0xFFFFFFFF,
                          payload=pattern(group % 11, group)))
        for opcode in (5, 8, 32):
            add(w.perfinfo(bits, 0, opcode, ticks(), payload=b"" if opcode == 8 else bytes(36)))
        for opcode in (2, 3, 4, 10):
            add(w.system(bits, 3, opcode, ticks(), tid=12, pid=16, version=3, payload=pattern(56, opcode)))
            add(w.perfinfo(bits, 0x14, opcode, ticks(), version=3, payload=pattern(56, opcode)))
        for length in range(10):
            add(w.full_header(bits, CLASSIC, 30 + length % 3, ticks(), tid=77, pid=7, version=length % 4,
                              level=length % 6, kernel_time=3, user_time=9, payload=pattern(length, length)), 1)
            add(w.instance(bits, CLASSIC, 60 + length % 3, ticks(), instance=1000 + length, parent_instance=7,
                           parent_guid=ACTIVITY, tid=78, pid=8, version=1, level=2,
                           payload=pattern(length, length + 1)), 1)
            add(w.event_header(bits, MANIFEST, 65535 - length, ticks(), tid=79, pid=9, version=length, channel=16,
                               level=5, opcode=240 + length, task=60000 + length, keyword=1 << (6 * length + 9),
                               activity=ACTIVITY, processor_time=12345, payload=pattern(length, length + 2)), 2)
            add(w.event_header(bits, TRACELOG, 0, ticks(), tid=80, pid=10, channel=11, level=5,
                               items=[(12, b"\x09\0Oracle\0"), (11, b"\x0b\0\0Tick\0a\0\x0e")],
                               payload=struct.pack("<H", length) + pattern(length, length + 3)), 2)
            add(w.message(length, w.MSG_SEQUENCE | w.MSG_GUID | w.MSG_TIMESTAMP | w.MSG_SYSTEM_INFO | w.MSG_POINTER64,
                          sequence=length, guid=WPP, timestamp=ticks(), tid=81, pid=11,
                          payload=pattern(length, length + 4)), 3)
            add(w.timed(0xAABBCC00 + length, ticks(), payload=pattern(length, length + 5)), 3)
        add(w.error(pattern(76, 1)), 3)
        add(w.unknown(40, pattern(20, 2)), 3)
        add(manifest_event(ticks(), 1), 3)


def all_headers():
    case = Case("all_headers", "every record header kind in a file of a 64-bit system", size=8192)
    fill_all_headers(case, 64)
    return case


def all_headers_32():
    case = Case("all_headers_32", "every record header kind in a file of a 32-bit system", size=8192, pointer_size=4,
                logger_name_pointer=5, log_file_name_pointer=6, logger_name="", time_zone_bias=-60)
    fill_all_headers(case, 32)
    return case


def unknown_types():
    case = Case("unknown_types", "records of unknown types: bit 31 set, size in the low half", ambiguous=True)
    ticks = Ticker()
    buffer = case.buffer(0)
    for number, (kind, flags) in enumerate([(0, 0xC0), (5, 0xC0), (22, 0xC0), (254, 0xC0), (7, 0x80), (9, 0xA0)]):
        buffer.add(manifest_event(ticks(), number), w.unknown(kind, pattern(number * 3, number), marker_flags=flags))
    return case


def wpp_case(name, about, wanted, **fields):
    case = Case(name, about, processors=2, **fields)
    ticks = Ticker()
    buffer = case.buffer(1)
    buffer.add(manifest_event(ticks(), 0))
    for flags in range(256):
        if not wanted(flags):
            continue
        record = w.message(10 + flags, flags, sequence=flags, guid=WPP, component=0xC0000 + flags, timestamp=ticks(),
                           tid=900 + flags, pid=90, payload=pattern(flags % 23, flags))
        if not buffer.has_room(record):
            buffer = case.buffer(1)
        buffer.add(record)
    return case


def both_ids(flags):
    return flags & 0x06 == 0x06


def only_performance(flags):
    return flags & 0x18 == 0x10


def wpp():
    return wpp_case("wpp", "WPP messages with every sensible set of option flags",
                    lambda flags: not both_ids(flags) and not only_performance(flags))


def wpp_odd_flags():
    return wpp_case("wpp_odd_flags", "WPP messages with GUID and component id, or flag 0x10 without 0x08",
                    lambda flags: both_ids(flags) or only_performance(flags), ambiguous=True)


def pmc():
    case = Case("pmc", "kernel records with PEBS index and PMC values between header and payload")
    ticks = Ticker()
    for cpu in range(2):
        buffer = case.buffer(cpu)
        for bits in (64, 32):
            for pebs in (None, 0xFFFFFFFF00000000 + bits):
                for number in range(5):
                    values = [0x0101010101010101 * (number + i) for i in range(number)]
                    buffer.add(w.perfinfo(bits, 0x0F, 46, ticks(), pebs=pebs, pmc=values, payload=pattern(16, number)),
                               w.perfinfo(bits, 0x05, 36, ticks(), version=4, pebs=pebs, pmc=values, spare_bits=15,
                                          payload=pattern(24, number)))
                    if cpu:
                        buffer.add(w.system(bits, 0x0F, 51, ticks(), tid=5, pid=6, pebs=pebs, pmc=values,
                                            payload=pattern(8, number)))
    return case


def clock_case(name, about, clock, ticks, **log):
    case = Case(name, about, clock=clock, **log)
    for cpu in range(2):
        buffer = case.buffer(cpu)
        for number in range(20):
            buffer.add(manifest_event(ticks(), number))
    return case


def clock_system():
    return clock_case("clock_system", "clock type 2: timestamps are FILETIMEs", 2,
                      Ticker(FILETIME_2024 + 17, 1_234_567), start_ticks=FILETIME_2024)


def clock_cycles():
    return clock_case("clock_cycles", "clock type 3: timestamps are CPU cycles", 3,
                      Ticker(START_TICKS - 5, 987_654_321), cpu_mhz=2387)


def qpc_case(name, frequency):
    case = clock_case(name, f"performance counter of {frequency} Hz; two events before the log file header", 1,
                      Ticker(START_TICKS - 2 * frequency - 1, frequency - 7), frequency=frequency)
    far = case.buffer(0)
    far.add(manifest_event(START_TICKS + 400 * 86400 * frequency + 1, 99))
    return case


def qpc_scaled():
    return qpc_case("qpc_scaled", 3_579_545)


def qpc_scaled_24m():
    return qpc_case("qpc_scaled_24m", 24_000_000)


def qpc_scaled_odd():
    return qpc_case("qpc_scaled_odd", 2_994_853)


def circular():
    case = Case("circular", "wrapped circular file: the oldest buffers stand after the newest", processors=2,
                log_file_mode=w.MODE_CIRCULAR, maximum_file_size=1)
    case.check_fails = ["sequence-start"]
    for sequence in (13, 14, 15, 16, 9, 10, 11, 12):
        buffer = case.buffer(sequence % 2, sequence=sequence)
        for number in range(6):
            buffer.add(manifest_event(START_TICKS + sequence * 10_000 + number * 1500, sequence * 10 + number))
    return case


def append():
    case = Case("append", "a second session appended: a HEADER buffer in mid-file", log_file_mode=w.MODE_APPEND,
                clock=2, start_ticks=FILETIME_2024, processors=2)
    ticks = Ticker(FILETIME_2024 + 100, 77)
    for cpu in (0, 1):
        buffer = case.buffer(cpu)
        for number in range(5):
            buffer.add(manifest_event(ticks(), number))
    second = w.LogHeader(buffer_size=case.size, processors=2, clock=2, log_file_mode=w.MODE_APPEND,
                         start_time=ticks() + 1_000_000, start_ticks=ticks.now + 1_000_000, logger_name="second",
                         frequency=1, buffers_written=3)
    ticks.now += 1_000_000
    case.buffer(0, type=w.TYPE_HEADER).add(second.record())
    for cpu in (1, 0):
        buffer = case.buffer(cpu)
        for number in range(5):
            buffer.add(manifest_event(ticks(), 50 + number))
    return case


def unfinalised():
    case = Case("unfinalised", "a session that never closed: BuffersWritten 0, EndTime 0", buffers_written=0,
                end_time=0)
    case.check_fails = ["count", "flush-marker"]
    case.flush_last = False
    ticks = Ticker()
    for cpu in (0, 1, 0):
        case.buffer(cpu).add(*[manifest_event(ticks(), number) for number in range(8)])
    return case


def cut_case(name, about, keep_records, into):
    """Three buffers; the file ends `into` bytes into record number `keep_records` of the last one."""
    case = Case(name, about)
    ticks = Ticker()
    for cpu in (0, 1, 0):
        case.buffer(cpu).add(*[manifest_event(ticks(), number, length=40) for number in range(12)])
    last = case.buffers[-1]
    start = 3 * case.size
    offset = last.offsets[keep_records]
    case.damage.append(lambda data: w.truncate(data, start + offset + into))
    case.lose(last, keep_records, "truncated", start + offset, offset, into)
    case.check_fails = ["walk", "file-size", "no-damage"]
    return case


def truncated():
    return cut_case("truncated", "the file ends inside a record of the last buffer", 5, 50)


def truncated_short():
    return cut_case("truncated_short", "the file ends 3 bytes into a record of the last buffer", 7, 3)


def truncated_header():
    case = Case("truncated_header", "the file ends inside a buffer header", buffers_written=4)
    ticks = Ticker()
    for cpu in (0, 1, 0):
        case.buffer(cpu).add(*[manifest_event(ticks(), number) for number in range(12)])
    lost = case.buffers.pop()
    lost.flag |= w.FLUSH_MARKER
    case.flush_last = False
    case.damage.append(lambda data: data + lost.encode()[:40])
    case.damaged.append({"ordinal": 3, "file_offset": 3 * case.size, "offset": 0, "length": 40, "reason": "truncated"})
    case.check_fails = ["count", "file-size", "flush-marker", "no-damage"]
    return case


def preallocated():
    case = Case("preallocated", "zeros from a buffer boundary to the end of the file", log_file_mode=0x20,
                ambiguous=True)
    ticks = Ticker()
    for cpu in (0, 1):
        case.buffer(cpu).add(*[manifest_event(ticks(), number) for number in range(12)])
    case.damage.append(lambda data: data + bytes(3 * case.size))
    case.check_fails = ["file-size"]
    return case


def old_alignment():
    case = Case("old_alignment", "before Windows 8: byte 0x28 is the processor, byte 0x29 an alignment of 8",
                os_version=(6, 1), os_build=7601, frequency=2_994_853)
    case.head.alignment = 8
    case.head.saved_offset = 0
    ticks = Ticker()
    for cpu in (0, 3, 1, 2, 3, 0):
        buffer = case.buffer(cpu, flag=0, alignment=8, current_offset=0, logger_id=20)
        buffer.add(*[manifest_event(ticks(), number) for number in range(9)])
    return case


def sequence_908():
    case = Case("sequence_908", "a rolled file whose data buffers begin with sequence number 908",
                log_file_mode=8, processors=3)
    case.check_fails = ["sequence-start"]
    ticks = Ticker()
    for number, cpu in enumerate((1, 0, 2, 0, 1)):
        buffer = case.buffer(cpu, sequence=908 + number)
        buffer.add(*[manifest_event(ticks(), 10 * number + i) for i in range(7)])
    return case


def compressed_case(name, about, state, size, **fields):
    case = Case(name, about, size=size, header_size=1024, trace_version=(2, 0), logger_name="Relogger",
                log_file_name="[multiple files]", processors=2,
                log_file_mode=w.MODE_RELOG | w.MODE_SEQUENTIAL | w.MODE_COMPRESSED, **fields)
    case.head.state = state
    return case


def fill_buffer(buffer, ticks, length, make, seed=0):
    """Adds events until `buffer` is full."""
    number = seed
    while True:
        record = w.event_header(64, MANIFEST, 100 + number % 3, ticks(), tid=number, pid=9, level=4,
                                payload=make(length + number % 13, number))
        if not buffer.has_room(record):
            return
        buffer.add(record)
        number += 1


def lznt1():
    case = compressed_case("lznt1", "LZNT1 buffers: uncompressed chunks, compressed ones, both; one without end mark",
                           2, 16384)
    ticks = Ticker()
    plans = [(w.lznt1_stored, pattern), (w.lznt1, words), (w.lznt1, pattern),
             (lambda data: w.lznt1_stored(data, terminated=False), words)]
    for number, (compress, make) in enumerate(plans):
        fill_buffer(case.buffer(number % 2, compression=compress), ticks, 100 + 300 * number, make, number)
    buffer = case.buffer(0, compression=w.lznt1)
    buffer.add(w.perfinfo(64, 0x0F, 46, ticks(), payload=bytes(12000)))
    return case


def xpress():
    case = compressed_case("xpress", "XPRESS buffers: literals only, matches, long matches, an odd size", 3, 65536)
    ticks = Ticker()
    plans = [(w.xpress_literal, pattern, 60), (w.xpress, words, 200), (w.xpress, pattern, 900)]
    for number, (compress, make, length) in enumerate(plans):
        buffer = case.buffer(number % 2, compression=compress, capacity=16384 if number == 0 else None)
        fill_buffer(buffer, ticks, length, make, number)
    for number, length in enumerate((1, 9, 10, 17, 24, 25, 26, 32, 33, 279, 280, 281, 287, 300, 5000, 40000)):
        buffer = case.buffer(number % 2, compression=w.xpress)
        buffer.add(w.perfinfo(64, 0x0F, 46, ticks(), payload=b"\xa5" * length),
                   w.perfinfo(64, 0x0F, 47, ticks(), payload=b"\x5a" * (length // 2)))
    case.buffer(0, compression=w.xpress_literal).add(w.perfinfo(64, 0, 8, ticks()))
    return case


def xpress_huffman():
    case = compressed_case("xpress_huffman", "XPRESS Huffman: literals only, over two blocks, and with matches", 4,
                           131072)
    ticks = Ticker()
    fill_buffer(case.buffer(0, compression=w.xpress_huffman_literal, capacity=5000), ticks, 50, pattern, 1)
    fill_buffer(case.buffer(1, compression=w.xpress_huffman_literal, capacity=90000), ticks, 700, pattern, 2)
    fill_buffer(case.buffer(0, compression=w.xpress_huffman), ticks, 500, words, 3)
    for number, length in enumerate((1, 17, 18, 19, 272, 273, 274, 5000)):
        buffer = case.buffer(number % 2, compression=w.xpress_huffman)
        buffer.add(w.perfinfo(64, 0x0F, 46, ticks(), payload=b"\xa5" * length))
    return case


def stored_in_compressed():
    case = compressed_case("stored_in_compressed", "uncompressed buffers between compressed ones, full-size and tight",
                           3, 8192)
    ticks = Ticker()
    for number in range(8):
        compression = w.xpress if number % 3 == 0 else None
        buffer = case.buffer(number % 2, compression=compression)
        fill_buffer(buffer, ticks, 150 + 100 * number, words if compression else pattern, number)
        if number % 3 == 1:
            buffer.size = buffer.filled
    return case


def damaged_compressed():
    case = compressed_case("damaged_compressed", "a compressed buffer whose first symbol reaches before the start", 3,
                           8192)
    ticks = Ticker()
    for number in range(4):
        fill_buffer(case.buffer(number % 2, compression=w.xpress), ticks, 200, words, number)
    broken = case.buffers[2]
    start = case.start_of(broken)
    case.damage.append(lambda data: w.overwrite(data, start + w.BUFFER_HEADER_SIZE, "IH", 0xFFFFFFFF, 0x0040))
    case.lose(broken, 0, "inflate", start, 0, len(broken.encode()))
    case.check_fails = ["inflated-length", "no-damage"]
    return case


def truncated_compressed():
    case = compressed_case("truncated_compressed", "the file ends inside a compressed buffer", 3, 8192)
    ticks = Ticker()
    for number in range(3):
        fill_buffer(case.buffer(number % 2, compression=w.xpress_literal), ticks, 200, pattern, number)
    last = case.buffers[-1]
    start = case.start_of(last)
    case.damage.append(lambda data: w.truncate(data, start + 3000))
    case.lose(last, 0, "truncated", start, 0, 3000)
    case.check_fails = ["inflated-length", "file-size", "no-damage"]
    return case


def mixed_sizes():
    case = Case("mixed_sizes", "uncompressed buffers of many sizes, an odd one among them", size=16384,
                header_size=1024, processors=2)
    ticks = Ticker()
    for number, size in enumerate((16384, 1024, 4096, 3001, 8192, 16384, 1000, 2048)):
        fill_buffer(case.buffer(number % 2, size=size), ticks, 30 + 40 * number, pattern, number)
    return case


def time_back():
    case = Case("time_back", "timestamps that step back within a buffer, between buffers and below the header's",
                processors=3)
    case.check_fails = ["cpu-monotone"]
    steps = {0: [[100, 500, 300, 400, 600], [550, 610, -50, 700]], 1: [[90, 350, 360], [355, 340, 900, 20]],
             2: [[500, 500, 499, 500], [1000, 1, 2, 3]]}
    for number in range(2):
        for cpu in (2, 0, 1):
            buffer = case.buffer(cpu)
            for i, ticks in enumerate(steps[cpu][number]):
                buffer.add(manifest_event(START_TICKS + ticks, 100 * cpu + 10 * number + i))
    return case


def ties():
    case = Case("ties", "equal timestamps on several processors")
    for round_number in range(2):
        for cpu in (3, 1, 0, 2):
            buffer = case.buffer(cpu)
            for number in range(8):
                ticks = START_TICKS + 1000 * (round_number * 2 + number // 3)
                buffer.add(manifest_event(ticks, number + cpu * 20))
    return case


def no_timestamp():
    case = Case("no_timestamp", "records without a timestamp take that of the record before them, also across buffers",
                processors=2)
    ticks = Ticker()
    for number in range(6):
        buffer = case.buffer(number % 2)
        if number < 2:
            buffer.add(manifest_event(ticks(), number))
        for i in range(4):
            buffer.add(w.message(10 * number + i, w.MSG_GUID | w.MSG_SEQUENCE, guid=WPP, sequence=i,
                                 payload=pattern(5 + i, i)))
        buffer.add(manifest_event(ticks(), 30 + number))
        buffer.add(w.message(10 * number + 7, w.MSG_COMPONENT_ID, component=77, payload=pattern(3, number)))
    return case


def empty_buffers():
    case = Case("empty_buffers", "buffers without records, empty markers, a processor that has nothing else")
    ticks = Ticker()
    case.buffer(2)
    case.buffer(0, flag=w.PROC_INDEX | w.EVENTS_LOST).add(manifest_event(ticks(), 1))
    case.buffer(0, type=w.TYPE_EMPTY_MARKER)
    case.buffer(1)
    case.buffer(1, flag=w.PROC_INDEX | w.BUFFER_LOST).add(manifest_event(ticks(), 2))
    case.buffer(0, type=w.TYPE_EMPTY_MARKER, state=0)
    case.buffer(0).add(manifest_event(ticks(), 3))
    case.buffer(2)
    return case


def buffer_types():
    case = Case("buffer_types", "buffer types 1, 3 and 5 hold records, type 2 (CTX_SWAP) does not")
    ticks = Ticker()
    for number, kind in enumerate((w.TYPE_RUNDOWN, w.TYPE_CTX_SWAP, w.TYPE_REFTIME, w.TYPE_BATCHED, w.TYPE_GENERIC)):
        if kind == w.TYPE_CTX_SWAP:
            body = struct.pack("<q", START_TICKS) + bytes(80) + b"\x01\x00" * 40
            case.buffer(0, type=kind, body=body)
        else:
            case.buffer(number % 2, type=kind, state=number, logger_id=number, clock=0xFFFF8000DEADBEE0 + number,
                        context=(1 << 63, number), reference_count=-number,
                        timestamp=START_TICKS).add(manifest_event(ticks(), number))
    return case


def saved_offset():
    case = Case("saved_offset", "header buffer with records past SavedOffset; CurrentOffset is garbage", processors=2,
                buffers_written=3,
                log_file_mode=0x08000000)
    case.head.add(w.system(64, 0, 80, START_TICKS, tid=1, pid=2, version=2, payload=pattern(48, 1)),
                  w.system(64, 0, 5, START_TICKS + 3, tid=1, pid=2, payload=bytes(36)))
    case.head.saved_offset = w.BUFFER_HEADER_SIZE + w.align8(case.log.record().size)
    case.head.current_offset = 0xFFFFFFF0
    ticks = Ticker()
    for cpu in (1, 0):
        buffer = case.buffer(cpu, current_offset=case.size + 999)
        buffer.add(*[manifest_event(ticks(), number) for number in range(3)])
    return case


def large_record():
    case = Case("large_record", "records of 65535 bytes, the largest there can be", size=73728, header_size=4096,
                processors=2)
    ticks = Ticker()
    case.buffer(0).add(manifest_event(ticks(), 1, length=65535 - 80), manifest_event(ticks(), 2))
    buffer = case.buffer(1, size=68 * 1024)
    buffer.add(w.full_header(64, CLASSIC, 1, ticks(), payload=pattern(65535 - 48)), manifest_event(ticks(), 3))
    return case


def damaged_record():
    case = Case("damaged_record", "one bad record in each buffer hides the rest of it")
    ticks = Ticker()
    bad = [b"\x00\x00\x13\xc0" + bytes(100),                                    # size 0
           b"\x4f\x00\x13\xc0" + bytes(100),                                    # EVENT_HEADER64 of 79 bytes
           b"\x00\xf0\x13\xc0" + bytes(100),                                    # longer than what is left
           b"\x50\x00\x13\x40" + bytes(100),                                    # bit 31 clear
           b"\x02\x00\x02\xc0\x1f\x00\x0a\x03" + bytes(100),                    # SYSTEM64 of 31 bytes
           b"\x02\x00\x11\xc0\x0f\x00\x2e\x0f" + bytes(100),                    # PERFINFO64 of 15 bytes
           b"\x02\x00\x11\xc0\x00\x00\x2e\x0f" + bytes(100),                    # PERFINFO64 of size 0
           b"\x2f\x00\x14\xc0" + bytes(100),                                    # FULL_HEADER64 of 47 bytes
           b"\x07\x00\x00\x90" + bytes(100)]                                    # MESSAGE of 7 bytes
    for number, data in enumerate(bad):
        buffer = case.buffer(number % 4)
        buffer.add(*[manifest_event(ticks(), number) for _ in range(3)])
        buffer.add(w.raw(data), *[manifest_event(ticks(), number) for _ in range(4)])
        offset = buffer.offsets[3]
        case.lose(buffer, 3, "bad_record", (number + 1) * case.size + offset, offset, buffer.filled - offset)
    case.buffer(0).add(manifest_event(ticks(), 99))
    case.check_fails = ["walk", "no-damage"]
    return case


def damaged_buffer():
    case = Case("damaged_buffer", "bad buffer headers, each skipped to the next multiple of the BufferSize")
    ticks = Ticker()
    for number in range(11):
        case.buffer(number % 4).add(*[manifest_event(ticks(), number * 10 + i) for i in range(5)])
    changes = {2: (0, "I", 0), 4: (0, "I", 71), 6: (0, "I", (16 << 20) + 8), 8: (0x30, "I", 40)}
    for ordinal, (field, layout, value) in changes.items():
        start = ordinal * case.size
        case.damage.append(lambda data, at=start + field, layout=layout, value=value:
                           w.overwrite(data, at, layout, value))
        case.lose(case.buffers[ordinal], 0, "bad_buffer", start, 0, case.size)
    # With a sane SavedOffset the buffer would still have an end (etl-format.md 1.2).
    case.damage.append(lambda data: w.overwrite(data, 8 * case.size + 4, "I", 40))
    zeroed = 10 * case.size
    case.damage.append(lambda data: w.zero(data, zeroed, 1000))
    case.lose(case.buffers[10], 0, "bad_buffer", zeroed, 0, case.size)
    case.check_fails = ["file-size", "no-damage", "sequence-dense"]
    return case


def many_cpus():
    cpus = (300, 1, 255, 256, 0, 1023, 511, 300, 2, 1023)
    case = Case("many_cpus", "16-bit processor indexes", processors=1024, trace_version=(2, 0))
    ticks = Ticker()
    for number, cpu in enumerate(cpus):
        case.buffer(cpu).add(*[manifest_event(ticks(), number * 10 + i) for i in range(3)])
    return case


def extended_item_list():
    sid = b"\x01\x05" + b"\0\0\0\0\0\x05" + struct.pack("<5I", 21, 1, 2, 3, 1001)
    number = struct.pack("<Q", 0x1122334455667788)
    return [(1, w.guid_bytes(ACTIVITY)), (2, sid), (3, struct.pack("<I", 7)),
            (4, struct.pack("<II", 5, 6) + w.guid_bytes(CLASSIC)),
            (5, struct.pack("<Q3I", 0, 0x77001000, 0x77002000, 0x401000)),
            (6, struct.pack("<Q4Q", 99, 0xFFFFF80000001000, 0xFFFFF80000002000, 0x7FF600001000, 0x7FF600002000)),
            (7, number), (8, struct.pack("<3Q", 1, 2, 3)), (9, number), (10, number),
            (11, b"\x0b\x00\x00Name\x00f\x00\x08"), (12, b"\x09\x00Oracle\x00"), (13, number),
            (14, w.guid_bytes(WPP)), (15, number), (16, w.guid_bytes(TRACELOG)),
            (17, struct.pack("<QII", 0, 0x80001000, 0)), (18, struct.pack("<QQ", 0, 0xFFFF800012345678))]


def ext_items():
    case = Case("ext_items", "every extended item type, alone, in the usual chains and all together", size=8192)
    every = extended_item_list()
    by_type = dict(every)
    chains = [[item] for item in every]
    chains += [[(kind, by_type[kind]) for kind in kinds]
               for kinds in ((12, 11), (6, 12, 11), (1, 6), (1, 6, 12, 11), (5, 17), (18, 6))]
    chains += [every, [(19, b"")], [(0x7FFF, pattern(length)) for length in range(1, 10)], [(2, b"\x01" * 3)] * 32]
    ticks = Ticker()
    for cpu, bits in enumerate((64, 32)):
        buffer = case.buffer(cpu)
        for number, chain in enumerate(chains):
            record = manifest_event(ticks(), number, bits=bits, items=chain, length=number % 17)
            if not buffer.has_room(record):
                buffer = case.buffer(cpu)
            buffer.add(record)
    return case


def ext_items_zero_stride():
    case = Case("ext_items_zero_stride", "extended items whose ItemSize is 0: the stride follows from DataSize",
                ambiguous=True)
    ticks = Ticker()
    buffer = case.buffer(0)
    for number, item in enumerate(extended_item_list()):
        buffer.add(manifest_event(ticks(), number, items=[item, (9, bytes(8))], zero_item_size=True))
    return case


CASES = (all_headers, all_headers_32, unknown_types, wpp, wpp_odd_flags, pmc, clock_system, clock_cycles, qpc_scaled,
         qpc_scaled_24m, qpc_scaled_odd, circular, append, unfinalised, truncated, truncated_short, truncated_header,
         truncated_compressed, preallocated, old_alignment, sequence_908, lznt1, xpress, xpress_huffman,
         stored_in_compressed, mixed_sizes, time_back, ties, no_timestamp, empty_buffers, buffer_types, saved_offset,
         large_record, damaged_record, damaged_buffer, damaged_compressed, many_cpus, ext_items, ext_items_zero_stride)


def make_all(folder):
    """Writes all cases; returns their names."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for build in CASES:
        case = build()
        size = case.write(folder)
        if size > 200 * 1024:
            raise ValueError(f"{case.name} has {size} bytes")
        names.append(case.name)
    return names


def main():
    parser = argparse.ArgumentParser(description="Writes the .etl test cases and their ground truth.")
    parser.add_argument("folder")
    names = make_all(parser.parse_args().folder)
    print(f"{len(names)} cases")


if __name__ == "__main__":
    main()

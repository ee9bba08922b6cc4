#!/usr/bin/env python3
"""Reads Windows .etl log files the slow and plain way: a second opinion for the reader and writer in C++.

A file is a row of buffers (72-byte header, records on 8-byte boundaries, fill). Trace() finds buffers and damage,
Trace.records() walks one buffer, Trace.merged() gives all records in the order of the trace:

  k-way merge of the per-CPU streams by the head's merge time; merge time = max(own timestamp, previous merge time of
  that stream); a stream (buffers of one processor sorted by sequence number) is never reordered; a record without a
  timestamp inherits the previous one's; ties by (cpu, buffer sequence, offset).

Choices where the layout leaves room (the case files of make_cases.py avoid most of them):
  - valid data ends at Offset (0x30), cut at the buffer's end; a rest that is all fill or all zero is no damage;
  - a bad record ends its buffer; a buffer that does not inflate has no records and counts as one ordinal;
  - a bad buffer header in an uncompressed file costs everything to the next multiple of the log header's BufferSize;
    in a compressed file, where nothing marks the next buffer, it costs the rest of the file;
  - zeros from a buffer boundary to the end of the file are an unused tail, not damage;
  - a record without a timestamp at the head of a stream gets the log file header's timestamp;
  - MESSAGE: a component id excludes a GUID; only flag 0x08 stores a timestamp;
  - TIMED is marker 0xB0; ERROR and unknown types have a 4-byte header (the marker), the rest is payload;
  - records without a provider (MESSAGE without GUID, TIMED, ERROR, unknown) have provider null.
"""

import argparse
import heapq
import json
import struct
import sys
import uuid
from collections import Counter

from etl_names import group_guid

BUFFER_HEADER_SIZE = 72
MAX_BUFFER_SIZE = 16 << 20
MODE_COMPRESSED = 0x04000000
FLAG_FLUSH_MARKER = 0x0001
FLAG_PROC_INDEX = 0x0020
FLAG_COMPRESSED = 0x0040
TYPE_CTX_SWAP = 2
TYPE_HEADER = 4
CLOCKS = {0: "raw", 1: "qpc", 2: "system", 3: "cycles"}

FIXED_HEADERS = {1: "SYSTEM32", 2: "SYSTEM64", 3: "COMPACT32", 4: "COMPACT64", 10: "FULL_HEADER32",
                 20: "FULL_HEADER64", 11: "INSTANCE32", 21: "INSTANCE64", 13: "ERROR", 16: "PERFINFO32",
                 17: "PERFINFO64", 18: "EVENT_HEADER32", 19: "EVENT_HEADER64"}
SIZE_AT_4 = {1, 2, 3, 4, 16, 17}

U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
SYSTEM = struct.Struct("<HBBHBBIIq")
PERFINFO = struct.Struct("<HBBHBBq")
FULL = struct.Struct("<HBBBBHIIq16s")
EVENT = struct.Struct("<HBBHHIIq16sHBBBBHQ")
ITEM = struct.Struct("<HHHH")
NO_GUID = bytes(16)

_guid_texts = {}


class Unreadable(Exception):
    """The file as a whole cannot be read."""


class BadRecord(Exception):
    pass


class BadData(Exception):
    """Compressed bytes that do not inflate."""


def guid_text(raw):
    text = _guid_texts.get(raw)
    if text is None:
        text = _guid_texts[raw] = str(uuid.UUID(bytes_le=raw))
    return text


def instance_id(ordinal, offset):
    return ordinal << 21 | offset // 8


# ------------------------------------------------------------------------------------------------- inflating


def _copy(out, distance, length):
    if distance > len(out):
        raise BadData(f"match reaches {distance - len(out)} bytes before the start")
    start = len(out) - distance
    if distance >= length:
        out += out[start:start + length]
    else:
        unit = out[start:]
        out += (unit * (length // distance + 1))[:length]


def inflate_xpress(src, want):
    """MS-XCA 2.4, plain LZ77."""
    out = bytearray()
    pos = 0
    end = len(src)
    nibble_at = -1
    try:
        while len(out) < want:
            flags, = U32.unpack_from(src, pos)
            pos += 4
            left = 32
            while left and len(out) < want:
                literals = left - flags.bit_length()
                if literals:
                    literals = min(literals, want - len(out))
                    if pos + literals > end:
                        raise BadData("literals end early")
                    out += src[pos:pos + literals]
                    pos += literals
                    left -= literals
                    continue
                left -= 1
                flags &= (1 << left) - 1
                if pos == end:
                    raise BadData("input ends early")
                word, = U16.unpack_from(src, pos)
                pos += 2
                length = word & 7
                if length == 7:
                    if nibble_at < 0:
                        nibble_at = pos
                        length = src[pos] & 15
                        pos += 1
                    else:
                        length = src[nibble_at] >> 4
                        nibble_at = -1
                    if length == 15:
                        length = src[pos]
                        pos += 1
                        if length == 255:
                            length, = U16.unpack_from(src, pos)
                            pos += 2
                            if length == 0:
                                length, = U32.unpack_from(src, pos)
                                pos += 4
                            if length < 22:
                                raise BadData("long match length below 22")
                            length -= 22
                        length += 15
                    length += 7
                length += 3
                if len(out) + length > want:
                    raise BadData("match runs past the end")
                _copy(out, (word >> 3) + 1, length)
    except (struct.error, IndexError):
        raise BadData("input ends early") from None
    return bytes(out)


def inflate_lznt1(src, want):
    """MS-XCA 2.5: chunks of up to 4096 bytes, tokens split by the position in the chunk."""
    out = bytearray()
    pos = 0
    while len(out) < want and pos + 2 <= len(src):
        head, = U16.unpack_from(src, pos)
        if head == 0:
            break
        pos += 2
        chunk_end = pos + (head & 0xFFF) + 1
        if chunk_end > len(src):
            raise BadData("chunk ends early")
        if not head & 0x8000:
            out += src[pos:chunk_end]
            pos = chunk_end
            continue
        base = len(out)
        while pos < chunk_end:
            flags = src[pos]
            pos += 1
            for bit in range(8):
                if pos >= chunk_end:
                    break
                if not flags >> bit & 1:
                    out.append(src[pos])
                    pos += 1
                    continue
                if pos + 2 > chunk_end:
                    raise BadData("token ends early")
                token, = U16.unpack_from(src, pos)
                pos += 2
                done = len(out) - base
                offset_bits = 4
                while done > 1 << offset_bits:
                    offset_bits += 1
                distance = (token >> (16 - offset_bits)) + 1
                if distance > done:
                    raise BadData("match reaches before the chunk")
                _copy(out, distance, (token & (0xFFFF >> offset_bits)) + 3)
        if len(out) - base > 4096:
            raise BadData("chunk of more than 4096 bytes")
    if len(out) != want:
        raise BadData(f"{len(out)} bytes instead of {want}")
    return bytes(out)


def _huffman_lookup(table):
    """512 4-bit code lengths -> list of 32768 (symbol, length), indexed by the next 15 bits."""
    lengths = []
    for byte in table:
        lengths += (byte & 15, byte >> 4)
    lookup = []
    for symbol in sorted((s for s in range(512) if lengths[s]), key=lambda s: (lengths[s], s)):
        lookup += [(symbol, lengths[symbol])] * (1 << (15 - lengths[symbol]))
    if len(lookup) > 32768:
        raise BadData("more codes than fit")
    return lookup + [(None, 0)] * (32768 - len(lookup))


def inflate_xpress_huffman(src, want):
    """MS-XCA 2.1 and 2.2: 64 KiB blocks, each a code table and a stream of 16-bit words."""
    out = bytearray()
    pos = 0
    try:
        while len(out) < want:
            block_end = min(want, len(out) + 65536)
            if pos + 260 > len(src):
                raise BadData("code table ends early")
            lookup = _huffman_lookup(src[pos:pos + 256])
            pos += 256
            window = U16.unpack_from(src, pos)[0] << 16 | U16.unpack_from(src, pos + 2)[0]
            pos += 4
            extra = 16

            while len(out) < block_end:
                symbol, count = lookup[window >> 17]
                if symbol is None:
                    raise BadData("bits that are no code")
                window = window << count & 0xFFFFFFFF
                extra -= count
                if extra < 0:
                    window |= U16.unpack_from(src, pos)[0] << -extra
                    pos += 2
                    extra += 16
                if symbol < 256:
                    out.append(symbol)
                    continue
                length = symbol & 15
                offset_bits = symbol - 256 >> 4
                if length == 15:
                    length = src[pos]
                    pos += 1
                    if length == 255:
                        length, = U16.unpack_from(src, pos)
                        pos += 2
                        if length == 0:
                            length, = U32.unpack_from(src, pos)
                            pos += 4
                        if length < 15:
                            raise BadData("long match length below 15")
                        length -= 15
                    length += 15
                length += 3
                distance = (1 << offset_bits) + (window >> 32 - offset_bits)
                window = window << offset_bits & 0xFFFFFFFF
                extra -= offset_bits
                if extra < 0:
                    window |= U16.unpack_from(src, pos)[0] << -extra
                    pos += 2
                    extra += 16
                if len(out) + length > block_end:
                    raise BadData("match runs past the block")
                _copy(out, distance, length)
    except (struct.error, IndexError):
        raise BadData("input ends early") from None
    return bytes(out)


INFLATERS = {2: inflate_lznt1, 3: inflate_xpress, 4: inflate_xpress_huffman}


# ------------------------------------------------------------------------------------------------- records


class Record:
    """One record. `timestamp` is None where the record has none, until Trace.merged() fills it in."""

    __slots__ = ("buffer", "offset", "header", "size", "provider", "event_id", "version", "opcode", "level", "task",
                 "keyword", "channel", "pid", "tid", "timestamp", "payload", "items", "items_ok", "activity")

    def __init__(self):
        self.provider = self.pid = self.tid = self.timestamp = None
        self.event_id = self.version = self.opcode = self.level = self.task = self.keyword = self.channel = 0
        self.items = ()
        self.items_ok = True
        self.activity = NO_GUID

    @property
    def id(self):
        return instance_id(self.buffer.ordinal, self.offset)

    def as_event(self):
        return {"id": str(self.id), "ts": self.timestamp, "cpu": self.buffer.cpu, "pid": self.pid, "tid": self.tid,
                "header": self.header, "provider": self.provider, "event_id": self.event_id, "version": self.version,
                "opcode": self.opcode, "level": self.level, "task": self.task, "keyword": f"0x{self.keyword:x}",
                "size": self.size, "payload": self.payload.hex()}


def _extended_items(data, pos, end):
    """Extended items from `pos`; returns (items, position of the user data, well formed)."""
    items = []
    while len(items) < 32:
        if pos + 8 > end:
            return items, pos, False
        stride, item_type, linkage, size = ITEM.unpack_from(data, pos)
        if stride == 0:
            stride = (8 + size + 7) & ~7
        if stride < 8 or stride % 8 or size > stride - 8 or pos + stride > end:
            return items, pos, False
        items.append((item_type, data[pos + 8:pos + 8 + size]))
        pos += stride
        if not linkage & 1:
            return items, pos, True
    return items, pos, False


def parse_record(data, pos, end):
    """The record at `pos` of an inflated buffer whose valid data ends at `end`."""
    if end - pos < 4:
        raise BadRecord("no room for a marker")
    marker, = U32.unpack_from(data, pos)
    if not marker & 0x80000000:
        raise BadRecord(f"marker 0x{marker:08x} without bit 31")
    flags = marker >> 24
    kind = marker >> 16 & 0xFF
    record = Record()
    if flags & 0x40:
        name = FIXED_HEADERS.get(kind) or f"UNKNOWN{kind}"
        at_4 = kind in SIZE_AT_4
    else:
        name = {0x90: "MESSAGE", 0xB0: "TIMED"}.get(flags & 0xF0) or f"UNKNOWN{kind}"
        at_4 = False
    if at_4 and end - pos < 8:
        raise BadRecord("no room for a size")
    size = U16.unpack_from(data, pos + 4)[0] if at_4 else marker & 0xFFFF
    record.header = name
    record.offset = pos
    record.size = size
    stop = pos + size

    def need(count):
        if size < count:
            raise BadRecord(f"{name} of size {size}")
        if stop > end:
            raise BadRecord(f"{name} of size {size} with {end - pos} bytes left")

    if name.startswith("PERFINFO") or at_4:
        fixed = 16 if name.startswith("PERFINFO") else 24 if name.startswith("COMPACT") else 32
        need(fixed)
        if fixed == 16:
            word, _, _, _, opcode, group, record.timestamp = PERFINFO.unpack_from(data, pos)
        else:
            word, _, _, _, opcode, group, record.tid, record.pid, record.timestamp = SYSTEM.unpack_from(data, pos)
        start = fixed + 8 * ((word >> 15) + (word >> 8 & 7))
        need(start)
        record.version = word & 0xFF
        record.opcode = opcode
        record.provider = group_guid(group, opcode)
    elif name.startswith("EVENT_HEADER"):
        start = 80
        need(start)
        (_, _, _, event_flags, _, record.tid, record.pid, record.timestamp, raw, record.event_id, record.version,
         record.channel, record.level, record.opcode, record.task, record.keyword) = EVENT.unpack_from(data, pos)
        record.provider = guid_text(raw)
        record.activity = bytes(data[pos + 64:pos + 80])
        if event_flags & 1:
            record.items, where, record.items_ok = _extended_items(data, pos + start, stop)
            start = where - pos
    elif name.startswith(("FULL", "INSTANCE")):
        start = 48 if name.startswith("FULL") else 72
        need(start)
        (_, _, _, record.opcode, record.level, record.version, record.tid, record.pid, record.timestamp,
         raw) = FULL.unpack_from(data, pos)
        record.provider = guid_text(raw)
    elif name == "MESSAGE":
        need(8)
        record.event_id, options = struct.unpack_from("<HH", data, pos + 4)
        start = 8
        if options & 0x01:
            start += 4
        if options & 0x04:
            start += 4
        elif options & 0x02:
            need(start + 16)
            record.provider = guid_text(bytes(data[pos + start:pos + start + 16]))
            start += 16
        if options & 0x08:
            need(start + 8)
            record.timestamp, = struct.unpack_from("<q", data, pos + start)
            start += 8
        if options & 0x20:
            need(start + 8)
            record.tid, record.pid = struct.unpack_from("<II", data, pos + start)
            start += 8
        need(start)
    elif name == "TIMED":
        start = 16
        need(start)
        record.timestamp, = struct.unpack_from("<q", data, pos + 8)
    else:
        start = 4
        need(start)
    record.payload = data[pos + start:stop]
    return record


# ------------------------------------------------------------------------------------------------- buffers


class Buffer:
    """One buffer header and where it stands; `bad` buffers are skipped ranges that only take an ordinal."""

    def __init__(self, data, file_offset, ordinal):
        (self.buffer_size, self.saved_offset, self.current_offset, self.reference_count, self.timestamp, self.sequence,
         self.clock, processor, alignment, self.logger_id, self.state, self.offset, self.flag,
         self.type) = struct.unpack_from("<IIIiqqQBBHIIHH", data, file_offset)
        self.cpu = (processor | alignment << 8) & 0x07FF if self.flag & FLAG_PROC_INDEX else processor
        self.file_offset = file_offset
        self.ordinal = ordinal
        self.stored = min(self.buffer_size, len(data) - file_offset)
        self.bad = False

    @property
    def compressed(self):
        return bool(self.flag & FLAG_COMPRESSED)

    @property
    def truncated(self):
        return self.stored < self.buffer_size

    def plausible(self):
        return (BUFFER_HEADER_SIZE <= self.buffer_size <= MAX_BUFFER_SIZE
                and BUFFER_HEADER_SIZE <= self.offset <= MAX_BUFFER_SIZE)


def filetime_text(value):
    """FILETIME as ISO 8601 with 100 ns digits; None for 0 and for values no calendar takes."""
    if not 0 < value < 2650467744000000000:
        return None
    days, ticks = divmod(value, 864_000_000_000)
    seconds, ticks = divmod(ticks, 10_000_000)
    # Civil date from days since 1601-01-01, in eras of 400 years beginning on 1 March 1600.
    days += 306
    era, day = divmod(days, 146097)
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    year += 1600 + era * 400 + (1 if month >= 10 else 0)
    month = month + 3 if month < 10 else month - 9
    return (f"{year:04}-{month:02}-{day:02}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            f".{ticks:07}Z")


def _read_wstr(data, pos):
    """UTF-16 string with its NUL at `pos`; returns (text, position after)."""
    end = pos
    while end + 2 <= len(data) and data[end:end + 2] != b"\0\0":
        end += 2
    return data[pos:end].decode("utf-16-le", "replace"), end + 2


def parse_log_header(record):
    """TRACE_LOGFILE_HEADER out of the first record."""
    body = record.payload
    narrow = record.header == "SYSTEM32"
    tail = 0xF0 if narrow else 0xF8
    if len(body) < tail + 32:
        raise Unreadable("log file header record is too short")
    (buffer_size, major, minor, sub, sub_minor, build, processors, end_time, resolution, maximum, mode, written, _,
     pointer_size, events_lost, mhz) = struct.unpack_from("<IBBBBIIqIIIIIIII", body, 0)
    boot_time, frequency, start_time, clock, buffers_lost = struct.unpack_from("<qqqII", body, tail)
    logger_name, after = _read_wstr(body, tail + 32)
    log_file_name, _ = _read_wstr(body, after)
    return {"pointer_size": pointer_size, "processors": processors, "clock": CLOCKS.get(clock & 7, str(clock)),
            "frequency": frequency, "start_time": filetime_text(start_time), "end_time": filetime_text(end_time),
            "boot_time": filetime_text(boot_time), "logger_name": logger_name, "log_file_name": log_file_name,
            "log_file_mode": mode, "events_lost": events_lost, "buffers_lost": buffers_lost,
            "buffers_written": written, "os_build": build, "os_version": f"{major}.{minor}",
            "trace_version": f"{sub}.{sub_minor}", "cpu_mhz": mhz, "timer_resolution": resolution,
            "maximum_file_size": maximum, "buffer_size": buffer_size, "start_ticks": record.timestamp,
            "start_filetime": start_time, "end_filetime": end_time, "boot_filetime": boot_time,
            "header_record": record.header}


# ------------------------------------------------------------------------------------------------- the file


class Trace:
    """A file in memory. `damaged` grows while buffers are walked; it is complete after merged() or counts()."""

    def __init__(self, data):
        self.data = data
        self.buffers = []
        self._damage = {}
        self._find_buffers()

    @property
    def damaged(self):
        return [self._damage[key] for key in sorted(self._damage)]

    def _lost(self, ordinal, file_offset, offset, length, reason):
        self._damage[file_offset] = {"ordinal": ordinal, "file_offset": file_offset, "offset": offset,
                                     "length": length, "reason": reason}

    def lost_at(self, file_offset):
        return file_offset in self._damage

    def _find_buffers(self):
        data = self.data
        if len(data) < BUFFER_HEADER_SIZE:
            raise Unreadable("shorter than one buffer header")
        first = Buffer(data, 0, 0)
        if not first.plausible() or first.compressed:
            raise Unreadable("the first buffer header is implausible")
        try:
            record = parse_record(data, BUFFER_HEADER_SIZE, min(first.stored, first.offset))
        except BadRecord as error:
            raise Unreadable(f"the first record is bad: {error}") from None
        hook = data[BUFFER_HEADER_SIZE + 6:BUFFER_HEADER_SIZE + 8]
        if record.header not in ("SYSTEM32", "SYSTEM64") or hook != b"\0\0":
            raise Unreadable("the first record is no log file header")
        self.header = parse_log_header(record)
        compressed_file = bool(self.header["log_file_mode"] & MODE_COMPRESSED)
        method = first.state & 0xFFFF
        self.inflate = INFLATERS.get(method if compressed_file else 3, inflate_xpress)
        step = self.header["buffer_size"]
        if not BUFFER_HEADER_SIZE <= step <= MAX_BUFFER_SIZE:
            step = first.buffer_size

        pos = 0
        while pos < len(data):
            ordinal = len(self.buffers)
            if len(data) - pos < BUFFER_HEADER_SIZE:
                if any(data[pos:]):
                    self._lost(ordinal, pos, 0, len(data) - pos, "truncated")
                break
            buffer = Buffer(data, pos, ordinal)
            if buffer.plausible():
                self.buffers.append(buffer)
                pos += buffer.buffer_size
                continue
            if not any(data[pos:pos + BUFFER_HEADER_SIZE]) and not any(data[pos:]):
                break
            after = len(data) if compressed_file else min((pos // step + 1) * step, len(data))
            buffer.bad = True
            self.buffers.append(buffer)
            self._lost(ordinal, pos, 0, after - pos, "bad_buffer")
            pos = after

    def image(self, buffer):
        """(bytes of the inflated buffer with its header, end of the valid data in it); None if there are none."""
        start = buffer.file_offset
        if buffer.bad:
            return None
        if not buffer.compressed:
            end = min(buffer.offset, buffer.stored)
            return self.data[start:start + end], end
        if buffer.truncated:
            self._lost(buffer.ordinal, start, 0, buffer.stored, "truncated")
            return None
        body = self.data[start + BUFFER_HEADER_SIZE:start + buffer.stored]
        try:
            inflated = self.inflate(body, buffer.offset - BUFFER_HEADER_SIZE)
        except BadData:
            self._lost(buffer.ordinal, start, 0, buffer.stored, "inflate")
            return None
        return self.data[start:start + BUFFER_HEADER_SIZE] + inflated, buffer.offset

    def records(self, buffer):
        """Records of one buffer in place order; the log file header record is among them."""
        found = None if buffer.type == TYPE_CTX_SWAP else self.image(buffer)
        if found is None:
            return
        data, end = found
        cut = not buffer.compressed and buffer.offset > buffer.stored and buffer.truncated
        pos = BUFFER_HEADER_SIZE
        reason = None
        while pos < end:
            rest = data[pos:pos + 4]
            if rest in (b"\xff" * 4, bytes(4)) and data.count(rest[:1], pos, end) == end - pos:
                break
            try:
                record = parse_record(data, pos, end)
            except BadRecord:
                reason = "truncated" if cut else "bad_record"
                break
            record.buffer = buffer
            yield record
            pos += (record.size + 7) & ~7
        if cut and reason is None:
            pos, reason = min(pos, end), "truncated"
        if reason:
            self._lost(buffer.ordinal, buffer.file_offset + pos, pos, end - pos, reason)

    def streams(self):
        """Processor index -> its buffers by sequence number."""
        result = {}
        for buffer in self.buffers:
            if not buffer.bad:
                result.setdefault(buffer.cpu, []).append(buffer)
        for buffers in result.values():
            buffers.sort(key=lambda buffer: (buffer.sequence, buffer.ordinal))
        return result

    def _stream(self, cpu, buffers):
        """(merge key, record) of one processor, the log file header record left out."""
        timestamp = self.header["start_ticks"]
        merge_time = None
        for buffer in buffers:
            for record in self.records(buffer):
                if buffer.ordinal == 0 and record.offset == BUFFER_HEADER_SIZE:
                    continue
                if record.timestamp is None:
                    record.timestamp = timestamp
                timestamp = record.timestamp
                merge_time = timestamp if merge_time is None else max(timestamp, merge_time)
                yield (merge_time, cpu, buffer.sequence, buffer.ordinal, record.offset), record

    def merged(self):
        """All events in the order of the trace."""
        streams = [self._stream(cpu, buffers) for cpu, buffers in self.streams().items()]
        heap = []
        for number, stream in enumerate(streams):
            head = next(stream, None)
            if head:
                heap.append((head[0], number, head[1]))
        heapq.heapify(heap)
        while heap:
            _, number, record = heap[0]
            yield record
            head = next(streams[number], None)
            if head:
                heapq.heapreplace(heap, (head[0], number, head[1]))
            else:
                heapq.heappop(heap)

    def counts(self):
        kinds = Counter()
        sizes = Counter()
        for buffer in self.buffers:
            for record in self.records(buffer):
                key = (record.header, record.provider, record.event_id, record.opcode, record.version)
                kinds[key] += 1
                sizes[key] += record.size
        order = sorted(kinds, key=lambda key: (-kinds[key], key[0], key[1] or "", key[2:]))
        return {"events": sum(kinds.values()), "buffers": len(self.buffers),
                "kinds": [{"header": key[0], "provider": key[1], "id": key[2], "opcode": key[3], "version": key[4],
                           "count": kinds[key], "bytes": sizes[key]} for key in order]}


# ------------------------------------------------------------------------------------------------- check


class _Findings(list):
    """First few complaints of one check, and how many there were."""

    def __init__(self):
        self.total = 0

    def add(self, text):
        self.total += 1
        if self.total <= 3:
            self.append(text)


CHECKS = ("header-first", "walk", "count", "sequence-dense", "sequence-start", "cpu-monotone", "fill", "file-size",
          "flush-marker", "ext-strides", "inflated-length", "no-damage")


def check(data):
    """Structural self-check of a file; name -> complaints (empty is good). Raises Unreadable."""
    found = {name: _Findings() for name in CHECKS}
    trace = Trace(data)
    buffers = trace.buffers
    good = [buffer for buffer in buffers if not buffer.bad]

    first = buffers[0]
    if first.type != TYPE_HEADER:
        found["header-first"].add(f"buffer 0 has type {first.type}")
    if trace.header["pointer_size"] != (4 if trace.header["header_record"] == "SYSTEM32" else 8):
        found["header-first"].add(f"{trace.header['header_record']} with pointer size {trace.header['pointer_size']}")

    times = {}
    for buffer in good:
        where = f"buffer {buffer.ordinal} at {buffer.file_offset}"
        times[buffer] = []
        if not buffer.compressed:
            if buffer.offset > buffer.buffer_size:
                found["walk"].add(f"{where}: Offset {buffer.offset} beyond BufferSize {buffer.buffer_size}")
            fill = data[buffer.file_offset + min(buffer.offset, buffer.stored):buffer.file_offset + buffer.stored]
            if fill.count(0xFF) != len(fill):
                found["fill"].add(f"{where}: {len(fill) - fill.count(0xFF)} bytes that are not 0xFF")
        if buffer.type == TYPE_CTX_SWAP:
            continue
        end = BUFFER_HEADER_SIZE
        for record in trace.records(buffer):
            end = record.offset + (record.size + 7 & ~7)
            if record.timestamp is not None and (buffer is not first or record.offset != BUFFER_HEADER_SIZE):
                times[buffer].append((record.offset, record.timestamp))
            if not record.items_ok:
                found["ext-strides"].add(f"{where}: record at {record.offset}")
        if buffer.compressed and trace.lost_at(buffer.file_offset):
            found["inflated-length"].add(f"{where}: does not inflate to Offset - 72")
        elif end != buffer.offset:
            found["walk"].add(f"{where}: records end at {end}, Offset is {buffer.offset}")

    if trace.header["buffers_written"] != len(buffers):
        found["count"].add(f"BuffersWritten {trace.header['buffers_written']}, {len(buffers)} buffers")

    sequences = sorted(buffer.sequence for buffer in good[1:])
    if sequences and sequences != list(range(sequences[0], sequences[0] + len(sequences))):
        found["sequence-dense"].add("sequence numbers of the data buffers have gaps or repeats")
    if first.sequence != 0:
        found["sequence-start"].add(f"buffer 0 has sequence number {first.sequence}")
    if sequences and sequences[0] != 1:
        found["sequence-start"].add(f"data buffers start at {sequences[0]}")

    for cpu, stream in sorted(trace.streams().items()):
        last = None
        for buffer in stream:
            for offset, timestamp in times[buffer]:
                if last is not None and timestamp < last:
                    found["cpu-monotone"].add(f"cpu {cpu}, buffer {buffer.ordinal}, record at {offset}: {timestamp} "
                                              f"after {last}")
                last = timestamp

    total = sum(buffer.buffer_size for buffer in good)
    if total != len(data):
        found["file-size"].add(f"file of {len(data)} bytes, buffers of {total}")
    for buffer in (good[0], good[-1]):
        if not buffer.flag & FLAG_FLUSH_MARKER:
            found["flush-marker"].add(f"buffer {buffer.ordinal} lacks it")
    for buffer in good[1:-1]:
        if buffer.flag & FLAG_FLUSH_MARKER:
            found["flush-marker"].add(f"buffer {buffer.ordinal} has it in mid-file")
    for entry in trace.damaged:
        found["no-damage"].add(f"{entry['reason']}: {entry['length']} bytes at {entry['file_offset']}")
    return found


def print_check(data, skip):
    failed = False
    for name, complaints in check(data).items():
        if not complaints:
            print(f"{name}: ok")
        elif name in skip:
            print(f"{name}: skipped")
        else:
            failed = True
            more = f" (and {complaints.total - len(complaints)} more)" if complaints.total > len(complaints) else ""
            print(f"{name}: FAIL {'; '.join(complaints)}{more}")
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------- command line


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Reads an .etl file the slow and plain way.")
    parser.add_argument("file")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--counts", action="store_true", help="events per kind as JSON")
    what.add_argument("--events", action="store_true", help="one JSON line per event in merged order")
    what.add_argument("--header", action="store_true", help="log file header as JSON")
    what.add_argument("--damage", action="store_true", help="damaged ranges as JSON")
    what.add_argument("--check", action="store_true", help="structural check; exit 1 if something fails")
    parser.add_argument("--skip", action="append", default=[], choices=CHECKS, help="a check that may fail")
    options = parser.parse_args(arguments)
    try:
        with open(options.file, "rb") as file:
            data = file.read()
        if options.check:
            return print_check(data, options.skip)
        trace = Trace(data)
    except (OSError, Unreadable) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 4
    if options.counts:
        print(json.dumps(trace.counts(), indent=1))
    elif options.header:
        print(json.dumps(trace.header, indent=1))
    elif options.damage:
        for _ in trace.merged():
            pass
        print(json.dumps(trace.damaged, indent=1))
    else:
        try:
            for record in trace.merged():
                print(json.dumps(record.as_event()))
        except BrokenPipeError:
            sys.stderr.close()
            return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())

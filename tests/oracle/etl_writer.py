"""Builds Windows .etl log files from scratch, for tests.

Three layers: record builders return a Record (bytes plus the event identity known by construction), a Buffer
collects records behind a 72-byte WMI_BUFFER_HEADER, and file_bytes() joins buffers. Every field of every header can
be set, also to nonsense. The compressors are as simple as validity allows. No clock and no randomness: the same calls
give the same bytes.

Layouts: https://learn.microsoft.com/en-us/windows/win32/api/evntrace/ns-evntrace-trace_logfile_header and the
evntrace.h / evntcons.h / ntwmi.h definitions of Microsoft's SDK and WDK; compression: MS-XCA.
"""

import struct
import uuid
from dataclasses import dataclass, field

from etl_names import group_guid

BUFFER_HEADER_SIZE = 72
FILL = 0xFF

# WMI_BUFFER_HEADER.BufferFlag
FLUSH_MARKER = 0x0001
EVENTS_LOST = 0x0002
BUFFER_LOST = 0x0004
PROC_INDEX = 0x0020
COMPRESSED = 0x0040

# WMI_BUFFER_HEADER.BufferType
TYPE_GENERIC, TYPE_RUNDOWN, TYPE_CTX_SWAP, TYPE_REFTIME, TYPE_HEADER, TYPE_BATCHED, TYPE_EMPTY_MARKER = range(7)

# TRACE_LOGFILE_HEADER.LogFileMode
MODE_SEQUENTIAL = 0x1
MODE_CIRCULAR = 0x2
MODE_APPEND = 0x4
MODE_RELOG = 0x10000
MODE_COMPRESSED = 0x04000000

# MESSAGE option flags
MSG_SEQUENCE = 0x01
MSG_GUID = 0x02
MSG_COMPONENT_ID = 0x04
MSG_TIMESTAMP = 0x08
MSG_PERFORMANCE_TIMESTAMP = 0x10
MSG_SYSTEM_INFO = 0x20
MSG_POINTER32 = 0x40
MSG_POINTER64 = 0x80


def align8(size):
    return (size + 7) & ~7


def guid_bytes(text):
    return uuid.UUID(text).bytes_le


def wstr(text):
    return text.encode("utf-16-le") + b"\0\0"


# ------------------------------------------------------------------------------------------------- records


@dataclass
class Record:
    """One record as stored, and what a reader must find in it. `timestamp` None means the record has none."""

    data: bytes
    header: str
    provider: str = None
    event_id: int = 0
    version: int = 0
    opcode: int = 0
    level: int = 0
    task: int = 0
    keyword: int = 0
    pid: int = None
    tid: int = None
    timestamp: int = None
    payload: bytes = b""
    items: list = field(default_factory=list)

    @property
    def size(self):
        return len(self.data)


def _sized(size):
    if size > 0xFFFF:
        raise ValueError(f"record of {size} bytes: the size field holds at most 65535")
    return size


def _version_word(version, pebs, pmc, spare_bits):
    """Low byte version, bits 8-10 number of PMC values, bit 15 PEBS index present; bits 11-14 are spare."""
    return version | len(pmc) << 8 | (0x8000 if pebs is not None else 0) | (spare_bits & 0xF) << 11


def _counter_words(pebs, pmc):
    words = ([] if pebs is None else [pebs]) + list(pmc)
    return struct.pack(f"<{len(words)}Q", *words)


def _system_like(name, header_type, fixed_tail, group, opcode, timestamp, tid, pid, version, payload, pebs, pmc, spare):
    extra = _counter_words(pebs, pmc)
    size = _sized(24 + len(fixed_tail) + len(extra) + len(payload))
    data = struct.pack("<HBBHBBIIq", _version_word(version, pebs, pmc, spare), header_type, 0xC0, size, opcode, group,
                       tid, pid, timestamp) + fixed_tail + extra + payload
    return Record(data, name, group_guid(group, opcode), version=version, opcode=opcode, pid=pid, tid=tid,
                  timestamp=timestamp, payload=payload)


def system(bits, group, opcode, timestamp, *, tid=0, pid=0, version=2, kernel_time=0, user_time=0, payload=b"",
           pebs=None, pmc=(), spare_bits=0):
    """SYSTEM32 / SYSTEM64: kernel event with thread, process and CPU times."""
    return _system_like(f"SYSTEM{bits}", 1 if bits == 32 else 2, struct.pack("<II", kernel_time, user_time), group,
                        opcode, timestamp, tid, pid, version, payload, pebs, pmc, spare_bits)


def compact(bits, group, opcode, timestamp, *, tid=0, pid=0, version=2, payload=b"", pebs=None, pmc=(), spare_bits=0):
    """COMPACT32 / COMPACT64: SYSTEM without the CPU times."""
    return _system_like(f"COMPACT{bits}", 3 if bits == 32 else 4, b"", group, opcode, timestamp, tid, pid, version,
                        payload, pebs, pmc, spare_bits)


def perfinfo(bits, group, opcode, timestamp, *, version=2, payload=b"", pebs=None, pmc=(), spare_bits=0):
    """PERFINFO32 / PERFINFO64: kernel event with nothing but a timestamp."""
    extra = _counter_words(pebs, pmc)
    size = _sized(16 + len(extra) + len(payload))
    data = struct.pack("<HBBHBBq", _version_word(version, pebs, pmc, spare_bits), 16 if bits == 32 else 17, 0xC0, size,
                       opcode, group, timestamp) + extra + payload
    return Record(data, f"PERFINFO{bits}", group_guid(group, opcode), version=version, opcode=opcode,
                  timestamp=timestamp, payload=payload)


def full_header(bits, provider, opcode, timestamp, *, tid=0, pid=0, version=0, level=0, kernel_time=0, user_time=0,
                payload=b""):
    """FULL_HEADER32 / FULL_HEADER64: EVENT_TRACE_HEADER of classic providers."""
    size = _sized(48 + len(payload))
    data = struct.pack("<HBBBBHIIq16sII", size, 10 if bits == 32 else 20, 0xC0, opcode, level, version, tid, pid,
                       timestamp, guid_bytes(provider), kernel_time, user_time) + payload
    return Record(data, f"FULL_HEADER{bits}", provider, version=version, opcode=opcode, level=level, pid=pid, tid=tid,
                  timestamp=timestamp, payload=payload)


def instance(bits, provider, opcode, timestamp, *, instance=0, parent_instance=0, parent_guid, tid=0, pid=0, version=0,
             level=0, kernel_time=0, user_time=0, payload=b""):
    """INSTANCE32 / INSTANCE64: EVENT_INSTANCE_GUID_HEADER."""
    size = _sized(72 + len(payload))
    data = struct.pack("<HBBBBHIIq16sIIII16s", size, 11 if bits == 32 else 21, 0xC0, opcode, level, version, tid, pid,
                       timestamp, guid_bytes(provider), kernel_time, user_time, instance, parent_instance,
                       guid_bytes(parent_guid)) + payload
    return Record(data, f"INSTANCE{bits}", provider, version=version, opcode=opcode, level=level, pid=pid, tid=tid,
                  timestamp=timestamp, payload=payload)


def extended_items(items, zero_item_size=False):
    """Extended data of an EVENT_HEADER record from (type, data) pairs: 8-byte head, data, zeros to a stride of 8."""
    out = b""
    for index, (item_type, data) in enumerate(items):
        stride = align8(8 + len(data))
        linkage = 1 if index + 1 < len(items) else 0
        out += struct.pack("<HHHH", 0 if zero_item_size else stride, item_type, linkage, len(data)) + data
        out += bytes(stride - 8 - len(data))
    return out


def event_header(bits, provider, event_id, timestamp, *, tid=0, pid=0, version=0, channel=0, level=0, opcode=0, task=0,
                 keyword=0, activity="00000000-0000-0000-0000-000000000000", flags=0, properties=0, processor_time=0,
                 items=(), zero_item_size=False, payload=b""):
    """EVENT_HEADER32 / EVENT_HEADER64: manifest, TraceLogging and EventSource events."""
    extended = extended_items(items, zero_item_size)
    size = _sized(80 + len(extended) + len(payload))
    data = struct.pack("<HBBHHIIq16sHBBBBHQQ16s", size, 18 if bits == 32 else 19, 0xC0, flags | (1 if items else 0),
                       properties, tid, pid, timestamp, guid_bytes(provider), event_id, version, channel, level, opcode,
                       task, keyword, processor_time, guid_bytes(activity)) + extended + payload
    return Record(data, f"EVENT_HEADER{bits}", provider, event_id, version, opcode, level, task, keyword, pid, tid,
                  timestamp, payload, [[t, d.hex()] for t, d in items])


def message(number, flags, *, sequence=0, guid=None, component=0, timestamp=0, tid=0, pid=0, payload=b""):
    """MESSAGE (WPP); `flags` alone decides which of the values are stored. A component id excludes a GUID."""
    data = b""
    provider = None
    if flags & MSG_SEQUENCE:
        data += struct.pack("<I", sequence)
    if flags & MSG_COMPONENT_ID:
        data += struct.pack("<I", component)
    elif flags & MSG_GUID:
        data += guid_bytes(guid)
        provider = guid
    if flags & MSG_TIMESTAMP:
        data += struct.pack("<q", timestamp)
    if flags & MSG_SYSTEM_INFO:
        data += struct.pack("<II", tid, pid)
    size = _sized(8 + len(data) + len(payload))
    data = struct.pack("<HBBHH", size, 0, 0x90, number, flags) + data + payload
    known = bool(flags & MSG_SYSTEM_INFO)
    return Record(data, "MESSAGE", provider, number, pid=pid if known else None, tid=tid if known else None,
                  timestamp=timestamp if flags & MSG_TIMESTAMP else None, payload=payload)


def timed(value, timestamp, *, payload=b""):
    """TIMED: size, marker 0xB0, one u32, timestamp."""
    size = _sized(16 + len(payload))
    return Record(struct.pack("<HBBIq", size, 0, 0xB0, value, timestamp) + payload, "TIMED", timestamp=timestamp,
                  payload=payload)


def unknown(header_type, payload=b"", *, marker_flags=0xC0):
    """A type nobody knows: a marker whose low half is the size."""
    size = _sized(4 + len(payload))
    return Record(struct.pack("<HBB", size, header_type, marker_flags) + payload, f"UNKNOWN{header_type}",
                  payload=payload)


def error(payload=b""):
    """ERROR: type 13, the body is not documented."""
    record = unknown(13, payload)
    record.header = "ERROR"
    return record


def raw(data):
    """Bytes that are no record; for damage."""
    return Record(data, "BAD")


# ------------------------------------------------------------------------------------- log file header record


@dataclass
class LogHeader:
    """TRACE_LOGFILE_HEADER and its record. Times are FILETIME numbers; `start_ticks` is the record's own timestamp."""

    pointer_size: int = 8
    buffer_size: int = 8192
    os_version: tuple = (10, 0)
    trace_version: tuple = (1, 5)
    os_build: int = 19045
    processors: int = 1
    end_time: int = 0
    timer_resolution: int = 156250
    maximum_file_size: int = 0
    log_file_mode: int = MODE_SEQUENTIAL
    buffers_written: int = 0
    start_buffers: int = 1
    events_lost: int = 0
    cpu_mhz: int = 3000
    logger_name_pointer: int = 0
    log_file_name_pointer: int = 0
    time_zone_bias: int = 0
    boot_time: int = 0
    frequency: int = 10_000_000
    start_time: int = 0
    clock: int = 1
    buffers_lost: int = 0
    logger_name: str = "oracle"
    log_file_name: str = "oracle.etl"
    start_ticks: int = 0
    tid: int = 0
    pid: int = 0
    version: int = 2

    def payload(self):
        zone = struct.pack("<i64s16si64s16si", self.time_zone_bias, b"", b"", 0, b"", b"", 0)
        pointers = "<II" if self.pointer_size == 4 else "<QQ"
        return (struct.pack("<IBBBBIIqIIIIIIII", self.buffer_size, *self.os_version, *self.trace_version, self.os_build,
                            self.processors, self.end_time, self.timer_resolution, self.maximum_file_size,
                            self.log_file_mode, self.buffers_written, self.start_buffers, self.pointer_size,
                            self.events_lost, self.cpu_mhz)
                + struct.pack(pointers, self.logger_name_pointer, self.log_file_name_pointer)
                + zone + bytes(4)
                + struct.pack("<qqqII", self.boot_time, self.frequency, self.start_time, self.clock, self.buffers_lost)
                + wstr(self.logger_name) + wstr(self.log_file_name))

    def record(self):
        return system(32 if self.pointer_size == 4 else 64, 0, 0, self.start_ticks, tid=self.tid, pid=self.pid,
                      version=self.version, payload=self.payload())


# ------------------------------------------------------------------------------------------------- buffers


@dataclass
class Buffer:
    """One buffer. None in an override field means the right value is computed."""

    cpu: int = 0
    sequence: int = 0
    size: int = 8192
    flag: int = PROC_INDEX
    type: int = TYPE_GENERIC
    state: int = 3
    timestamp: int = 0
    logger_id: int = 0
    reference_count: int = 0
    clock: int = 0
    context: tuple = (0, 0)
    alignment: int = None
    saved_offset: int = None
    current_offset: int = None
    offset: int = None
    buffer_size: int = None
    compression: object = None
    body: bytes = None
    capacity: int = None
    records: list = field(default_factory=list)
    offsets: list = field(default_factory=list)
    filled: int = BUFFER_HEADER_SIZE

    def add(self, *records):
        for record in records:
            end = self.filled + align8(record.size)
            limit = self.capacity or self.size
            if end > limit:
                raise ValueError(f"record of {record.size} bytes does not fit at {self.filled} of {limit}")
            self.records.append(record)
            self.offsets.append(self.filled)
            self.filled = end
        return self

    def has_room(self, record):
        return self.filled + align8(record.size) <= (self.capacity or self.size)

    def image_body(self):
        """The bytes after the 72-byte header, uncompressed, without fill."""
        if self.body is not None:
            return self.body
        return b"".join(record.data + bytes(align8(record.size) - record.size) for record in self.records)

    def encode(self):
        body = self.image_body()
        end = BUFFER_HEADER_SIZE + len(body)
        flag = self.flag
        if self.compression:
            stored = self.compression(body)
            size = BUFFER_HEADER_SIZE + len(stored)
            flag |= COMPRESSED
        else:
            size = self.size
            stored = body + bytes([FILL]) * (size - end)
        if flag & PROC_INDEX:
            processor = struct.pack("<H", self.cpu)
        else:
            processor = struct.pack("<BB", self.cpu, self.alignment or 0)
        offset = end if self.offset is None else self.offset
        saved = end if self.saved_offset is None else self.saved_offset
        current = end if self.current_offset is None else self.current_offset
        head = struct.pack("<IIIiqqQ2sHIIHHQQ", size if self.buffer_size is None else self.buffer_size, saved, current,
                           self.reference_count, self.timestamp, self.sequence, self.clock, processor, self.logger_id,
                           self.state, offset, flag, self.type, *self.context)
        return head + stored


def file_bytes(buffers):
    return b"".join(buffer.encode() for buffer in buffers)


# ------------------------------------------------------------------------------------------------- damage


def truncate(data, length):
    return data[:length]


def zero(data, start, length):
    return data[:start] + bytes(length) + data[start + length:]


def overwrite(data, offset, layout, *values):
    """Replaces the field at `offset`; `layout` is a struct layout without byte order, little-endian is meant."""
    new = struct.pack("<" + layout, *values)
    return data[:offset] + new + data[offset + len(new):]


# ------------------------------------------------------------------------------------------------- compression


def lznt1_stored(data, terminated=True):
    """LZNT1 with uncompressed chunks only."""
    out = b""
    for start in range(0, len(data), 4096):
        chunk = data[start:start + 4096]
        out += struct.pack("<H", 0x3000 | (len(chunk) - 1)) + chunk
    return out + (b"\0\0" if terminated else b"")


def _longest_match(data, base, pos, end, window, longest):
    """Longest earlier occurrence of data[pos:], by halving the length and rfind; returns (distance, length)."""
    best = (0, 0)
    length = 3
    low = max(base, pos - window)
    while pos + length <= end and length <= longest:
        found = data.rfind(data[pos:pos + length], low, pos + length - 1)
        if found < 0:
            break
        distance = pos - found
        while pos + length < end and length < longest and data[pos + length] == data[pos + length - distance]:
            length += 1
        best = (distance, length)
        length += 1
    return best


def _lznt1_chunk(chunk):
    out = bytearray()
    pos = 0
    while pos < len(chunk):
        flags_at = len(out)
        out.append(0)
        for bit in range(8):
            if pos >= len(chunk):
                break
            offset_bits = 4
            while pos > 1 << offset_bits:
                offset_bits += 1
            length_bits = 16 - offset_bits
            distance, length = _longest_match(chunk, 0, pos, len(chunk), 1 << offset_bits, (1 << length_bits) + 2)
            if length >= 3:
                out[flags_at] |= 1 << bit
                out += struct.pack("<H", (distance - 1) << length_bits | (length - 3))
                pos += length
            else:
                out.append(chunk[pos])
                pos += 1
    return bytes(out)


def lznt1(data):
    """LZNT1, each chunk compressed where that makes it smaller."""
    out = b""
    for start in range(0, len(data), 4096):
        chunk = data[start:start + 4096]
        packed = _lznt1_chunk(chunk)
        if len(packed) < len(chunk):
            out += struct.pack("<H", 0xB000 | (len(packed) - 1)) + packed
        else:
            out += struct.pack("<H", 0x3000 | (len(chunk) - 1)) + chunk
    return out + b"\0\0"


class _XpressOutput:
    """Plain LZ77 output: a 32-bit flag word stands before the 32 symbols it describes, first symbol in the top bit."""

    def __init__(self):
        self.out = bytearray(4)
        self.flags_at = 0
        self.flags = 0
        self.count = 0
        self.nibble_at = None

    def flag(self, bit):
        self.flags = self.flags << 1 | bit
        self.count += 1
        if self.count == 32:
            struct.pack_into("<I", self.out, self.flags_at, self.flags)
            self.flags_at = len(self.out)
            self.out += bytes(4)
            self.flags = self.count = 0

    def literal(self, byte):
        self.out.append(byte)
        self.flag(0)

    def match(self, distance, length):
        rest = length - 3
        self.out += struct.pack("<H", (distance - 1) << 3 | min(rest, 7))
        if rest >= 7:
            nibble = min(rest - 7, 15)
            if self.nibble_at is None:
                self.nibble_at = len(self.out)
                self.out.append(nibble)
            else:
                self.out[self.nibble_at] |= nibble << 4
                self.nibble_at = None
            if nibble == 15:
                if rest - 22 < 255:
                    self.out.append(rest - 22)
                elif rest <= 0xFFFF:
                    self.out += struct.pack("<BH", 255, rest)
                else:
                    self.out += struct.pack("<BHI", 255, 0, rest)
        self.flag(1)

    def finish(self):
        self.flags = self.flags << (32 - self.count) | ((1 << (32 - self.count)) - 1)
        struct.pack_into("<I", self.out, self.flags_at, self.flags)
        return bytes(self.out)


def xpress_literal(data):
    """XPRESS (plain LZ77) with literals only."""
    out = _XpressOutput()
    for byte in data:
        out.literal(byte)
    return out.finish()


def xpress(data):
    """XPRESS (plain LZ77) with greedy matches; uses every form of a match length the data asks for."""
    out = _XpressOutput()
    pos = 0
    while pos < len(data):
        distance, length = _longest_match(data, 0, pos, len(data), 8192, len(data))
        if length >= 3:
            out.match(distance, length)
            pos += length
        else:
            out.literal(data[pos])
            pos += 1
    return out.finish()


class _HuffmanBits:
    """Bit stream of 16-bit words, highest bit first; whole bytes go in between, behind the two words in progress."""

    def __init__(self, out):
        self.out = out
        self.first = len(out)
        self.second = len(out) + 2
        out += bytes(4)
        self.free = 16
        self.word = 0

    def bits(self, count, value):
        if self.free >= count:
            self.free -= count
            self.word = self.word << count | value
            return
        self.word = self.word << self.free | value >> (count - self.free)
        self.free -= count
        struct.pack_into("<H", self.out, self.first, self.word & 0xFFFF)
        self.first, self.second = self.second, len(self.out)
        self.out += bytes(2)
        self.free += 16
        self.word = value

    def finish(self):
        struct.pack_into("<H", self.out, self.first, self.word << self.free & 0xFFFF)
        struct.pack_into("<H", self.out, self.second, 0)


def xpress_huffman_literal(data):
    """XPRESS Huffman whose 256 literals all have 8-bit codes: no match and no end symbol has a code."""
    out = bytearray()
    for start in range(0, len(data), 65536):
        out += b"\x88" * 128 + bytes(128)
        stream = _HuffmanBits(out)
        for byte in data[start:start + 65536]:
            stream.bits(8, byte)
        stream.finish()
    return bytes(out)


def xpress_huffman(data):
    """XPRESS Huffman with flat 9-bit codes for all 512 symbols, greedy matches and the end symbol 256."""
    out = bytearray()
    for start in range(0, len(data), 65536):
        end = min(start + 65536, len(data))
        out += b"\x99" * 256
        stream = _HuffmanBits(out)
        pos = start
        while pos < end:
            distance, length = _longest_match(data, 0, pos, end, 65535, 65536)
            if length < 3:
                stream.bits(9, data[pos])
                pos += 1
                continue
            rest = length - 3
            offset_bits = distance.bit_length() - 1
            stream.bits(9, 256 + (offset_bits << 4 | min(rest, 15)))
            if rest >= 15:
                if rest - 15 < 255:
                    out.append(rest - 15)
                else:
                    out += struct.pack("<BH", 255, rest)
            stream.bits(offset_bits, distance - (1 << offset_bits))
            pos += length
        if end == len(data):
            stream.bits(9, 256)
        stream.finish()
    return bytes(out)

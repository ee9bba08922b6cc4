"""A second reader of .etwp archives of columns, written from formats/etwp/FORMAT.md and proto/archive.proto alone.

etwp_reader.py MESSAGES ARCHIVE OUTPUT puts the original .etl together from the archive; MESSAGES is a folder with
archive_pb2.py (protoc --python_out). Slow, and it trusts its input: damage ends in an exception.
"""

import bisect
import hashlib
import itertools
import struct
import sys
from collections import defaultdict

import zstandard

SYNC = b"\x89EWP"
WORD = (1 << 64) - 1
LONGEST = 0xFFFF


class Wrong(Exception):
    """The archive breaks a rule of the format."""


def require(condition, rule):
    if not condition:
        raise Wrong(rule)


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def varints(data, at=0):
    values = []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def undelta(values):
    last = 0
    made = []
    for value in values:
        last = (last + unzigzag(value)) & WORD
        made.append(last)
    return made


def planes(data):
    width = data[0]
    count = (len(data) - 1) // width
    return [sum(data[1 + plane * count + i] << 8 * plane for plane in range(width)) for i in range(count)]


def fixed(data):
    width = data[0]
    return [int.from_bytes(data[at:at + width], "little") for at in range(1, len(data), width)]


def dictionary(data):
    count, at = varint(data, 0)
    width = data[at]
    end = at + 1 + count * width
    values = fixed(data[at:end])
    return [values[index] for index in varints(data, end)]


NUMBERS = {3: varints, 4: lambda data: undelta(varints(data)), 5: planes, 6: lambda data: undelta(planes(data)),
           7: fixed, 8: dictionary}


def transposed(data):
    row, at = varint(data, 0)
    count = (len(data) - at) // row
    return b"".join(data[at + i::count][:row] for i in range(count)) if count else b""


def grouped(data, sizes):
    """Rows of those sizes, up to the last byte; groups stand by ascending size."""
    rows = []
    total = 0
    while total < len(data):
        rows.append(next(sizes))
        total += rows[-1]
    require(total == len(data), "rows fill their column")
    made = [b""] * len(rows)
    at = 0
    for size in sorted(set(rows)):
        which = [i for i, of_row in enumerate(rows) if of_row == size]
        for place, i in enumerate(which):
            made[i] = bytes(data[at + place:at + size * len(which):len(which)])
        at += size * len(which)
    return b"".join(made)


def inflate(pb, message, prefix=None):
    """The content of columns. `prefix`: that of the first block."""
    content = message.content
    if message.compression == pb.Columns.COMPRESSION_ZSTD:
        known = None
        if pb.ENCODING_PREFIXED in message.encodings:
            known = zstandard.ZstdCompressionDict(prefix, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        content = zstandard.ZstdDecompressor(dict_data=known).decompress(content)
    require(len(content) == message.content_length, "content has its length")
    return content


class Columns:
    """The columns of a frame by (id, of)."""

    def __init__(self, pb, message, sizes_of, prefix=None):
        content = inflate(pb, message, prefix)
        directory = pb.ColumnDirectory.FromString(content[:message.directory_length])
        at = message.directory_length
        self.columns = {}
        self.used = []
        for i, (name, of) in enumerate(zip(directory.id, directory.of)):
            prediction = directory.prediction[i] if directory.prediction else 0
            data = content[at:at + directory.length[i]]
            at += directory.length[i]
            require(directory.encoding[i] in message.encodings, "encodings names every one")
            self.columns[name, of] = directory.encoding[i], data, prediction
        require(at == len(content), "columns fill the content")
        self.sizes_of = sizes_of

    def prediction(self, name, of=0):
        return self.columns.get((name, of), (0, b"", 0))[2]

    def stream(self, name, of=0):
        """An iterator over the values; zeros or a constant without end."""
        encoding, data, _ = self.columns.get((name, of), (0, b"", 0))
        if encoding == 0:
            return itertools.repeat(0)
        if encoding == 2:
            return itertools.repeat(varint(data, 0)[0])
        values = iter(NUMBERS[encoding](data))
        self.used.append(((name, of), values))
        return values

    def numbers(self, name, count, of=0):
        return list(itertools.islice(self.stream(name, of), count))

    def bytes(self, name, of=0):
        encoding, data, _ = self.columns.get((name, of), (1, b"", 0))
        if encoding == 9:
            return transposed(data)
        if encoding == 10:
            return grouped(data, Columns.stream(self, self.sizes_of[name], of))
        require(encoding == 1, "a column of bytes has encoding 1, 9 or 10")
        return data

    def check_end(self, but=()):
        for column, values in self.used:
            require(column[0] in but or next(values, None) is None, f"column {column} is used up")


class Table:
    """Byte strings in order of first use."""

    def __init__(self, pb, columns, context, text):
        self.entries = []
        if text == pb.LayoutField.TEXT_NONE:
            self.data = columns.bytes(pb.COLUMN_TABLE, context)
            self.sizes = columns.stream(pb.COLUMN_TABLE_SIZE, context)
        else:
            self.wide = text == pb.LayoutField.TEXT_UTF16
            self.data = columns.bytes(pb.COLUMN_TEXT if self.wide else pb.COLUMN_NARROW_TEXT, context)
            self.sizes = None
        self.at = 0

    def entry(self, number):
        """Entry `number`, from 1; 0 for the next one not used yet. Returns number and bytes."""
        if number == 0:
            self.entries.append(self.next())
            number = len(self.entries)
        require(0 < number <= len(self.entries), "an entry exists")
        return number, self.entries[number - 1]

    def next(self):
        at = self.at
        if self.sizes is not None:
            self.at += next(self.sizes)
            return self.data[at:self.at]
        if self.data[at] == 0xFF:
            size, at = varint(self.data, at + 1)
            self.at = at + size
            return self.data[at:self.at]
        end = self.data.index(0, at)
        self.at = end + 1
        text = self.data[at:end]
        return text.decode().encode("utf-16-le") if self.wide else text


class Payloads:
    """Fields of payloads, 5.1 to 5.3."""

    def __init__(self, pb, columns, kinds):
        self.pb = pb
        self.columns = columns
        self.tables = {}
        self.last = defaultdict(int)
        self.rows = defaultdict(dict)  # by context of the key, then key: values by context
        self.keys = defaultdict(list)  # sorted
        self.on_cpu = defaultdict(dict)  # by kind and processor: values by field
        self.streams = {}
        self.layouts = {number: kind.layout for number, kind in kinds.items() if kind.HasField("layout")}
        self.single = {}
        for number, layout in self.layouts.items():
            inside = 0
            single = []
            for field in layout.fields:
                struct_field = field.shape == pb.LayoutField.SHAPE_STRUCT
                single.append(inside == 0 and field.count == pb.LayoutField.EXTENT_ONE and not struct_field)
                inside = max(inside - 1, 0)
                if struct_field and inside < field.members:
                    inside = field.members
            self.single[number] = single

    def stream(self, name, kind, field):
        key = name, kind | field << 16
        if key not in self.streams:
            self.streams[key] = self.columns.stream(*key)
        return self.streams[key]

    def table(self, field):
        key = field.context, field.text
        if key not in self.tables:
            self.tables[key] = Table(self.pb, self.columns, *key)
        return self.tables[key]

    def read(self, kind, facts):
        self.kind = kind
        self.facts = facts
        self.fields = self.layouts[kind].fields
        self.out = bytearray()
        self.values = [0] * len(self.fields)
        self.row = None
        self.below = None
        self.second = None
        self.take(0, len(self.fields))
        values = {i: self.values[i] for i in range(len(self.fields)) if self.single[kind][i]}
        for i, value in values.items():
            self.last[self.fields[i].context] = value
            if self.row is not None:
                self.row[self.fields[i].context] = value
        self.on_cpu[kind, facts["cpu"]] = values
        return bytes(self.out)

    def take(self, begin, end):
        i = begin
        while i < end:
            self.field(i)
            i += 1 + (self.fields[i].members if self.fields[i].shape == self.pb.LayoutField.SHAPE_STRUCT else 0)

    def field(self, i):
        pb = self.pb.LayoutField
        field = self.fields[i]
        if field.count == pb.EXTENT_ONE:
            return self.element(i)
        if field.count == pb.EXTENT_FIXED:
            count = field.count_value
        elif field.count == pb.EXTENT_FIELD:
            count = self.values[field.count_value]
        else:
            count = next(self.stream(self.pb.COLUMN_FIELD_COUNT, self.kind, i))
            if field.count == pb.EXTENT_PREFIX16:
                self.number(count, 2)
        if self.second is not None:
            require(len(self.second) == count, "the second of a pair has as many elements")
            for value in self.second:
                self.number(value, field.width)
            self.second = None
        elif self.columns.prediction(self.pb.COLUMN_FIELD, self.kind | i << 16) == 7:
            self.pair(i, count)
        else:
            for _ in range(count):
                if field.shape == pb.SHAPE_STRUCT:
                    self.take(i + 1, i + 1 + field.members)
                else:
                    self.element(i)

    def pair(self, i, count):
        codes = self.stream(self.pb.COLUMN_FIELD, self.kind, i)
        last = [0, 0]
        arrays = [], []
        for _ in range(count):
            for which in range(2):
                limit = 1 << 8 * self.fields[i + which].width
                code = next(codes)
                if code < 3:
                    arrays[which].append(limit - 1 - code)
                else:
                    last[which] = (last[which] + unzigzag(code - 3)) % limit
                    arrays[which].append(last[which])
        for value in arrays[0]:
            self.number(value, self.fields[i].width)
        self.second = arrays[1]

    def predicted(self, i, prediction):
        field = self.fields[i]
        if prediction == 1:
            return self.last[field.context] if self.single[self.kind][i] else self.values[i]
        if prediction == 2:
            return self.row.get(field.context, 0)
        if prediction in (3, 4, 5, 6):
            return self.facts[("timestamp", "before", "tid", "pid")[prediction - 3]]
        if prediction == 8:
            return self.below.get(field.context, 0) if self.below is not None else 0
        if prediction == 9:
            return self.last[field.context] + self.last[self.fields[i + 1].context]
        if prediction >= 2048:
            return self.on_cpu[self.kind, self.facts["cpu"]].get(prediction - 2048, 0)
        require(prediction >= 16, "a prediction is known")
        return self.values[prediction - 16]

    def number(self, value, width):
        self.out += (value % (1 << 8 * width)).to_bytes(width, "little")

    def element(self, i):
        pb = self.pb.LayoutField
        field = self.fields[i]
        value = next(self.stream(self.pb.COLUMN_FIELD, self.kind, i))
        prediction = self.columns.prediction(self.pb.COLUMN_FIELD, self.kind | i << 16)
        if field.shape == pb.SHAPE_NUMBER:
            if prediction:
                value = unzigzag(value) + self.predicted(i, prediction)
            value %= 1 << 8 * field.width
            self.values[i] = value
            if self.layouts[self.kind].key == i + 1:
                self.find_rows(field.context, value)
            return self.number(value, field.width)
        if prediction:
            value = self.predicted(i, prediction) if value == 0 else value - 1
        self.values[i], entry = self.table(field).entry(value)
        size = len(entry)
        if field.shape == pb.SHAPE_BYTES and field.length == pb.EXTENT_PREFIX16:
            self.number(size // field.width, 2)
        elif field.shape == pb.SHAPE_COUNTED16:
            self.number(size, 2)
        elif field.shape == pb.SHAPE_COUNTED16_SWAPPED:
            self.out += struct.pack(">H", size)
        elif field.shape == pb.SHAPE_COUNTED32:
            self.number(size, 4)
        self.out += entry
        self.out += bytes({pb.SHAPE_TEXT16: 2, pb.SHAPE_TEXT8: 1}.get(field.shape, 0))

    def find_rows(self, context, key):
        rows, keys = self.rows[context], self.keys[context]
        at = bisect.bisect_left(keys, key)
        self.below = rows[keys[at - 1]] if at > 0 else None
        if key not in rows:
            rows[key] = {}
            keys.insert(at, key)
        self.row = rows[key]


def merge(events, counts):
    """Events of one processor after another, put in the order of their merge times."""
    queues = []
    begin = 0
    for cpu, count in counts:
        time = -(1 << 63)
        queue = []
        for kind, timestamp in events[begin:begin + count]:
            time = max(time, timestamp - (1 << 64) if timestamp >> 63 else timestamp)
            queue.append((time, cpu, len(queue), kind, timestamp))
        queues += queue
        begin += count
    return [(kind, timestamp, cpu) for _, cpu, _, kind, timestamp in sorted(queues)]


def order_of_events(pb, block, columns):
    """(kind, timestamp, cpu) of each event, step 1 of section 5."""
    kinds = [block.kinds[index] for index in columns.numbers(pb.COLUMN_KIND, block.events)]
    encoding, data, _ = columns.columns.get((pb.COLUMN_CPU, 0), (0, b"", 0))
    counts = None
    if encoding == 11:
        numbers = varints(data)
        counts = list(zip(numbers[::2], numbers[1::2]))
        cpus = [cpu for cpu, count in counts for _ in range(count)]
    else:
        cpus = columns.numbers(pb.COLUMN_CPU, block.events)
    require(len(cpus) == block.events, "every event has a processor")
    streams = {kind: columns.stream(pb.COLUMN_TIMESTAMP, kind) for kind in block.kinds}
    before = block.first_timestamp & WORD
    of_cpu = {}
    of_kind = {}
    events = []
    for kind, cpu in zip(kinds, cpus):
        base = columns.prediction(pb.COLUMN_TIMESTAMP, kind)
        since = before if base == 0 else of_cpu.get(cpu, before)
        if base == 2:
            since = of_kind.get((kind, cpu), since)
        before = (since + unzigzag(next(streams[kind]))) & WORD
        of_cpu[cpu] = of_kind[kind, cpu] = before
        events.append((kind, before))
    if counts is None:
        return [(kind, timestamp, cpu) for (kind, timestamp), cpu in zip(events, cpus)]
    return merge(events, counts)


def read_block(pb, block, all_kinds, prefix):
    """(cpu, instance id, record) of each event."""
    columns = Columns(pb, block.columns, {pb.COLUMN_PAYLOAD: pb.COLUMN_PAYLOAD_SIZE,
                                          pb.COLUMN_TABLE: pb.COLUMN_TABLE_SIZE}, prefix)
    kinds = {number: all_kinds[number] for number in block.kinds}
    slots = {number: {slot.field: slot.offset for slot in kind.slots} for number, kind in kinds.items()}
    payloads = Payloads(pb, columns, kinds)
    table = Table(pb, columns, 0, pb.LayoutField.TEXT_NONE)
    plain = {pb.Slot.FIELD_KERNEL_TIME: pb.COLUMN_KERNEL_TIME, pb.Slot.FIELD_USER_TIME: pb.COLUMN_USER_TIME,
             pb.Slot.FIELD_INSTANCE: pb.COLUMN_INSTANCE, pb.Slot.FIELD_PARENT: pb.COLUMN_PARENT,
             pb.Slot.FIELD_SEQUENCE: pb.COLUMN_SEQUENCE}
    number_streams = {field: columns.stream(column) for field, column in plain.items()}
    of_thread = defaultdict(int)  # by field and thread
    threads = columns.stream(pb.COLUMN_THREAD)
    pids = columns.stream(pb.COLUMN_THREAD_PID)
    tids = columns.stream(pb.COLUMN_THREAD_TID)
    pairs = []
    activities = columns.stream(pb.COLUMN_ACTIVITY)
    guids = columns.bytes(pb.COLUMN_ACTIVITY_GUID)
    ids = columns.stream(pb.COLUMN_INSTANCE_ID)
    per_kind = {number: {"parts": columns.stream(pb.COLUMN_EXTENDED_COUNT, number),
                         "part": columns.stream(pb.COLUMN_EXTENDED_PART, number),
                         "form": columns.stream(pb.COLUMN_PAYLOAD_FORM, number),
                         "size": columns.stream(pb.COLUMN_PAYLOAD_SIZE, number),
                         "payload": columns.bytes(pb.COLUMN_PAYLOAD, number), "at": 0} for number in kinds}
    cpus = defaultdict(lambda: {"expected": 0, "thread": None, "tid": 0, "pid": 0, "before": 0})
    total = 0
    for kind, timestamp, cpu in order_of_events(pb, block, columns):
        state = cpus[cpu]
        own = per_kind[kind]
        record = bytearray(kinds[kind].header)
        has = slots[kind]
        if pb.Slot.FIELD_TIMESTAMP in has:
            struct.pack_into("<Q", record, has[pb.Slot.FIELD_TIMESTAMP], timestamp)
        if pb.Slot.FIELD_TID in has:
            if thread := next(threads):
                state["thread"] = thread - 1
                while len(pairs) < thread:
                    pairs.append((next(pids), next(tids)))
            state["pid"], state["tid"] = pairs[state["thread"]]
            struct.pack_into("<I", record, has[pb.Slot.FIELD_TID], state["tid"])
            struct.pack_into("<I", record, has[pb.Slot.FIELD_PID], state["pid"])
        if pb.Slot.FIELD_ACTIVITY in has:
            index = next(activities)
            at = has[pb.Slot.FIELD_ACTIVITY]
            record[at:at + 16] = guids[16 * index:16 * index + 16]
        for field, stream in number_streams.items():
            if field not in has:
                continue
            value = next(stream)
            if columns.prediction(plain[field]) == 1:
                key = field, state["thread"]
                value = of_thread[key] = (of_thread[key] + unzigzag(value)) & 0xFFFFFFFF
            struct.pack_into("<I", record, has[field], value & 0xFFFFFFFF)
        if kinds[kind].extended:
            for _ in range(next(own["parts"])):
                record += table.entry(next(own["part"]))[1]
        form = next(own["form"]) if kind in payloads.layouts else 1
        if form == 1:
            left = next(own["size"])
        else:
            facts = {"timestamp": timestamp, "before": state["before"], "tid": state["tid"], "pid": state["pid"],
                     "cpu": cpu}
            record += payloads.read(kind, facts)
            left = max(form - 1, 0)
        record += own["payload"][own["at"]:own["at"] + left]
        own["at"] += left
        require(len(record) <= LONGEST, "a record has at most 65,535 bytes")
        if pb.Slot.FIELD_SIZE in has:
            struct.pack_into("<H", record, has[pb.Slot.FIELD_SIZE], len(record))
        instance = (state["expected"] + unzigzag(next(ids))) & WORD
        state["expected"] = instance + (1 if instance >> 56 == 0xFF else (len(record) + 7) // 8)
        state["before"] = timestamp
        total += len(record)
        yield cpu, instance, bytes(record)
    require(total == block.record_bytes, "records add up to record_bytes")
    columns.check_end(but={pb.COLUMN_TABLE_SIZE, pb.COLUMN_PAYLOAD_SIZE})


def frames(pb, data):
    at = 0
    while data[at:at + 4] == SYNC:
        length, = struct.unpack_from("<I", data, at + 4)
        frame = pb.Frame.FromString(data[at + 16:at + 16 + length])
        if frame.HasField("packed"):
            frame = pb.Frame.FromString(zstandard.decompress(frame.packed.content))
        yield frame
        at += 16 + length
    require(len(data) == at + 32, "the tail follows the frames")


class Restorer:
    """Buffers of the original, section 6."""

    def __init__(self, pb):
        self.pb = pb
        self.images = []
        self.ranges = []

    def add(self, message, events):
        """`events`: by processor an iterator over its records."""
        pb = self.pb
        columns = Columns(pb, message.columns, {})
        count = message.buffers
        names = ("CPU", "FILE_OFFSET", "FILE_SIZE", "IMAGE_SIZE", "FLAGS", "RECORDS", "GAP_SIZE", "TAIL_SIZE",
                 "PAD_DISTANCE")
        numbers = {name: columns.numbers(getattr(pb, "RESTORE_" + name), count) for name in names}
        first = columns.stream(pb.RESTORE_FIRST_RECORD)
        offsets = columns.stream(pb.RESTORE_OFFSETS)
        headers, gaps, tails = (columns.bytes(name) for name in (pb.RESTORE_HEADER, pb.RESTORE_GAPS, pb.RESTORE_TAIL))
        for i in range(count):
            value = {name: values[i] for name, values in numbers.items()}
            require(not value["FLAGS"] & 1, "this reader does not compress")
            size = value["IMAGE_SIZE"]
            head = min(72, size)
            image = bytearray(headers[:head])
            headers = headers[head:]
            gap, gaps = gaps[:value["GAP_SIZE"]], gaps[value["GAP_SIZE"]:]
            distance = value["PAD_DISTANCE"]
            source = self.images[-distance] if distance else b""

            def fill(length):
                nonlocal gap
                piece = bytearray(gap[:length])
                gap = gap[length:]
                for at in range(min(len(piece), max(len(source) - len(image), 0))):
                    piece[at] ^= source[len(image) + at]
                image.extend(piece)

            for n in range(value["RECORDS"]):
                if value["FLAGS"] & 8:
                    at = next(offsets)
                elif n == 0:
                    at = next(first)
                else:
                    at = (len(image) + 7) // 8 * 8
                fill(at - len(image))
                image += next(events[value["CPU"]])
            fill(len(gap))
            if value["FLAGS"] & 4:
                image += b"\xff" * (size - len(image))
            else:
                image += tails[:value["TAIL_SIZE"]]
                tails = tails[value["TAIL_SIZE"]:]
            require(len(image) == size, "an image has its size")
            self.images.append(bytes(image))
            self.ranges.append((value["FILE_OFFSET"], value["FILE_SIZE"], bytes(image)))
        require(not headers and not gaps and not tails, "restore columns are used up")

    def file(self, trailer):
        end = 0
        data = []
        for offset, size, image in sorted(self.ranges):
            require(offset == end and size == len(image), "ranges cover the original")
            data.append(image)
            end += size
        require(end == trailer.original_size, "the original has its size")
        original = b"".join(data)
        require(hashlib.sha256(original).digest() == trailer.original_sha256, "the original has its SHA-256")
        return original


class Archive:
    """All that an archive holds."""

    def __init__(self, pb, data):
        self.pb = pb
        self.events = []  # (processor, instance id, record) in the order of the trace
        self.encodings = set()  # that blocks name
        self.restores = []
        kinds = {0: pb.Kind()}
        prefix = None
        for frame in frames(pb, data):
            if frame.HasField("dictionary"):
                kinds.update((kind.number, kind) for kind in frame.dictionary.kinds)
            elif frame.HasField("block"):
                self.encodings.update(frame.block.columns.encodings)
                self.events += read_block(pb, frame.block, kinds, prefix)
                if frame.block.first_event == 0:
                    prefix = inflate(pb, frame.block.columns)
            elif frame.HasField("prefix"):
                require(inflate(pb, frame.prefix) == prefix, "the copy of the first block's columns is one")
            elif frame.HasField("restore"):
                self.restores.append(frame.restore)
            elif frame.HasField("trailer"):
                self.trailer = frame.trailer

    def original(self):
        """The bytes of the original .etl."""
        require(self.trailer.exact, "the archive is exact")
        by_cpu = defaultdict(list)
        for cpu, _, record in self.events:
            by_cpu[cpu].append(record)
        records = {cpu: iter(of_cpu) for cpu, of_cpu in by_cpu.items()}
        restorer = Restorer(self.pb)
        for message in self.restores:
            restorer.add(message, records)
        require(all(next(of_cpu, None) is None for of_cpu in records.values()), "every event has a buffer")
        return restorer.file(self.trailer)


def main(messages, archive, output):
    sys.path.insert(0, messages)
    import archive_pb2
    with open(archive, "rb") as file:
        read = Archive(archive_pb2, file.read())
    with open(output, "wb") as file:
        file.write(read.original())
    print(f"{len(read.events)} events, encodings {sorted(read.encodings)}")


if __name__ == "__main__":
    main(*sys.argv[1:])

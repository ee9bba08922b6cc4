"""Tests of the oracle itself: constructed cases, real recordings, decompressors, command line."""

import contextlib
import io
import json
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import etl_reader  # noqa: E402
import etl_writer  # noqa: E402
import make_cases  # noqa: E402

REPOSITORY = HERE.parents[1]
DATA = Path(os.environ.get("ETWPIPE_TEST_DATA") or REPOSITORY.parent / "shared" / "data")


def kind_set(kinds):
    return sorted((kind["header"], kind["provider"] or "", kind["id"], kind["opcode"], kind["version"], kind["count"],
                   kind["bytes"]) for kind in kinds)


class ConstructedCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.names = make_cases.make_all(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self, compare):
        """Runs compare(bytes of the file, truth) for every case."""
        for name in self.names:
            with self.subTest(case=name):
                base = Path(self.folder.name) / name
                compare(base.with_suffix(".etl").read_bytes(), json.loads(base.with_suffix(".json").read_text()))

    def test_header(self):
        self.each(lambda data, truth: self.assertEqual(etl_reader.Trace(data).header, truth["header"]))

    def test_events_in_merged_order(self):
        def compare(data, truth):
            trace = etl_reader.Trace(data)
            records = list(trace.merged())
            self.assertEqual([record.as_event() for record in records], truth["events"])
            extended = {str(record.id): [[kind, item.hex()] for kind, item in record.items]
                        for record in records if record.items}
            self.assertEqual(extended, truth["extended"])
            self.assertEqual(trace.damaged, truth["damaged"])

        self.each(compare)

    def test_counts(self):
        self.each(lambda data, truth: self.assertEqual(etl_reader.Trace(data).counts(), truth["counts"]))

    def test_check(self):
        def compare(data, truth):
            fails = sorted(name for name, complaints in etl_reader.check(data).items() if complaints)
            self.assertEqual(fails, truth["check_fails"])

        self.each(compare)

    def test_filetimes(self):
        """Worked by hand: the first event lies frequency + 8 ticks before the log file header."""
        truth = json.loads((Path(self.folder.name) / "qpc_scaled.json").read_text())
        self.assertEqual(len(truth["filetimes"]), len(truth["events"]))
        self.assertEqual(truth["filetimes"][0], truth["header"]["start_filetime"] - 10_000_023)
        last = 400 * 86400 * 10_000_000 + 2
        self.assertEqual(truth["filetimes"][-1], truth["header"]["start_filetime"] + last)

    def test_same_bytes_every_time(self):
        with tempfile.TemporaryDirectory() as second:
            make_cases.make_all(second)
            for path in sorted(Path(second).iterdir()):
                self.assertEqual(path.read_bytes(), (Path(self.folder.name) / path.name).read_bytes(), path.name)

    def test_any_truncation_is_survived(self):
        for name in ("all_headers", "xpress", "wpp"):
            data = (Path(self.folder.name) / f"{name}.etl").read_bytes()
            for length in list(range(0, 600, 7)) + list(range(600, len(data), 997)):
                try:
                    for _ in etl_reader.Trace(data[:length]).merged():
                        pass
                except etl_reader.Unreadable:
                    self.assertLess(length, 600)


class RealRecordings(unittest.TestCase):
    def test_counts(self):
        expected_path = DATA / "expected" / "counts.json"
        if not expected_path.is_file():
            self.skipTest(f"no recordings: {expected_path} is absent, set ETWPIPE_TEST_DATA")
        for name, expected in json.loads(expected_path.read_text()).items():
            if name.startswith("_"):
                continue
            with self.subTest(recording=name):
                data = (DATA / "etl" / expected["file"]).read_bytes()
                trace = etl_reader.Trace(data)
                counts = trace.counts()
                self.assertEqual(counts["events"], expected["events"])
                self.assertEqual(counts["buffers"], expected["buffers"])
                self.assertEqual(sum(buffer.compressed for buffer in trace.buffers), expected["compressed_buffers"])
                self.assertEqual(kind_set(counts["kinds"]), kind_set(expected["kinds"]))
                self.assertEqual({key: trace.header[key] for key in expected["header"]}, expected["header"])
                self.assertEqual(trace.damaged, [])

    def test_check_passes(self):
        if not (DATA / "etl").is_dir():
            self.skipTest(f"no recordings: {DATA / 'etl'} is absent, set ETWPIPE_TEST_DATA")
        for path in sorted((DATA / "etl").glob("*.etl")):
            with self.subTest(recording=path.name):
                self.assertEqual({name: list(found) for name, found in etl_reader.check(path.read_bytes()).items()
                                  if found}, {})


    def test_lznt1_of_windows(self):
        """WinSAT records hold XML that Windows itself packed as LZNT1: u32 1, u32 inflated size, data."""
        path = DATA / "etl" / "SelfDescribingSingleEvent.etl"
        if not path.is_file():
            self.skipTest(f"no recordings: {path} is absent, set ETWPIPE_TEST_DATA")
        sizes = []
        for record in etl_reader.Trace(path.read_bytes()).merged():
            if record.provider == "ed54dff8-c409-4cf6-bf83-05e1e61a09c4" and record.payload[:4] == b"\x01\0\0\0":
                size, = struct.unpack_from("<I", record.payload, 4)
                text = etl_reader.inflate_lznt1(record.payload[8:], size).decode("utf-16-le")
                self.assertIn("<", text[:2])
                sizes.append(size)
        self.assertEqual(sorted(sizes), [1052, 2348, 17888])


class Decompressors(unittest.TestCase):
    PAIRS = ((etl_writer.lznt1_stored, etl_reader.inflate_lznt1), (etl_writer.lznt1, etl_reader.inflate_lznt1),
             (etl_writer.xpress_literal, etl_reader.inflate_xpress), (etl_writer.xpress, etl_reader.inflate_xpress),
             (etl_writer.xpress_huffman_literal, etl_reader.inflate_xpress_huffman),
             (etl_writer.xpress_huffman, etl_reader.inflate_xpress_huffman))

    def test_round_trips(self):
        inputs = [b"a", b"ab" * 20, bytes(300), make_cases.pattern(5000), make_cases.words(9000), bytes(70000),
                  make_cases.pattern(32), make_cases.pattern(64), make_cases.words(4097),
                  make_cases.pattern(65536) + b"x"]
        for deflate, inflate in self.PAIRS:
            for data in inputs:
                with self.subTest(method=deflate.__name__, length=len(data)):
                    self.assertEqual(inflate(deflate(data), len(data)), data)

    def test_longest_length_form(self):
        data = bytes(200_000)
        stored = etl_writer.xpress(data)
        self.assertIn(struct.pack("<BHI", 255, 0, len(data) - 4), stored)
        self.assertEqual(etl_reader.inflate_xpress(stored, len(data)), data)

    def test_published_examples(self):
        """The plain LZ77 examples of MS-XCA section 3."""
        self.assertEqual(etl_reader.inflate_xpress(bytes.fromhex("3f000000") + b"abcdefghijklmnopqrstuvwxyz", 26),
                         b"abcdefghijklmnopqrstuvwxyz")
        self.assertEqual(etl_reader.inflate_xpress(bytes.fromhex("ffffff1f61626317000fff2601"), 300), b"abc" * 100)

    def test_damage_is_reported(self):
        for deflate, inflate in self.PAIRS:
            stored = deflate(make_cases.words(3000))
            for length in range(0, len(stored) // 2, 5):
                with self.subTest(method=deflate.__name__, length=length), self.assertRaises(etl_reader.BadData):
                    inflate(stored[:length], 3000)


class CommandLine(unittest.TestCase):
    def run_reader(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = etl_reader.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def test_modes(self):
        with tempfile.TemporaryDirectory() as folder:
            make_cases.damaged_record().write(Path(folder))
            make_cases.sequence_908().write(Path(folder))
            good, bad = Path(folder) / "sequence_908.etl", Path(folder) / "damaged_record.etl"
            truth = json.loads(good.with_suffix(".json").read_text())

            code, out, _ = self.run_reader(good, "--events")
            self.assertEqual((code, [json.loads(line) for line in out.splitlines()]), (0, truth["events"]))
            code, out, _ = self.run_reader(good, "--counts")
            self.assertEqual((code, json.loads(out)), (0, truth["counts"]))
            code, out, _ = self.run_reader(good, "--check")
            self.assertEqual(code, 1)
            self.assertIn("sequence-start: FAIL", out)
            code, out, _ = self.run_reader(good, "--check", "--skip", "sequence-start")
            self.assertEqual(code, 0)
            self.assertIn("walk: ok", out)
            code, out, _ = self.run_reader(bad, "--damage")
            self.assertEqual(len(json.loads(out)), 9)
            empty = Path(folder) / "empty.etl"
            empty.write_bytes(b"")
            code, _, err = self.run_reader(empty, "--counts")
            self.assertEqual(code, 4)
            self.assertIn("shorter than one buffer header", err)


if __name__ == "__main__":
    unittest.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""trace_checks finds each fault that it is there for."""
import gzip
import json
import os
import pathlib
import tempfile
import unittest

import trace_checks


def piece(name, ts, dur, tid=1, **more):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, **more}


def arrow(ph, ts, number=1, **more):
    return {"ph": ph, "id": number, "cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": 1, "ts": ts,
            **({"bp": "e"} if ph == "f" else {}), **more}


class TraceChecksTest(unittest.TestCase):
    def load(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            path = pathlib.Path(folder) / "trace.json"
            path.write_bytes(data)
            return trace_checks.load(path)

    def faults(self, *events):
        return trace_checks.check(self.load(json.dumps({"traceEvents": events})))

    def assert_fault(self, word, *events):
        self.assertTrue(any(word in fault for fault in self.faults(*events)), self.faults(*events))

    def test_good_trace_has_no_faults(self):
        self.assertEqual(self.faults(piece("a", 5000000000000.001, 3), piece("b", 5000000000000.001, 2.999),
                                     piece("c", 5000000000003.001, 0), piece("d", 5000000000002, 9, tid=2),
                                     arrow("s", 5000000000000.001), arrow("f", 5000000000003.001)), [])

    def test_overlap_of_one_nanosecond(self):
        self.assert_fault("overlap", piece("a", 5000000000000.0, 3), piece("b", 5000000000001.0, 2.001))

    def test_overlap_is_seen_behind_a_closed_sibling(self):
        self.assert_fault("overlap", piece("a", 0, 10), piece("b", 1, 2), piece("c", 3, 8))

    def test_negative_duration(self):
        self.assert_fault("negative", piece("a", 5, -0.001))

    def test_arrow_beside_its_slice(self):
        self.assert_fault("not at the start", piece("a", 5, 1), piece("b", 7, 1), arrow("s", 5.001), arrow("f", 7))

    def test_arrow_without_an_end(self):
        self.assert_fault("0 heads", piece("a", 5, 1), arrow("s", 5))
        self.assert_fault("0 tails", piece("a", 5, 1), arrow("f", 5))

    def test_arrow_that_points_back(self):
        self.assert_fault("back in time", piece("a", 5, 1), piece("b", 7, 1), arrow("s", 7), arrow("f", 5))

    def test_arrow_that_does_not_bind_to_the_enclosing_slice(self):
        self.assert_fault("bp", piece("a", 5, 1), arrow("s", 5), arrow("f", 5, bp="n"))

    def test_what_is_not_strictly_json(self):
        for text in ('{"traceEvents": [', '{"traceEvents": [NaN]}', '{"traceEvents": [],}', '{"traceEvents": ["\n"]}',
                     b'{"traceEvents": ["\xff"]}'):
            with self.subTest(text), self.assertRaises(ValueError):
                self.load(text)

    def test_finer_than_a_nanosecond(self):
        with self.assertRaises(ValueError):
            self.load(json.dumps({"traceEvents": [piece("a", 0.0001, 1)]}))

    def test_compressed(self):
        self.assertEqual(len(self.load(gzip.compress(b'{"traceEvents": []}')).slices), 0)


if __name__ == "__main__":
    unittest.main()

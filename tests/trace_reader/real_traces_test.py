# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What `ferret table --json` says of real GPU traces, against counts made from their JSON by other means.

    python3 real_traces_test.py FERRET TRACE...

Ferret goes by the ids in the trace and falls back on times. Here only times are used: a kernel's launch is the call
with its correlation id, its operator the last one begun on the launch's thread of those still open at the launch.
"""
import bisect
import collections
import decimal
import gzip
import json
import os
import subprocess
import sys
import unittest

FERRET = None
TRACES = {}

DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver")


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data, parse_float=decimal.Decimal)["traceEvents"]


def nanoseconds(micros):
    return int(micros * 1000)


class Trace:
    def __init__(self, path):
        slices = [event for event in load(path) if event["ph"] == "X"]
        self.work = [event for event in slices if event["cat"] in DEVICE_WORK]
        self.annotations = [event for event in slices if event["cat"] == "gpu_user_annotation"]
        self.launches = {event["args"]["correlation"]: event for event in slices if event["cat"] in LAUNCHES}
        ops = collections.defaultdict(list)
        for event in slices:
            if event["cat"] == "cpu_op":
                ops[event["pid"], event["tid"]].append(event)
        self.ops = {thread: sorted(events, key=lambda e: (e["ts"], -e["dur"])) for thread, events in ops.items()}
        self.starts = {thread: [e["ts"] for e in events] for thread, events in self.ops.items()}

    def operator_of(self, work):
        """Its name, or None."""
        launch = self.launches.get(work["args"]["correlation"])
        if launch is None:
            return None
        thread = launch["pid"], launch["tid"]
        at = bisect.bisect_right(self.starts.get(thread, []), launch["ts"])
        for op in reversed(self.ops.get(thread, [])[:at]):
            if op["ts"] + op["dur"] >= launch["ts"]:
                return op["name"]
        return None


def table(path, *options):
    result = subprocess.run([FERRET, "table", "--json", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, check=True)
    return json.loads(result.stdout)["rows"], result.stderr


class RealTracesTest(unittest.TestCase):
    maxDiff = None

    def each_trace(self):
        self.assertGreaterEqual(len(TRACES), 5)
        for name, path in TRACES.items():
            with self.subTest(name):
                yield Trace(path), *table(path)

    def test_device_work_is_counted_and_timed_by_name(self):
        for trace, rows, _ in self.each_trace():
            expected = collections.defaultdict(lambda: [0, 0])
            for work in trace.work:
                expected[work["name"]][0] += 1
                expected[work["name"]][1] += nanoseconds(work["dur"])
            found = {row["name"]: [row["calls"], row["self_device_ns"]] for row in rows
                     if row["device"] == "cuda" and not row["is_user_annotation"]}
            self.assertEqual(found, dict(expected))

    def test_device_time_is_given_to_the_operators_that_launched_it(self):
        for trace, rows, _ in self.each_trace():
            expected = collections.Counter()
            for work in trace.work:
                operator = trace.operator_of(work)
                if operator is not None:
                    expected[operator] += nanoseconds(work["dur"])
            found = {row["name"]: row["self_device_ns"] for row in rows
                     if row["device"] == "cpu" and row["self_device_ns"] > 0}
            self.assertEqual(found, dict(expected))

    def test_work_of_no_operator_is_counted(self):
        for trace, _, messages in self.each_trace():
            alone = sum(trace.operator_of(work) is None for work in trace.work)
            said = f"of {len(trace.work)} kernels, copies and sets {alone} belong to no operator" in messages
            self.assertEqual(said, alone > 0, messages)

    def test_annotations_on_the_device_are_rows_of_their_own(self):
        for trace, rows, _ in self.each_trace():
            expected = collections.Counter("ProfilerStep*" if event["name"].startswith("ProfilerStep#")
                                           else event["name"] for event in trace.annotations)
            found = {row["name"]: row["calls"] for row in rows
                     if row["device"] == "cuda" and row["is_user_annotation"]}
            self.assertEqual(found, dict(expected))

    def test_the_traces_have_what_is_tested(self):
        traces = [Trace(path) for path in TRACES.values()]
        self.assertGreater(sum(len(trace.work) for trace in traces), 6000)
        self.assertGreater(sum(len(trace.annotations) for trace in traces), 10)
        self.assertGreater(sum(trace.operator_of(work) is None for trace in traces for work in trace.work), 0)

    def test_an_id_that_names_an_operator_of_another_time_is_not_believed(self):
        # In this trace the kernels' "External id" is their own correlation id, which some operator has by chance.
        path = next(path for name, path in TRACES.items() if name.startswith("alexnet"))
        by_id = {event["args"]["External id"]: event["name"] for event in load(path) if event.get("cat") == "cpu_op"}
        trace = Trace(path)
        misleading = [work for work in trace.work
                      if by_id.get(work["args"]["External id"], trace.operator_of(work)) != trace.operator_of(work)]
        self.assertGreater(len(misleading), 0)


if __name__ == "__main__":
    FERRET = os.path.abspath(sys.argv[1])
    TRACES = {os.path.basename(path): path for path in sys.argv[2:]}
    del sys.argv[1:]
    unittest.main()

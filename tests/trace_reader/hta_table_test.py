# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""HolisticTraceAnalysis and `ferret table` add up the same device time for the same kernels.

    python3 hta_table_test.py FERRET TRACE...
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

# As written, not rounded to whole microseconds.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"

from hta.trace_analysis import TraceAnalysis  # noqa: E402

FERRET = None
TRACES = []

# Rows that HTA takes for kernels although nothing runs in them.
WAITS = ("Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync")


def kernels_of_hta(path):
    """{name: nanoseconds}"""
    folder = tempfile.mkdtemp(prefix="hta-", dir=os.environ.get("TEST_TMPDIR"))
    shutil.copy(path, folder)
    analysis = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=1000)
    sums = collections.Counter()
    for name, micros in zip(kernels["name"], kernels["sum (us)"]):
        if name not in WAITS:
            sums[name] += round(micros * 1000)
    return sums


def kernels_of_ferret(path):
    rows = json.loads(subprocess.run([FERRET, "table", "--json", path], stdout=subprocess.PIPE, check=True).stdout)["rows"]
    return {row["name"]: row["self_device_ns"] for row in rows
            if row["device"] == "cuda" and not row["is_user_annotation"]}


class HtaTableTest(unittest.TestCase):
    maxDiff = None

    def test_same_kernels_same_time(self):
        self.assertGreaterEqual(len(TRACES), 2)
        for path in TRACES:
            with self.subTest(os.path.basename(path)):
                expected = kernels_of_hta(path)
                self.assertGreater(len(expected), 10)
                self.assertEqual(kernels_of_ferret(path), dict(expected))


if __name__ == "__main__":
    FERRET = os.path.abspath(sys.argv[1])
    TRACES = sys.argv[2:]
    del sys.argv[1:]
    unittest.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""`ferret table --json` of traces that Ferret recorded, against counts made from their JSON.

    python3 own_traces_test.py FERRET TRAIN_MLP RECORD_NAMES
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "readers"))
sys.path.insert(0, str(HERE.parents[1] / "tools"))

import hostile_names  # noqa: E402
import recorded  # noqa: E402
import trace_summary  # noqa: E402

FERRET, TRAIN_MLP, RECORD_NAMES = map(os.path.abspath, sys.argv[1:4])


def table(path):
    result = subprocess.run([FERRET, "table", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    assert result.stderr == b"", result.stderr
    return json.loads(result.stdout)["rows"]


class OwnTracesTest(unittest.TestCase):
    maxDiff = None

    def check(self, path):
        """The rows, whose operators have the calls and self times that the trace has."""
        events = trace_summary.load(path)
        expected = {name: (calls, self_ns) for name, (self_ns, calls) in trace_summary.self_times(events).items()}
        rows = table(path)
        found = {row["name"]: (row["calls"], row["self_cpu_ns"]) for row in rows if not row["is_user_annotation"]}
        self.assertEqual(found, expected)
        return rows

    def test_of_a_training(self):
        for target in ("trace.json", "trace.json.gz"):
            path = recorded.folder("own") / target
            recorded.record(TRAIN_MLP, path)
            calls = collections.Counter()
            for row in self.check(path):
                calls[row["name"]] += row["calls"]
            self.assertEqual(calls["linear"], 12800)
            self.assertEqual(calls["ProfilerStep*"], 200)

    def test_of_names_of_all_bytes(self):
        path = recorded.folder("own") / "names.json"
        recorded.record(RECORD_NAMES, path, stdin=hostile_names.as_input(hostile_names.NAMES))
        found = {row["name"] for row in table(path)}
        self.assertEqual(found, {hostile_names.shown(name) for name in hostile_names.NAMES})
        self.assertGreater(len(found), 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Hundreds of threads record at once into one trace, and everything is there.

    python3 many_threads_test.py RECORD_THREADS
"""
import collections
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "readers"))

import recorded  # noqa: E402

RECORD_THREADS = None
THREADS = 300
SCOPES = 100


class ManyThreadsTest(unittest.TestCase):
    def test_every_scope_of_every_thread_is_on_the_track_of_its_thread(self):
        path = recorded.folder("threads") / "trace.json"
        recorded.record(RECORD_THREADS, path, THREADS, SCOPES)
        trace = recorded.load(path)
        slices = [s for s in trace.slices if s.category == "cpu_op"]
        tracks = collections.Counter((s.track, s.name) for s in slices)
        self.assertEqual(len(tracks), 2 * THREADS)
        self.assertEqual(set(tracks.values()), {SCOPES})
        labels = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace.events if e["name"] == "thread_name"}
        shown = {labels[track].partition(" (")[2].rstrip(")") for track, _ in tracks}
        self.assertEqual(shown, {f"worker {i}" for i in range(THREADS)})
        self.assertEqual(recorded.account(trace)["lost"]["total"], 0)
        ids = {s.args["External id"] for s in slices}
        self.assertEqual(len(ids), 2 * THREADS * SCOPES, "ids are unique")


if __name__ == "__main__":
    RECORD_THREADS = sys.argv.pop(1)
    unittest.main()

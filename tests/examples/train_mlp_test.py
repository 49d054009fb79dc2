# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""examples/train_mlp records itself when FERRET_EXPORT says so, and only then: train_mlp_test.py TRAIN_MLP"""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "torch"))

import trace_checks  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
STEPS, BATCH, LAYERS = 200, 32, 3


class TrainMlpTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))

    def run_program(self, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FERRET_")}
        # Room for all of it, however late the drain comes on a busy machine.
        environment.update(more, FERRET_OVERFLOW="block")
        return subprocess.run([PROGRAM], cwd=self.folder, env=environment, check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def test_without_ferret_export_it_leaves_nothing(self):
        self.run_program()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_with_ferret_export_it_leaves_the_whole_trace_and_says_the_same(self):
        self.assertEqual(self.run_program(FERRET_EXPORT="chrome_trace:trace.json"), self.run_program())
        trace = trace_checks.load(self.folder / "trace.json")
        self.assertEqual(trace_checks.check(trace), [])
        names = collections.Counter(s.name.partition("#")[0] for s in trace.slices)
        samples = STEPS * BATCH
        for name, count in {"linear": 2 * samples, "LinearBackward": 2 * samples, "tanh": samples,
                            "TanhBackward": samples, "train step": STEPS, "update": STEPS,
                            "ProfilerStep": STEPS}.items():
            self.assertEqual(names[name], count, name)
        self.assertEqual(len(trace_checks.arrows(trace)), LAYERS * samples)
        losses = [e for e in trace.events if e.get("ph") == "C" and e["name"] == "loss"]
        self.assertEqual(len(losses), STEPS)


if __name__ == "__main__":
    unittest.main()

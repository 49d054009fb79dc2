# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""HolisticTraceAnalysis takes a folder with the traces of all ranks and finds what the ranks recorded.

    python3 hta_test.py TRAIN_MLP
"""
import collections
import subprocess
import sys
import unittest

from hta.trace_analysis import TraceAnalysis

import recorded

TRAIN_MLP = None
RANKS = 2


class HtaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = recorded.folder("ranks")
        for rank in range(RANKS):
            recorded.record(TRAIN_MLP, cls.folder / "trace.json.gz",
                            env={"RANK": str(rank), "WORLD_SIZE": str(RANKS)})
        cls.files = [cls.folder / f"trace-rank{rank}.json.gz" for rank in range(RANKS)]
        cls.traces = [recorded.load(file) for file in cls.files]
        cls.analysis = TraceAnalysis(trace_dir=str(cls.folder), include_last_profiler_step=True)

    def test_one_environment_gives_each_rank_a_file(self):
        self.assertEqual(sorted(self.folder.iterdir()), self.files)

    def test_every_rank_is_found(self):
        self.assertEqual(sorted(self.analysis.t.traces), list(range(RANKS)))

    def test_every_step_is_found(self):
        self.assertEqual([int(step) for step in self.analysis.get_profiler_steps()], list(range(200)))

    def test_operators_are_counted_as_they_were_recorded(self):
        text = self.analysis.t.symbol_table.get_sym_table()
        for rank, trace in enumerate(self.traces):
            frame = self.analysis.t.traces[rank]
            counted = collections.Counter((text[cat], text[name]) for cat, name in zip(frame["cat"], frame["name"]))
            expected = collections.Counter((s.category, s.name) for s in trace.slices if s.category != "Trace")
            self.assertEqual(counted, expected)
            self.assertEqual(expected["cpu_op", "linear"], 12800)

    def test_operators_belong_to_the_steps_they_ran_in(self):
        text = self.analysis.t.symbol_table.get_sym_table()
        for rank in range(RANKS):
            frame = self.analysis.t.traces[rank]
            forward = frame[[text[name] == "linear" for name in frame["name"]]]
            self.assertEqual(dict(forward.groupby("iteration").size()), dict.fromkeys(range(200), 64))

    def test_its_validator_accepts_every_type(self):
        for file in self.files:
            for level in ("minimal", "standard", "complete"):
                answer = subprocess.run([sys.executable, "-m", "hta.utils.validate_trace", "--level", level, str(file)],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
                self.assertIn("Validation result: True", answer)


if __name__ == "__main__":
    TRAIN_MLP = sys.argv.pop(1)
    unittest.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's engine loads the trace of an unmodified PyTorch training without a complaint.

    python3 perfetto_torch_test.py PYTHON_WITH_TORCH FERRET TRAIN_CHARLM
"""
import sys
import unittest

import perfetto_engine
import recorded

TORCH_PYTHON = FERRET = TRAIN_CHARLM = None
STEPS = 6


class PerfettoTorchTest(unittest.TestCase):
    def test_character_model(self):
        path = recorded.folder("charlm") / "trace.json.gz"
        recorded.run(FERRET, "run", "--torch", "--export", f"chrome_trace:{path}", "--", TORCH_PYTHON, TRAIN_CHARLM,
                     "--steps", STEPS)
        trace = recorded.load(path)
        counts = recorded.Counts(trace)
        self.assertEqual(recorded.account(trace)["lost"]["total"], 0)
        with perfetto_engine.load(path) as engine:
            self.assertEqual(engine.complaints(), [])
            self.assertEqual(engine.value("select count(*) n from slice"), counts.viewer_slices)
            self.assertEqual(engine.value("select count(*) n from flow"), counts.arrows)
            self.assertGreater(counts.arrows, 50 * STEPS)
            self.assertEqual(engine.value("select count(*) n from flow join slice i on i.id = slice_in join slice o "
                                          "on o.id = slice_out where i.name not like '%Backward%' or "
                                          "o.name like '%Backward%' or o.ts > i.ts"), 0)
            self.assertEqual(engine.value("select count(*) n from slice where name = 'Optimizer.step#Adam.step'"),
                             STEPS)
            self.assertGreaterEqual(counts.steps, STEPS - 1)
            # Attention is where one would look for it: below the step's forward pass, on the main thread.
            rows = engine.rows("select distinct thread.name name from slice join thread_track on track_id = "
                               "thread_track.id join thread using (utid) where slice.name like "
                               "'aten::scaled_dot_product%'")
            self.assertEqual(len(rows), 1)
            self.assertRegex(rows[0]["name"], r"^thread \d+ \(.+\)$")
        print(f"{counts.viewer_slices} slices, {counts.arrows} flows, {counts.steps} steps")


if __name__ == "__main__":
    TRAIN_CHARLM, FERRET, TORCH_PYTHON = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
    unittest.main()

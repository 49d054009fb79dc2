# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The viewers themselves: Perfetto's UI and chrome://tracing open the traces of the examples without a warning.

    python3 browser_test.py PYTHON_WITH_TORCH FERRET TRAIN_CHARLM TRAIN_MLP RECORD_EVERYTHING

The pictures are kept with the test's outputs (bazel-testlogs/tests/readers/browser_test/test.outputs).
"""
import os
import pathlib
import sys
import unittest

import browser
import recorded

TORCH_PYTHON = FERRET = TRAIN_CHARLM = TRAIN_MLP = RECORD_EVERYTHING = None
PICTURES = pathlib.Path(os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "."))


class BrowserTest(unittest.TestCase):
    def assert_both_show(self, name, path):
        trace = recorded.load(path)
        counts = recorded.Counts(trace)
        (slices, flows, complaints), errors = browser.perfetto(
            path, PICTURES / f"{name}-perfetto.png",
            ["select count(*) n from slice", "select count(*) n from flow",
             "select name, value from stats where severity <> 'info' and value > 0"])
        self.assertEqual((slices, flows, complaints, errors),
                         ([{"n": counts.viewer_slices}], [{"n": counts.arrows}], [], []))
        shown, errors = browser.catapult(path, PICTURES / f"{name}-catapult.png")
        self.assertEqual((shown["warnings"][:5], errors), ([], []))
        self.assertEqual(shown["flows"], counts.arrows)
        # It keeps instants of a thread beside the slices; the recording's own instant belongs to no thread.
        self.assertIn(shown["slices"], {counts.viewer_slices - 1, counts.viewer_slices - 1 - counts.instants})
        print(f"{name}: {counts.viewer_slices} slices, {counts.arrows} flows")

    def test_training_in_cpp(self):
        path = recorded.folder("mlp") / "trace.json"
        recorded.record(TRAIN_MLP, path)
        self.assert_both_show("train_mlp", path)

    def test_training_in_pytorch(self):
        path = recorded.folder("charlm") / "trace.json.gz"
        recorded.run(FERRET, "run", "--torch", "--export", f"chrome_trace:{path}", "--", TORCH_PYTHON, TRAIN_CHARLM,
                     "--steps", 10)
        self.assert_both_show("train_charlm", path)

    def test_every_kind_of_record(self):
        path = recorded.folder("everything") / "trace.json"
        recorded.record(RECORD_EVERYTHING, path, 3, 40)
        self.assert_both_show("everything", path)


if __name__ == "__main__":
    TORCH_PYTHON, FERRET, TRAIN_CHARLM, TRAIN_MLP, RECORD_EVERYTHING = sys.argv[1:6]
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch training spends its steps on: phases lie where PyTorch's own names say that they must.

    torch_phases_test.py PYTHON_WITH_TORCH FERRET
"""
import collections
import sys
import unittest

import recorded_training
from otlp_messages import attributes

TORCH_PYTHON = FERRET = None
STEPS = 4


class TorchPhasesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spans = recorded_training.record(TORCH_PYTHON, FERRET, "?detail=all").spans
        cls.by_id = {span.span_id: span for span in spans}
        roots = sorted((span for span in spans if span.name == "ProfilerStep"), key=lambda s: s.start_time_unix_nano)
        cls.steps = [(root, [span for span in spans if span.trace_id == root.trace_id and span != root])
                     for root in roots]

    def phases(self, root, inside):
        """By their start: (phase, span)."""
        known = [(attributes(span).get("ferret.phase"), span) for span in inside]
        return sorted(((phase, span) for phase, span in known if phase), key=lambda p: p[1].start_time_unix_nano)

    def assert_inside(self, span, phase, root, inside):
        self.assertTrue(any(name == phase and lies.start_time_unix_nano <= span.start_time_unix_nano
                            and span.end_time_unix_nano <= lies.end_time_unix_nano
                            for name, lies in self.phases(root, inside)), f"{span.name} is not in {phase}")

    def test_each_step_has_its_phases_in_their_order_under_its_root(self):
        self.assertEqual([attributes(root)["ferret.step"] for root, _ in self.steps], list(range(STEPS)))
        for root, inside in self.steps:
            phases = self.phases(root, inside)
            self.assertEqual([phase for phase, _ in phases], ["data", "forward", "backward", "optimizer"])
            sums = collections.Counter()
            latest = root.start_time_unix_nano
            for phase, span in phases:
                self.assertEqual((span.name, span.parent_span_id), (phase, root.span_id))
                self.assertLessEqual(latest, span.start_time_unix_nano)
                latest = span.end_time_unix_nano
                lasted = span.end_time_unix_nano - span.start_time_unix_nano
                sums[f"ferret.phase.{phase}_ns"] += attributes(span).get("ferret.phase.busy_ns", lasted)
            self.assertLessEqual(latest, root.end_time_unix_nano)
            self.assertEqual(sums, {key: value for key, value in attributes(root).items() if key in sums})

    def test_what_pytorch_marks_as_a_part_of_the_step_lies_in_that_phase(self):
        for root, inside in self.steps:
            seen = collections.Counter()
            for span in inside:
                for is_of_it, phase in ((span.name.startswith("enumerate(DataLoader)#"), "data"),
                                        (span.name.startswith("Optimizer.step#"), "optimizer"),
                                        (attributes(span).get("ferret.scope") == "backward_function", "backward")):
                    if is_of_it:
                        self.assert_inside(span, phase, root, inside)
                        seen[phase] += 1
            self.assertEqual((seen["data"], seen["optimizer"]), (1, 1))
            self.assertGreater(seen["backward"], 5)

    def test_a_backward_operator_is_in_backward_and_the_forward_operator_it_links_to_in_forward(self):
        for root, inside in self.steps:
            links = [(span, self.by_id[link.span_id]) for span in inside for link in span.links]
            names = {(backward.name, forward.name) for backward, forward in links}
            self.assertIn(("AddmmBackward0", "aten::addmm"), names)
            for backward, forward in links:
                self.assertEqual(forward.trace_id, root.trace_id)
                self.assert_inside(backward, "backward", root, inside)
                self.assert_inside(forward, "forward", root, inside)


if __name__ == "__main__":
    TORCH_PYTHON, FERRET = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

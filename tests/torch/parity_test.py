# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What Ferret records of PyTorch is what torch.profiler records, event by event and arrow by arrow.

    python3 parity_test.py FERRET LIBFERRET_TORCH
"""
import collections
import copy
import json
import pathlib
import re
import unittest

import ferret_run
import parity
import trace_checks

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = re.findall(r"^@program\ndef (\w+)", (HERE / "parity_programs.py").read_text(encoding="utf-8"), re.MULTILINE)


class ParityTest(ferret_run.FerretTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = ferret_run.temporary_folder("parity")
        cls.mine = cls.folder / "ferret.json"
        cls().python(HERE / "parity_programs.py", cls.folder, *PROGRAMS, exporters=f"chrome_trace:{cls.mine}")
        cls.trace = cls().load(cls.mine)

    def test_same_events_and_arrows(self):
        self.assertGreater(len(PROGRAMS), 10)
        for name in PROGRAMS:
            with self.subTest(program=name):
                theirs = trace_checks.load(self.folder / f"{name}.json")
                lines, events, arrows = parity.compare(self.trace, theirs, f"parity:{name}")
                self.assertEqual(lines, [], "\n" + "\n".join(lines))
                print(f"{name}: {events} events and {arrows} arrows are the same")
                self.assertGreater(events, 10)
                self.assertGreater(arrows, 0 if name != "odd_names" else -1)

    def test_steps_are_seen_at_the_optimizer(self):
        self.assertGreater(len(self.trace.starting_with("ProfilerStep#")), 10)


class ComparisonTest(unittest.TestCase):
    """The comparison sees each kind of difference: a trace against the same one with a single thing altered."""

    @staticmethod
    def document():
        def op(name, ts, dur, **args):
            return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}

        window = {**op("window", 0.5, 1000), "cat": "user_annotation"}
        forward = op("aten::mul", 10, 5, **{"Sequence number": 4, "Fwd thread id": 0})
        backward = op("MulBackward0", 20, 5, **{"Sequence number": 4, "Fwd thread id": 1})
        arrow = {"id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": 1}
        tail, head = {**arrow, "ph": "s", "ts": 10}, {**arrow, "ph": "f", "ts": 20, "bp": "e"}
        return {"traceEvents": [window, forward, tail, backward, head, op("aten::view", 30, 1), op("outside", 2000, 1)]}

    def differences(self, alter):
        altered = copy.deepcopy(self.document())
        alter(altered["traceEvents"])
        traces = [trace_checks.Trace(json.loads(json.dumps(d), parse_float=trace_checks.Decimal))
                  for d in (self.document(), altered)]
        return parity.compare(*traces, "window")[0]

    def test_equal(self):
        self.assertEqual(self.differences(lambda events: None), [])
        self.assertEqual(self.differences(lambda events: events.pop()), [], "outside of the window")

    def test_each_alteration_is_seen(self):
        def sets(index, key, value):
            return lambda events: events[index].__setitem__(key, value)

        def sets_argument(index, key, value):
            return lambda events: events[index]["args"].__setitem__(key, value)

        alterations = {
            "another name": sets(5, "name", "aten::t"),
            "another category": sets(5, "cat", "user_annotation"),
            "another number": sets_argument(5, "Sequence number", 5),
            "another direction": lambda events: (events[3]["args"].pop("Fwd thread id"), events.__delitem__(4),
                                                 events.__delitem__(2)),
            "one less": lambda events: events.pop(5),
            "one more": lambda events: events.append(copy.deepcopy(events[5])),
            "no arrow": lambda events: (events.pop(4), events.pop(2)),
        }
        for name, alter in alterations.items():
            with self.subTest(name):
                self.assertNotEqual(self.differences(alter), [])

    def test_differences_are_shown_with_both_counts(self):
        lines = self.differences(lambda events: events.append(copy.deepcopy(events[5])))
        self.assertEqual(lines, ["event ('aten::view', 'cpu_op', -1, False): 1 in Ferret's trace, "
                                 "2 in torch.profiler's"])


if __name__ == "__main__":
    ferret_run.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What Ferret records of operators beyond their times is what torch.profiler records.

    python3 details_test.py FERRET LIBFERRET_TORCH JOURNAL_PLUGIN
"""
import copy
import json
import os
import pathlib
import re
import sys
import unittest

import details_parity
import ferret_run
import trace_checks

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = re.findall(r"^@program\ndef (\w+)", (HERE / "parity_programs.py").read_text(encoding="utf-8"), re.MULTILINE)


class ArgumentsTest(ferret_run.FerretTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = folder = ferret_run.temporary_folder("details")
        cls().python(HERE / "parity_programs.py", "--shapes", folder, *PROGRAMS,
                     exporters=f"chrome_trace:{folder}/ferret.json,journal:{folder}/journal",
                     env={"FERRET_RECORD_SHAPES": "1", "FERRET_WITH_FLOPS": "1", "FERRET_EXPORTERS": JOURNAL})

    def test_same_as_torch_profilers(self):
        folder = self.folder
        mine = self.load(folder / "ferret.json")
        for name in PROGRAMS:
            with self.subTest(program=name):
                theirs = trace_checks.load(folder / f"{name}.json")
                lines, events, with_arguments = details_parity.compare(mine, theirs, f"parity:{name}")
                self.assertEqual(lines, [], "\n" + "\n".join(lines[:10]))
                print(f"{name}: {events} events are the same, {with_arguments} of them with arguments")
                self.assertGreater(with_arguments, 10)

    def test_threads_numbers_and_scopes_are_torch_profilers(self):
        journal = details_parity.read_journal(self.folder / "journal")
        scopes = set()
        for name in PROGRAMS:
            with self.subTest(program=name):
                theirs = json.loads((self.folder / f"{name}.events").read_text(encoding="utf-8"))
                theirs = details_parity.fields_by_thread(theirs, f"parity:{name}")
                mine = details_parity.fields_by_thread(journal, f"parity:{name}")
                for thread, events in theirs.items():
                    # Ferret went on after the profiler was stopped.
                    self.assertEqual(mine[thread][:len(events)], events, f"thread {thread}")
                    scopes.update(scope for *_, scope, _ in events)
        self.assertEqual(scopes, {0, 1, 2, 7}, "operators, autograd nodes, TorchScript functions, annotations")

    def run_program(self, name):
        """Returns the trace and what it printed, which is what it prints without Ferret."""
        path = ferret_run.temporary_folder(name) / "trace.json"
        result = self.assert_same_run([HERE / "details_programs.py", name], f"chrome_trace:{path}",
                                      env={"FERRET_RECORD_SHAPES": "1", "FERRET_WITH_FLOPS": "1"})
        return self.load(path), result.stdout

    def test_recording_keeps_no_tensor_alive(self):
        trace, said = self.run_program("references")
        self.assertEqual(json.loads(said), {"dead": True})
        self.assertEqual(len([s for s in trace.named("aten::cat") if s.args["Input type"] == ["TensorList", "Scalar"]]), 1)

    def test_sizes_that_are_symbols_are_no_sizes(self):
        trace, said = self.run_program("symbols")
        self.assertIn("done", said)
        types = [s.args["Input type"] for s in trace.named("aten::mm")]
        self.assertIn(["", ""], types, "while the function is traced")
        self.assertIn(["float", "float"], types, "when it runs")

    def test_overload_names(self):
        trace, _ = self.run_program("references")
        self.assertEqual({s.args.get("Overload name") for s in trace.named("aten::add")}, {"Tensor"})

    def test_nothing_of_it_unless_asked_for(self):
        path = ferret_run.temporary_folder("plain") / "trace.json"
        self.python(HERE / "details_programs.py", "references", exporters=f"chrome_trace:{path}")
        for s in self.load(path).slices:
            self.assertFalse({"Input Dims", "Overload name", "Call stack"} & set(s.args), s)


class ComparisonTest(unittest.TestCase):
    """The comparison sees each kind of difference: a trace against the same one with a single thing altered."""

    @staticmethod
    def document():
        def op(name, ts, dur, **args):
            return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}

        window = {**op("window", 0, 1000), "cat": "user_annotation"}
        arguments = {"Input Dims": [[2, 3], []], "Input Strides": [[3, 1], []], "Input type": ["float", "Scalar"],
                     "Concrete Inputs": ["", "1"]}
        return {"traceEvents": [window, op("aten::add", 10, 90, **{"Sequence number": 4, "Fwd thread id": 0}, **arguments),
                                op("aten::to", 20, 10), op("aten::mul", 200, 10)]}

    def differences(self, alter):
        altered = copy.deepcopy(self.document())
        alter(altered["traceEvents"])
        traces = [trace_checks.Trace(json.loads(json.dumps(d), parse_float=trace_checks.Decimal))
                  for d in (self.document(), altered)]
        return details_parity.compare(*traces, "window")[0]

    def test_equal(self):
        self.assertEqual(self.differences(lambda events: None), [])

    def test_each_alteration_is_seen(self):
        def sets_argument(key, value):
            return lambda events: events[1]["args"].__setitem__(key, value)

        alterations = {
            "name": lambda events: events[1].__setitem__("name", "aten::sub"),
            "thread": lambda events: events[3].__setitem__("tid", 2),
            "number": sets_argument("Sequence number", 5),
            "forward thread": sets_argument("Fwd thread id", 1),
            "sizes": sets_argument("Input Dims", [[2, 4], []]),
            "strides": sets_argument("Input Strides", [[1, 2], []]),
            "types": sets_argument("Input type", ["double", "Scalar"]),
            "values": sets_argument("Concrete Inputs", ["", "2"]),
            "parent": lambda events: events[2].__setitem__("ts", 300),
            "no arguments": lambda events: events[1].__setitem__("args", {}),
            "one less": lambda events: events.pop(),
        }
        for name, alter in alterations.items():
            with self.subTest(name):
                self.assertNotEqual(self.differences(alter), [])


if __name__ == "__main__":
    JOURNAL = os.path.abspath(sys.argv.pop(3))
    ferret_run.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations and operators of unmodified PyTorch programs, timed on a device.

    python3 cuda_marks_test.py FERRET LIBFERRET_TORCH STAND_IN DRIVER
"""
import collections
import json
import os
import pathlib
import sys

import ferret_run
import trace_checks

HERE = pathlib.Path(__file__).resolve().parent
VIEWS = {"aten::" + name for name in ("view", "t", "transpose", "stride", "empty", "empty_like", "empty_strided",
                                      "as_strided", "expand", "resize_", "squeeze", "unsqueeze", "slice",
                                      "_unsafe_view", "size")}
# A mark is a stamp of the device, whose clock is known as well as the row says and counts in steps.
GRAIN_NS = 1000


class Recorded:
    """A trace: what ran on the CPU, and by its id what was timed of it."""

    def __init__(self, trace):
        self.trace = trace
        self.scopes = [s for s in trace.slices if s.category in ("cpu_op", "user_annotation")]
        self.rows = collections.defaultdict(list)
        for s in trace.slices:
            # Not what is only around the timed scopes inside of an annotation.
            if s.category in ("kernel", "gpu_user_annotation") and "clock_error_ns" in s.args:
                self.rows[s.args["External id"]].append(s)
        record = next(e for e in trace.events if e["name"] == "Ferret Record")
        self.counts = record["args"].get("device_counts", {})

    def rows_of(self, scope):
        return self.rows.get(scope.args["External id"], [])

    def named(self, name):
        found = [s for s in self.scopes if s.name == name]
        assert len(found) == 1, (name, found)
        return found[0]

    def inside(self, scope):
        return [s for s in self.scopes
                if s.track == scope.track and scope.start <= s.start and s.end <= scope.end]


class CudaMarksTest(ferret_run.FerretTest):
    stand_in = driver = ""

    def record(self, name, cuda):
        """The program's trace and what it printed."""
        path = ferret_run.temporary_folder(name) / "trace.json"
        result = self.python(HERE / "cuda_programs.py", name, self.stand_in, self.driver,
                             exporters=f"chrome_trace:{path}",
                             env={"FERRET_CUDA": cuda, "FERRET_CUDA_RATE": "0", "FERRET_CUDA_LIBRARY": self.driver})
        self.assertNotIn("not timed", result.stderr)
        recorded = Recorded(self.load(path))
        counts = dict(recorded.counts)
        self.assertEqual(counts.pop("asked", 0), sum(counts.values()), counts)
        self.assertEqual(counts.get("timed", 0), sum(len(rows) for rows in recorded.rows.values()))
        return recorded, json.loads(result.stdout)

    def assert_timed(self, recorded, scope):
        """Once, and while it ran."""
        rows = recorded.rows_of(scope)
        self.assertEqual([r.name for r in rows], [scope.name])
        slack = GRAIN_NS + rows[0].args["clock_error_ns"]
        self.assertGreaterEqual(rows[0].start, scope.start - slack)
        self.assertLessEqual(rows[0].end, scope.end + slack)

    def test_annotations_are_timed_and_nothing_else(self):
        recorded, said = self.record("train", "annotations")
        self.assertEqual(len(said["whole"]), 3)
        for number in said["whole"]:
            inside = recorded.inside(recorded.named(f"step {number}"))
            annotations = [s for s in inside if s.category == "user_annotation" and "ProfilerStep#" not in s.name]
            self.assertEqual(len(annotations), 6, annotations)  # the step, three of its own, two of the optimizer's
            for scope in annotations:
                self.assert_timed(recorded, scope)
            operators = [s for s in inside if s.category == "cpu_op"]
            self.assertGreater(len(operators), 20)
            self.assertEqual([s for s in operators if recorded.rows_of(s)], [])

    def test_operators_are_timed_except_views(self):
        recorded, said = self.record("train", "ops")
        self.assertEqual(len(said["whole"]), 3)
        for number in said["whole"]:
            inside = recorded.inside(recorded.named(f"step {number}"))
            views = [s for s in inside if s.name in VIEWS]
            self.assertGreaterEqual({s.name for s in views}, {"aten::view", "aten::t", "aten::transpose"})
            self.assertEqual([s for s in views if recorded.rows_of(s)], [])
            timed = [s for s in inside if s.name not in VIEWS and "ProfilerStep#" not in s.name]
            self.assertGreaterEqual({s.name for s in timed},
                                    {"aten::addmm", "aten::mm", "AddmmBackward0", "forward", "optimizer"})
            for scope in timed:
                self.assert_timed(recorded, scope)

    def test_scopes_asks_nothing_and_links_are_the_same_in_any_case(self):
        plain, said = self.record("train", "scopes")
        self.assertEqual((said["asked"], said["events"], plain.counts, plain.rows), (0, 0, {}, {}))
        expected = self.links_of_a_step(plain, said)
        self.assertGreater(len(expected), 3)
        for cuda in ("annotations", "ops"):
            recorded, said = self.record("train", cuda)
            self.assertGreater(said["asked"], 0)
            self.assertEqual(self.links_of_a_step(recorded, said), expected, cuda)

    def links_of_a_step(self, recorded, said):
        step = recorded.named(f"step {said['whole'][-1]}")
        pairs = []
        for (category, _, _), (tails, heads) in trace_checks.arrows(recorded.trace).items():
            if category != "fwdbwd" or not step.start <= tails[0][0].start <= step.end:
                continue
            pairs += [(tails[0][0].name, head[0].name) for head in heads]
        return sorted(pairs)

    def test_null_stream_is_the_default_one(self):
        recorded, _ = self.record("default_stream", "ops")
        for scope in (recorded.named("on the default stream"), recorded.named("aten::add")):
            self.assert_timed(recorded, scope)
        self.assertNotIn("bad_stream", recorded.counts)
        names = [e["args"]["name"] for e in recorded.trace.events if e.get("name") == "thread_name"]
        self.assertTrue(any("legacy default stream" in name for name in names), names)

    def test_thread_without_a_context_does_not_ask(self):
        recorded, _ = self.record("threads", "ops")
        asked = recorded.inside(recorded.named("with a context"))
        self.assertGreater(len(asked), 2)
        for scope in asked:
            if scope.name not in VIEWS:
                self.assert_timed(recorded, scope)
        self.assertEqual([s for s in recorded.inside(recorded.named("without a context")) if recorded.rows_of(s)], [])
        self.assertEqual(recorded.counts["asked"], sum(s.name not in VIEWS for s in asked))

    def test_pytorch_without_cuda_is_told_of_once(self):
        for cuda, line in (("ops", "ferret: FERRET_CUDA=ops: this PyTorch has no CUDA; its operators are not timed\n"),
                           ("annotations", "ferret: FERRET_CUDA=annotations: this PyTorch has no CUDA; "
                                           "its annotations are not timed\n"),
                           ("scopes", "")):
            path = ferret_run.temporary_folder("cpu_only") / "trace.json"
            result = self.python(HERE / "exit_programs.py", "returns", exporters=f"chrome_trace:{path}",
                                 env={"FERRET_CUDA": cuda})
            said = [text for text in result.stderr.splitlines(True) if "FERRET_CUDA" in text]
            self.assertEqual("".join(said), line)
            recorded = Recorded(self.load(path))
            self.assertEqual((recorded.counts, recorded.rows), ({}, {}))
            self.assertGreater(len(recorded.trace.named("aten::add")), 0)


if __name__ == "__main__":
    CudaMarksTest.stand_in, CudaMarksTest.driver = map(os.path.abspath, sys.argv[3:5])
    del sys.argv[3:5]
    ferret_run.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The Python functions that called an operator, as Ferret records them.

    python3 stacks_test.py FERRET LIBFERRET_TORCH
"""
import collections
import json
import pathlib

import ferret_run

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "details_programs.py"
ENGINE = "autograd::engine::evaluate_function: "


def frames(s):
    stack = s.args.get("Call stack", "")
    return stack.split(";") if stack else []


def first(stack):
    """The innermost function of Python code: torch.profiler also lists built-in ones and modules."""
    code = [frame for frame in stack if not frame.startswith(("<built-in", "nn.Module:"))]
    return code[0] if code else None


def without_doubles(trace, annotation):
    """[(slice, whether it is part of a backward operator)], less those whose only child has the same name, by start."""
    (frame,) = trace.named(annotation)
    inside = [s for s in trace.slices if s.track == frame.track and frame.start <= s.start and s.end <= frame.end
              and not s.name.startswith("ProfilerStep#")]
    inside.sort(key=lambda s: (s.start, -s.end))
    around, children, backward = [], collections.defaultdict(list), {}
    for s in inside:
        while around and around[-1].end <= s.start:
            around.pop()
        own = s.args.get("Fwd thread id", 0) > 0 and not s.name.startswith(ENGINE)
        backward[s.index] = own or s.name == "torch::autograd::AccumulateGrad" or \
            bool(around and backward[around[-1].index])
        if around:
            children[around[-1].index].append(s.name)
        around.append(s)
    return [(s, backward[s.index]) for s in inside if children[s.index] != [s.name]]


class StacksTest(ferret_run.FerretTest):
    def run_program(self, name, *arguments):
        path = ferret_run.temporary_folder(name) / "trace.json"
        self.python(PROGRAMS, name, *arguments, exporters=f"chrome_trace:{path}", env={"FERRET_WITH_STACK": "1"})
        return self.load(path)

    def test_innermost_function_is_torch_profilers(self):
        path = ferret_run.temporary_folder("torch") / "stacks.json"
        trace = self.run_program("stacks", path)
        theirs = json.loads(path.read_text(encoding="utf-8"))
        mine = without_doubles(trace, "stacks")
        self.assertEqual([s.name for s, _ in mine], [name for name, _ in theirs])
        compared = 0
        for (s, backward), (_, stack) in zip(mine, theirs):
            if backward:  # torch.profiler shows the forward operator's instead
                self.assertIn("torch/autograd/graph.py", frames(s)[0])
            elif stack:
                compared += 1
                self.assertEqual(frames(s)[0], first(stack), s)
        self.assertGreater(compared, 40)
        self.assertGreater(len({frames(s)[0] for s, _ in mine}), 8)

    def test_outer_functions_follow_in_order(self):
        path = ferret_run.temporary_folder("torch") / "stacks.json"
        trace = self.run_program("stacks", path)
        (relu,) = trace.named("aten::relu")
        names = [frame.rpartition(": ")[2] for frame in frames(relu)]
        self.assertEqual(names, ["forward", "_call_impl", "_wrapped_call_impl", "train", "stacks", "<module>"])
        (sub,) = trace.named("aten::sub")
        self.assertIn("naïve_名", frames(sub)[0])

    def test_each_thread_has_its_own(self):
        trace = self.run_program("stacks_on_threads")
        for name, function in (("aten::sin", "first"), ("aten::cos", "second")):
            found = trace.named(name)
            self.assertEqual(len(found), 400)
            for s in found:
                self.assertTrue(frames(s)[0].endswith(f": {function}"), s)
        (deep,) = trace.named("aten::tan")
        self.assertEqual(len(frames(deep)), 128, "the innermost of 300")
        self.assertEqual({frame.rpartition(": ")[2] for frame in frames(deep)}, {"recursion"})

    def test_functions_that_come_and_go_keep_their_own_names(self):
        trace = self.run_program("forgets_functions")
        seen = 0
        for s in trace.starting_with("in f"):
            function, _, module = s.name[3:].partition(" of ")
            own = [frame for frame in frames(s) if frame.startswith("/nowhere/")]
            self.assertEqual(own, [f"/nowhere/{module}.py(1): {function}"])
            seen += 1
        self.assertEqual(seen, 2000)

    def test_session_that_python_starts_itself(self):
        path = ferret_run.temporary_folder("itself") / "trace.json"
        result = self.python("-c", "import sys, torch\ntorch.ops.load_library(sys.argv[1])\n"
                             "def caller(): return torch.ones(3)\ncaller()", self.adapter,
                             env={"FERRET_EXPORT": f"chrome_trace:{path}", "FERRET_WITH_STACK": "1",
                                  "FERRET_PROFILE_MEMORY": "1"})
        (ones,) = self.load(path).named("aten::ones")
        self.assertEqual([frame.rpartition(": ")[2] for frame in frames(ones)], ["caller", "<module>"])
        self.assertEqual(result.stderr.count("allocations are not recorded"), 1, "it was not preloaded")


if __name__ == "__main__":
    ferret_run.main()

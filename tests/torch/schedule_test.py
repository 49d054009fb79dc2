# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Schedules: Ferret's are torch.profiler's, and an unmodified program is recorded in its active steps only.

    python3 schedule_test.py FERRET LIBFERRET_TORCH SCHEDULE_ACTIONS
"""
import itertools
import os
import pathlib
import subprocess
import sys
import warnings

import torch

import ferret_run

HERE = pathlib.Path(__file__).resolve().parent
CHARLM = HERE.parents[1] / "examples" / "train_charlm.py"
FIELDS = ("skip_first", "skip_first_wait", "wait", "warmup", "active", "repeat")


class ScheduleTest(ferret_run.FerretTest):
    actions = "schedule_actions"

    def test_actions_are_those_of_torch(self):
        steps = 40
        grid = list(itertools.product((0, 1, 5), (0, 1), (0, 1, 2, 4), (0, 1, 3), (1, 2, 3), (0, 1, 2, 3)))
        lines = [f"{steps} " + ",".join(f"{k}={v}" for k, v in zip(FIELDS, point)) for point in grid]
        result = subprocess.run([self.actions], input="\n".join(lines), text=True, stdout=subprocess.PIPE, check=True)
        ours = result.stdout.split()
        self.assertEqual(len(ours), len(grid))
        warnings.simplefilter("ignore")  # torch warns of schedules without a warm-up
        for point, line in zip(grid, ours):
            function = torch.profiler.schedule(**dict(zip(FIELDS, point)))
            theirs = "".join(str(function(step).value) for step in range(steps))
            self.assertEqual(line, theirs, dict(zip(FIELDS, point)))

    def record(self, schedule):
        folder = ferret_run.temporary_folder("schedule")
        self.python(CHARLM, "--steps", "20", "--workers", "0", exporters=f"chrome_trace:{folder}/trace.json",
                    env={"FERRET_SCHEDULE": schedule})
        return self.load(folder / "trace.json")

    def test_only_active_steps_are_recorded_and_have_torch_s_numbers(self):
        trace = self.record("skip_first=2,wait=3,warmup=1,active=2,repeat=2")
        steps = sorted(trace.starting_with("ProfilerStep#"), key=lambda s: s.start)
        self.assertEqual([s.name for s in steps], [f"ProfilerStep#{n}" for n in (6, 7, 12, 13)])
        self.assertEqual(len(trace.named("Optimizer.step#Adam.step")), 4)
        work = [s for s in trace.slices if s.category in ("cpu_op", "user_annotation") and s not in steps]
        inside = [s for s in work if any(t.start <= s.start and s.end <= t.end for t in steps)]
        self.assertEqual([s.name for s in work if s not in inside and s.track == steps[0].track], [])
        linears = [sum(t.start <= s.start < t.end for s in trace.named("aten::linear")) for t in steps]
        self.assertEqual(linears, [linears[0]] * 4)
        self.assertGreater(linears[0], 0)

    def test_by_time(self):
        trace = self.record("time:active=1h")
        self.assert_steps(trace, at_least=20)


if __name__ == "__main__":
    ScheduleTest.actions = os.path.abspath(sys.argv.pop(3))
    ferret_run.main()

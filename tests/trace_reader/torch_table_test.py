# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""`ferret table --json` of a trace that torch.profiler exported says what key_averages() says of the same run.

    python3 torch_table_test.py FERRET
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import torch
from torch.profiler import ProfilerActivity, profile, record_function

FERRET = None


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def train(profiler):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
                                torch.nn.Flatten(), torch.nn.Linear(4 * 64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        with record_function("forward; of a step"):
            loss = Scale.apply(model(torch.randn(2, 3, 8, 8))).logsumexp(1).mean()
        with torch.no_grad():
            torch.cat([loss.reshape(1), torch.zeros(3)]).sum().item()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()


def work_beside():
    weight = torch.ones(20, 20, requires_grad=True)
    for _ in range(30):
        (weight @ weight).sum().backward()


def run(steps=True, all_threads=False, overloads=False, **options):
    """The profiler, and the path of the trace it wrote."""
    config = torch._C._profiler._ExperimentalConfig(verbose=True,  # without it there are no stacks
                                                    profile_all_threads=all_threads, capture_overload_names=overloads)
    schedule = torch.profiler.schedule(wait=0, warmup=0, active=3, repeat=1) if steps else None
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule, experimental_config=config,
                 **options) as profiler:
        other = threading.Thread(target=work_beside)
        other.start()
        train(profiler)
        other.join()
    folder = tempfile.mkdtemp(prefix="torch-table-", dir=os.environ.get("TEST_TMPDIR"))
    path = os.path.join(folder, "trace.json.gz")
    profiler.export_chrome_trace(path)
    return profiler, path


def nanoseconds(micros):
    return round(micros * 1000)


def rows_of_torch(averages):
    return sorted((row.key, row.is_user_annotation, row.count, nanoseconds(row.self_cpu_time_total),
                   nanoseconds(row.cpu_time_total), row.self_cpu_memory_usage, row.cpu_memory_usage, row.flops or 0)
                  for row in averages)


def table(path, *options):
    result = subprocess.run([FERRET, "table", "--json", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, check=True)
    assert result.stderr == "", result.stderr
    return json.loads(result.stdout)["rows"]


def rows_of_ferret(rows):
    return sorted((row["name"], row["is_user_annotation"], row["calls"], row["self_cpu_ns"], row["total_cpu_ns"],
                   row["self_cpu_bytes"], row["total_cpu_bytes"], row["flops"]) for row in rows)


class TorchTableTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # What is imported only now: torch.profiler would see functions that are gone before it asks for their names.
        train(unittest.mock.Mock())
        cls.profiler, cls.path = run(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True)

    def test_same_rows_with_everything_recorded(self):
        rows = rows_of_ferret(table(self.path))
        self.assertEqual(rows, rows_of_torch(self.profiler.key_averages()))
        names = {row[0] for row in rows}
        self.assertEqual({"aten::conv2d", "aten::addmm", "Scale", "ScaleBackward", "ConvolutionBackward0",
                          "Optimizer.step#Adam.step", "ProfilerStep*"} - names, set())
        self.assertGreater(sum(row[-1] for row in rows), 0)
        self.assertGreater(sum(row[-2] for row in rows), 0)

    def test_same_rows_with_nothing_else_recorded(self):
        profiler, path = run()
        rows = rows_of_ferret(table(path))
        self.assertEqual(rows, rows_of_torch(profiler.key_averages()))
        self.assertGreater(len(rows), 40)

    def test_same_rows_of_what_is_in_no_operator(self):
        profiler, path = run(steps=False, profile_memory=True)
        rows = rows_of_ferret(table(path))
        self.assertEqual(rows, rows_of_torch(profiler.key_averages()))
        self.assertIn("[memory]", {row[0] for row in rows})

    def test_same_rows_of_several_threads(self):
        profiler, path = run(all_threads=True)
        rows = rows_of_ferret(table(path))
        self.assertEqual(rows, rows_of_torch(profiler.key_averages()))
        self.assertEqual([row[2] for row in rows if row[0] == "MmBackward0"], [30])

    def test_same_groups_of_overloads(self):
        profiler, path = run(overloads=True)
        expected = sorted((row.key, row.overload_name, row.count, nanoseconds(row.cpu_time_total))
                          for row in profiler.key_averages(group_by_overload_name=True))
        found = sorted((row["name"], row["overload_name"], row["calls"], row["total_cpu_ns"])
                       for row in table(path, "--group-by-overload-name"))
        self.assertEqual(found, expected)
        self.assertIn(("aten::mul", "Tensor"), {row[:2] for row in found})

    def test_same_groups_of_shapes(self):
        expected = sorted((row.key, str(row.input_shapes), row.count, nanoseconds(row.cpu_time_total))
                          for row in self.profiler.key_averages(group_by_input_shape=True))
        found = sorted((row["name"], str(row["input_shapes"]), row["calls"], row["total_cpu_ns"])
                       for row in table(self.path, "--group-by-input-shapes"))
        self.assertEqual(found, expected)
        self.assertIn("[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], []]", {row[1] for row in found})

    def test_same_groups_of_stacks(self):
        expected = sorted((row.key, row.stack, row.count, nanoseconds(row.cpu_time_total))
                          for row in self.profiler.key_averages(group_by_stack_n=3))
        found = sorted((row["name"], row["stack"], row["calls"], row["total_cpu_ns"])
                       for row in table(self.path, "--group-by-stack=3"))
        self.assertEqual(found, expected)
        self.assertGreater(sum(len(row[1]) == 3 for row in found), 50)

    def test_same_table_as_text(self):
        profiler, path = run(record_shapes=True)
        theirs = profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=12)
        mine = subprocess.run([FERRET, "table", "--row-limit", "12", path], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        # torch adds up and divides doubles, so a figure that ends in half a nanosecond may be rounded to the other side.
        figure = re.compile(r"\d+\.\d+")
        self.assertEqual(re.sub(r" *\d+\.\d+", "#", mine), re.sub(r" *\d+\.\d+", "#", theirs))
        for my_line, their_line in zip(mine.split("\n"), theirs.split("\n")):
            for my_figure, their_figure in zip(figure.findall(my_line), figure.findall(their_line)):
                step = 10.0 ** -len(their_figure.partition(".")[2])
                self.assertAlmostEqual(float(my_figure), float(their_figure), delta=1.01 * step, msg=my_line)


if __name__ == "__main__":
    FERRET = os.path.abspath(sys.argv.pop(1))
    unittest.main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A row of the report, and how the programs that make rows are run and read."""

import dataclasses
import json
import math
import statistics
import subprocess


@dataclasses.dataclass
class Row:
    what: str
    figure: str
    beside: str = ""  # the same measured otherwise, in the same run
    measure: float | None = None  # what an aim is for: a ratio wherever there is one


def google_benchmark(program, repetitions, whole_names=False):
    """The runs of each case, in random order, repeated. A name ends before its arguments, unless it is whole."""
    out = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.05",
         "--benchmark_enable_random_interleaving=true"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    rows = {}
    for run in json.loads(out)["benchmarks"]:
        if run["run_type"] == "iteration":
            name = run["run_name"]
            rows.setdefault(name if whole_names else name.split("/")[0], []).append(run)
    return rows


def median(rows, name, key):
    return statistics.median(run[key] for run in rows[name])


def nanoseconds(rows, name):
    return 1e9 / median(rows, name, "items_per_second")


def fields(line):
    return dict(field.split("=") for field in line.split())


def lines_of(program, *arguments):
    """The name=value lines that a program prints."""
    out = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [fields(line) for line in out.splitlines()]


def medians(program, runs, *arguments):
    """One line, each number the median of several runs."""
    results = [lines_of(program, *arguments)[0] for _ in range(runs)]
    numbers = {}
    for name, value in results[0].items():
        try:
            numbers[name] = statistics.median(float(result[name]) for result in results)
        except ValueError:
            numbers[name] = value
    return numbers


def growth(sizes, costs):
    """The exponent with which the whole cost grows from the first size to the last: 1 is linear."""
    if len(sizes) < 2:
        return 1.0
    return 1 + math.log(costs[-1] / costs[0]) / math.log(sizes[-1] / sizes[0])

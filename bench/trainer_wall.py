# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Time of a real training script with Ferret over without, in pairs.

    python trainer_wall.py [--kinds on,shapes,profiler] [--rounds N] FERRET PYTHON SCRIPT [ARGUMENT...]

on          `ferret run` into a gzipped Chrome trace
shapes      the same with FERRET_RECORD_SHAPES=1
profiler    torch.profiler around the whole script, its trace exported in the end

Each round runs the script without anything and then, or before, in each kind; rounds alternate in their order, so that a
machine whose speed drifts favours none. The script must exit with 0. Prints for each kind a line of name=value pairs: the
medians of the rounds' ratios of wall time and of processor time (of all processes and threads) with their 95 % intervals,
by the ranks of the ratios: six rounds at least.
"""

import argparse
import math
import os
import resource
import statistics
import subprocess
import tempfile
import time

UNDER_PROFILER = """
import runpy, sys
from torch.profiler import ProfilerActivity, profile
sys.argv = sys.argv[1:]
with profile(activities=[ProfilerActivity.CPU]) as recorded:
    runpy.run_path(sys.argv[0], run_name="__main__")
recorded.export_chrome_trace("profiler.json.gz")
"""


def run(command, environment):
    """(wall, processor) seconds."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), used()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "HF_HUB_OFFLINE": "1", **environment})
        return time.perf_counter() - start, used() - cpu


def interval(values):
    """The median's 95 % interval, of six values or more: each lies above it or below it by chance."""
    values, count = sorted(values), len(values)
    outside, below = 0, 0.0
    while below + math.comb(count, outside) / 2**count <= 0.025:
        below += math.comb(count, outside) / 2**count
        outside += 1
    return values[outside - 1], values[count - outside]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferret")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the Python, the script, its arguments")
    parser.add_argument("--kinds", default="on")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    plain = [os.path.abspath(part) if os.path.exists(part) else part for part in options.script]
    recorded = [os.path.abspath(options.ferret), "run", "--export", "chrome_trace:trace.json.gz", "--", *plain]
    ways = {"on": (recorded, {}), "shapes": (recorded, {"FERRET_RECORD_SHAPES": "1"}),
            "profiler": ([plain[0], "-c", UNDER_PROFILER, *plain[1:]], {})}
    kinds = options.kinds.split(",")
    if options.rounds < 6 or not set(kinds) <= set(ways):
        parser.error(f"six rounds at least, of the kinds {', '.join(ways)}")

    run(plain, {})  # warm
    off, ratios = [], {kind: [] for kind in kinds}
    for number in range(options.rounds):
        times = {}
        for kind in (["off", *kinds] if number % 2 == 0 else [*reversed(kinds), "off"]):
            times[kind] = run(*ways.get(kind, (plain, {})))
        off.append(times["off"][0])
        for kind in kinds:
            ratios[kind].append([on / base for on, base in zip(times[kind], times["off"])])
    for kind in kinds:
        line = f"kind={kind} rounds={options.rounds} off_s={statistics.median(off):.2f}"
        for name, values in zip(("wall", "cpu"), zip(*ratios[kind])):
            low, high = interval(values)
            line += f" {name}={statistics.median(values):.4f} {name}_low={low:.4f} {name}_high={high:.4f}"
        print(line)


if __name__ == "__main__":
    main()

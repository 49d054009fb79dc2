# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Wall time of a real training script with Ferret over without, in pairs.

    python trainer_wall.py FERRET PYTHON SCRIPT [ARGUMENT...] [--pairs N]

The script prints nothing that is looked at; it must exit with 0. Pairs alternate in their order, so that a machine whose
speed drifts favours neither. Prints the median of the pairs' ratios, and the spread.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time


def run(command, folder):
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferret")
    parser.add_argument("script", nargs="+")
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    plain = [os.path.abspath(part) if os.path.exists(part) else part for part in options.script]
    recorded = [os.path.abspath(options.ferret), "run", "--export", "chrome_trace:trace.json.gz", "--", *plain]

    ratios, times = [], []
    with tempfile.TemporaryDirectory() as folder:
        run(plain, folder)  # warm
        for pair in range(options.pairs):
            first, second = (plain, recorded) if pair % 2 == 0 else (recorded, plain)
            a, b = run(first, folder), run(second, folder)
            off, on = (a, b) if pair % 2 == 0 else (b, a)
            ratios.append(on / off)
            times.append(off)
    print(f"wall time on over off: median {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}) "
          f"of {options.pairs} pairs; {statistics.median(times):.1f} s off")


if __name__ == "__main__":
    main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What recording a PyTorch op costs with Ferret and with torch.profiler, in one process, in turn.

    python torch_cost.py LIBFERRET_TORCH.SO LIBFERRET.SO [--ops N] [--rounds N] [--json]

record      ns per op over the bare op, on the thread that runs the ops (wall time); also with the arguments of ops
            (record_shapes) and with the Python functions that called them (with_stack)
to a file   CPU ns per event of all threads, over the bare op, from the start of recording to a finished Chrome trace

torch.profiler is used as its users do (a growing heap), and its cheapest way to a file: trace_only=True, then
export_chrome_trace. Medians of the rounds.
"""

import argparse
import ctypes
import json
import os
import statistics
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile


class Ferret:
    def __init__(self, adapter, runtime):
        torch.ops.load_library(adapter)
        self.api = ctypes.CDLL(runtime)
        self.api.ferret_lost.restype = ctypes.c_uint64
        self.error = ctypes.create_string_buffer(400)

    def _call(self, function, *arguments):
        if function(*arguments, self.error, ctypes.c_size_t(len(self.error))) != 0:
            raise RuntimeError(self.error.value.decode())

    def start(self, exporters, option=None):
        """With `option`, a variable such as FERRET_RECORD_SHAPES, set to 1."""
        if option:
            os.environ[option] = "1"
        try:
            self._call(self.api.ferret_start, exporters.encode())
        finally:
            os.environ.pop(option or "", None)

    def stop(self):
        self._call(self.api.ferret_stop, ctypes.c_int64(60_000))
        if lost := self.api.ferret_lost(None):
            raise RuntimeError(f"lost {lost} events: the figures would flatter")


def run_ops(x, y, count):
    add = x.add_
    start = time.perf_counter_ns()
    for _ in range(count):
        add(y)
    return (time.perf_counter_ns() - start) / count


def profiler(trace_only, **options):
    config = torch._C._profiler._ExperimentalConfig(trace_only=trace_only)
    return profile(activities=[ProfilerActivity.CPU], experimental_config=config, **options)


# What is recorded beyond times: the row, torch.profiler's option, Ferret's variable, the ops that are a fair share.
DETAILS = [
    ("record with shapes", "record_shapes", "FERRET_RECORD_SHAPES", 1),
    ("record with stack", "with_stack", "FERRET_WITH_STACK", 4),
]


def measure(ferret, ops, folder):
    """One round: {row: ns}."""
    x, y = torch.zeros(4), torch.ones(4)
    row = {}
    cpu = time.process_time_ns()
    row["bare"] = run_ops(x, y, ops)
    bare_cpu = (time.process_time_ns() - cpu) / ops

    ferret.start("memory?max_events=1")
    row["ferret record"] = run_ops(x, y, ops) - row["bare"]
    ferret.stop()

    path = os.path.join(folder, "ferret.json")
    cpu = time.process_time_ns()
    ferret.start(f"chrome_trace:{path}")
    run_ops(x, y, ops)
    ferret.stop()
    row["ferret to a file"] = (time.process_time_ns() - cpu) / ops - bare_cpu
    row["ferret bytes"] = os.path.getsize(path) / ops
    os.remove(path)  # Ferret does not replace a file of the same run

    with profiler(trace_only=False):
        row["torch.profiler record"] = run_ops(x, y, ops) - row["bare"]

    for kind, option, variable, share in DETAILS:
        ferret.start("memory?max_events=1", variable)
        row[f"ferret {kind}"] = run_ops(x, y, ops // share) - row["bare"]
        ferret.stop()
        with profiler(trace_only=False, **{option: True}):
            row[f"torch.profiler {kind}"] = run_ops(x, y, ops // share) - row["bare"]

    path = os.path.join(folder, "torch.json")
    cpu = time.process_time_ns()
    with profiler(trace_only=True) as recorded:
        run_ops(x, y, ops)
    recorded.export_chrome_trace(path)
    row["torch.profiler to a file"] = (time.process_time_ns() - cpu) / ops - bare_cpu
    row["torch.profiler bytes"] = os.path.getsize(path) / ops
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("adapter")
    parser.add_argument("runtime")
    parser.add_argument("--ops", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    torch.set_num_threads(1)
    ferret = Ferret(options.adapter, options.runtime)
    with tempfile.TemporaryDirectory() as folder:
        measure(ferret, options.ops // 10, folder)  # warm
        rounds = [measure(ferret, options.ops, folder) for _ in range(options.rounds)]
    median = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    for kind in ("record", *(kind for kind, *_ in DETAILS), "to a file"):
        ratios = [row[f"torch.profiler {kind}"] / max(row[f"ferret {kind}"], 0.1) for row in rounds]
        median[f"{kind}: torch.profiler over Ferret"] = statistics.median(ratios)
    if options.json:
        print(json.dumps(median))
        return
    for name, value in median.items():
        print(f"{name:40} {value:10.1f}")


if __name__ == "__main__":
    main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What recording a PyTorch op costs with Ferret and with torch.profiler, in one process, in turn.

    python torch_cost.py LIBFERRET_TORCH.SO LIBFERRET.SO [--floor LIBTORCH_COST.SO] [--ops N] [--rounds N] [--json]

record      ns per op over the bare op, on the thread that runs the ops (wall time); also with the arguments of ops
            (record_shapes) and with the Python functions that called them (with_stack)
to a file   CPU ns per event of all threads, over the bare op, from the start of recording to a finished Chrome trace

With --floor also, from a loop of ops in C++ (//bench:libtorch_cost.so):

floor                           two readings of the cycle counter and a 32-byte store
no-op callback                  what PyTorch itself takes for an op that anything observes, over the bare op; also with
                                the op's arguments, which PyTorch collects for whoever asks
record over the no-op callback  what is Ferret's own; also in floors, and with the arguments

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


class Ops:
    """The loops of libtorch_cost.so."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def ns(self, function, count):
        function = getattr(self.library, function)
        function.restype = ctypes.c_double
        return function(ctypes.c_int64(count))

    def with_callback(self, count, needs_inputs):
        self.library.torch_cost_add_callback(ctypes.c_bool(needs_inputs))
        try:
            return self.ns("torch_cost_ops", count)
        finally:
            self.library.torch_cost_remove_callback()

    def recorded(self, count, ferret, variable):
        ferret.start("memory?max_events=1", variable)
        try:
            self.ns("torch_cost_ops", count)  # touches the session's memory for the first time
            return self.ns("torch_cost_ops", count)
        finally:
            ferret.stop()

    def measure(self, ferret, count):
        """One round: {row: ns or floors}. In short turns, so that whatever slows the machine down slows all of them."""
        turns = 10
        count //= turns
        shapes = "FERRET_RECORD_SHAPES"
        kinds = {
            "floor": lambda: self.ns("torch_cost_floor", count),
            "bare": lambda: self.ns("torch_cost_ops", count),
            "callback": lambda: self.with_callback(count, needs_inputs=False),
            "record": lambda: self.recorded(count, ferret, None),
            "callback with inputs": lambda: self.with_callback(count, needs_inputs=True),
            "record with shapes": lambda: self.recorded(count, ferret, shapes),
        }
        times = [{kind: measure() for kind, measure in kinds.items()} for _ in range(turns)]
        ns = {kind: statistics.median(turn[kind] for turn in times) for kind in kinds}
        row = {"floor": ns["floor"]}
        for kind, callback in (("record", "callback"), ("record with shapes", "callback with inputs")):
            row[f"no-op {callback}"] = ns[callback] - ns["bare"]
            own = statistics.median(turn[kind] - turn[callback] for turn in times)
            row[f"{kind} over the no-op callback"] = own
            row[f"{kind} over the no-op callback, in floors"] = own / ns["floor"]
        return row


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
    parser.add_argument("--floor", metavar="LIBTORCH_COST.SO")
    parser.add_argument("--ops", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    torch.set_num_threads(1)
    ferret = Ferret(options.adapter, options.runtime)
    ops = Ops(options.floor) if options.floor else None
    with tempfile.TemporaryDirectory() as folder:
        def one_round(count):
            return {**(ops.measure(ferret, count) if ops else {}), **measure(ferret, count, folder)}

        one_round(options.ops // 10)  # warm
        rounds = [one_round(options.ops) for _ in range(options.rounds)]
    median = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    for kind in ("record", *(kind for kind, *_ in DETAILS), "to a file"):
        ratios = [row[f"torch.profiler {kind}"] / max(row[f"ferret {kind}"], 0.1) for row in rounds]
        median[f"{kind}: torch.profiler over Ferret"] = statistics.median(ratios)
    if options.json:
        print(json.dumps(median))
        return
    for name, value in median.items():
        print(f"{name:55} {value:10.1f}")


if __name__ == "__main__":
    main()

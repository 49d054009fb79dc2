# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs, and the same with torch's own profiler."""

import json
import subprocess

from reporting.rows import Row, fields, google_benchmark, lines_of, nanoseconds


def torch_op(root, python, runs):
    out = subprocess.run(
        [python, f"{root}/bench/torch_cost.py", f"{root}/bazel-bin/adapters/torch/libferret_torch.so",
         f"{root}/bazel-bin/libferret.so", "--floor", f"{root}/bazel-bin/bench/libtorch_cost.so",
         "--rounds", str(runs), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    figures = json.loads(out.splitlines()[-1])
    for kind, text in (("record", "PyTorch op: recording, over the bare op"),
                       ("record with shapes", "PyTorch op: the same with shapes"),
                       ("record with stack", "PyTorch op: the same with the stack"),
                       ("to a file", "PyTorch op: recorded, built and in a Chrome trace")):
        ratio = figures[kind + ": torch.profiler over Ferret"]
        yield Row(text, f"{figures['ferret ' + kind]:.0f} ns",
                  f"torch.profiler {figures['torch.profiler ' + kind]:.0f} ns, {ratio:.1f} x", ratio)
    for kind, inputs, text in (("record", "", ""), ("record with shapes", " with inputs", ", with shapes")):
        own, floors = (figures[f"{kind} over the no-op callback{unit}"] for unit in ("", ", in floors"))
        yield Row("PyTorch op: over the no-op callback" + text, f"{own:.0f} ns",
                  f"{floors:.2f} x floor of {figures['floor']:.0f} ns; "
                  f"the callback {figures['no-op callback' + inputs]:.0f} ns", floors)


def function_events(root, folder, python, runs):
    theirs = float(lines_of(python, f"{root}/bench/function_events_torch.py")[0]["ns"])
    ours = nanoseconds(google_benchmark(f"{folder}/drain_benchmark", runs), "Plain")
    yield Row("FunctionEvents made of what was recorded", f"{ours:.1f} ns an event",
              f"torch.profiler {theirs / 1000:.1f} us, {theirs / ours:.0f} x", theirs / ours)


def event_list(root, folder, python):
    out = subprocess.run([python, f"{root}/bench/event_list_torch.py", f"{folder}/event_list"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True, text=True).stdout
    figures = {}
    for line in out.splitlines():
        who, _, rest = line.partition(": ")
        figures[who] = fields(rest)
    ours, theirs = figures["ferret"], figures["torch"]
    ratio = float(theirs["total_ns"]) / float(ours["total_ns"])
    yield Row("EventList: tree, averages and table of 10 M events", f"{float(ours['total_ns']):.0f} ns an event",
              f"torch's own {float(theirs['total_ns']) / 1000:.1f} us, {ratio:.0f} x; {ours['bytes_per_event']} bytes an event",
              ratio)


def training(root, python, rounds):
    out = subprocess.run(
        [python, f"{root}/bench/trainer_wall.py", "--kinds", "on,shapes,profiler", "--rounds", str(rounds),
         f"{root}/bazel-bin/tools/ferret", python, f"{root}/examples/train_charlm.py"],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in map(fields, out.splitlines()):
        text = {"on": "on", "shapes": "on with shapes", "profiler": "under torch.profiler"}[line["kind"]]
        for name, what in (("wall", "wall time"), ("cpu", "processor time")):
            ratio, low, high = (float(line[key]) for key in (name, name + "_low", name + "_high"))
            yield Row(f"training example, {text}: {what}", f"{ratio:.3f} x off",
                      f"95 % interval {low:.3f} to {high:.3f}, {line['rounds']} pairs, {line['off_s']} s off", ratio)

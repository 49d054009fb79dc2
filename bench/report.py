# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the measurements and prints one table of ratios; called by tools/bench.

    python report.py BIN_FOLDER TORCH_PYTHON [--runs N] [--seconds N] [--markdown]

Google Benchmark runs its cases in random order, repeated, and medians are quoted. A figure is a ratio to another one of
the same run wherever there is one: machines differ, and this one may be shared.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys


def google_benchmark(program, repetitions, whole_names=False):
    """The runs of each case. A name ends before its arguments, unless it is whole."""
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


def recording(folder, runs):
    rows = google_benchmark(f"{folder}/recording_benchmark", runs)
    floor = median(rows, "Floor", "real_time")
    empty = median(rows, "EmptyLoop", "real_time")
    yield "floor: two clock readings and a 32-byte store", f"{floor:.1f} ns", ""
    for name, text in (("Scope", "scope, on"), ("OpScope", "op scope, on"), ("DynamicNameHit", "scope with a dynamic name"),
                       ("ScopeDropping", "scope, dropped and counted"), ("Moodycamel", "ConcurrentQueue per event"),
                       ("MutexVector", "mutex and vector per event")):
        time = median(rows, name, "real_time")
        yield text, f"{time:.1f} ns", f"{time / floor:.2f} x floor"
    kept = median(rows, "ScopeInCrashFile", "real_time")
    yield "scope, on, in a crash file", f"{kept:.1f} ns", f"{kept / median(rows, 'Scope', 'real_time'):.2f} x in memory"
    off = median(rows, "ScopeOff", "real_time")
    yield "scope, off", f"{off:.2f} ns", f"{off - empty:+.2f} ns over an empty loop"


def drain(folder, runs):
    rows = google_benchmark(f"{folder}/drain_benchmark", runs)
    for name, text in (("Plain", "drain alone: scopes to FunctionEvents"), ("Linked", "the same, every event linked")):
        rate = median(rows, name, "items_per_second")
        size = median(rows, name, "event_bytes")
        yield text, f"{rate / 1e6:.1f} M events/s", f"{1e9 / rate:.1f} ns an event of {size:.0f} bytes"


def sustained(folder, runs, seconds):
    for rate, text in ((20, "sustained, paced at 20 M linked events/s"), (0, "sustained, unpaced")):
        results = []
        for _ in range(runs):
            line = subprocess.run([f"{folder}/sustained", str(rate), str(seconds)], stdout=subprocess.PIPE, check=True,
                                  text=True).stdout
            results.append(dict(field.split("=") for field in line.split()))
        results.sort(key=lambda result: float(result["finished_M/s"]))
        middle = results[len(results) // 2]
        if any(result["exact"] != "yes" for result in results):
            sys.exit(f"lost uncounted: {results}")
        yield text, f"{middle['finished_M/s']} M events/s", f"{middle['lost_%']} % lost, counted"


def chrome_trace(folder, runs):
    rows = google_benchmark(f"{folder}/chrome_trace_benchmark", runs)
    for name in rows:
        rate = median(rows, name, "items_per_second")
        yield f"chrome_trace exporter: {name}", f"{rate / 1e6:.2f} M events/s", f"{1e9 / rate:.0f} ns an event"


def table(folder, runs):
    rows = google_benchmark(f"{folder}/table_benchmark", runs)
    for name, text in (("Plain", "table exporter"), ("Unnamed", "table exporter, names not in the name table")):
        rate = median(rows, name, "items_per_second")
        yield text, f"{rate / 1e6:.1f} M events/s", f"{1e9 / rate:.1f} ns an event"


def nanoseconds(rows, name):
    return 1e9 / median(rows, name, "items_per_second")


def otlp_encoding(folder, runs):
    rows = google_benchmark(f"{folder}/otlp_benchmark", runs, whole_names=True)
    for kind in ("plain", "op", "kernel"):
        ours, theirs = nanoseconds(rows, f"BM_Protobuf/{kind}"), nanoseconds(rows, f"BM_Libprotobuf/{kind}")
        yield (f"OTLP: a span encoded, {kind}", f"{ours:.0f} ns",
               f"libprotobuf {theirs:.0f} ns, {theirs / ours:.1f} x; JSON {nanoseconds(rows, f'BM_Json/{kind}'):.0f} ns")


def otlp_way(folder, runs):
    rows = google_benchmark(f"{folder}/otlp_send_benchmark", runs)
    encoded = nanoseconds(rows, "EncodeProtobuf")
    for name, text in (("StepsSent", "held for its step, sent"),
                       ("StepsSentWithHistograms", "held for its step, sent, with histograms"),
                       ("StepsDropped", "held for its step, not sampled"),
                       ("StepsDroppedWithHistograms", "held for its step, not sampled, with histograms")):
        time = nanoseconds(rows, name)
        yield f"OTLP: an op {text}", f"{time:.0f} ns", f"{time / encoded:.1f} x its encoding ({encoded:.0f} ns)"
    for form, text in (("Protobuf", "http/protobuf"), ("Json", "http/json")):
        floor, copied = nanoseconds(rows, "Floor" + form), nanoseconds(rows, "Memcpy" + form)
        for name, gzip in ((form, ""), (form + "Gzip", ", gzip")):
            time = nanoseconds(rows, "Send" + name)
            size = median(rows, "Send" + name, "wire bytes/span")
            yield (f"OTLP: requests sent over {text}{gzip}", f"{1e3 / time:.2f} M spans/s",
                   f"{size:.0f} bytes and {time:.0f} ns a span; bare socket {floor:.0f} ns, {time / floor:.2f} x; "
                   f"memcpy {copied:.0f} ns")
    for name, text in (("Protobuf", ""), ("ProtobufGzip", ", gzip"), ("Json", ", http/json")):
        time = nanoseconds(rows, "Whole" + name)
        yield f"OTLP: from events to the receiver, one thread{text}", f"{1e3 / time:.2f} M spans/s", f"{time:.0f} ns a span"


def cuda_scope(folder, runs):
    rows = google_benchmark(f"{folder}/cuda_scope_benchmark", runs)
    bare = median(rows, "BM_BareDriverCalls", "real_time")
    scope = median(rows, "BM_CudaScope", "real_time")
    yield "scope timed on a device, over a fake driver", f"{scope:.0f} ns", f"{scope - bare:.0f} ns over its driver calls"


def torch_op(root, python, runs):
    out = subprocess.run(
        [python, f"{root}/bench/torch_cost.py", f"{root}/bazel-bin/adapters/torch/libferret_torch.so",
         f"{root}/bazel-bin/libferret.so", "--rounds", str(runs), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    figures = json.loads(out.splitlines()[-1])
    for kind, text in (("record", "PyTorch op: recording, over the bare op"),
                       ("record with shapes", "PyTorch op: the same with shapes"),
                       ("record with stack", "PyTorch op: the same with the stack"),
                       ("to a file", "PyTorch op: recorded, built and in a Chrome trace")):
        yield (text, f"{figures['ferret ' + kind]:.0f} ns",
               f"torch.profiler {figures['torch.profiler ' + kind]:.0f} ns, "
               f"{figures[kind + ': torch.profiler over Ferret']:.1f} x")


def event_list(folder, root, python):
    out = subprocess.run([python, f"{root}/bench/event_list_torch.py", f"{folder}/event_list"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True, text=True).stdout
    figures = {}
    for line in out.splitlines():
        who, _, fields = line.partition(": ")
        figures[who] = dict(field.split("=") for field in fields.split())
    ours, theirs = figures["ferret"], figures["torch"]
    ratio = float(theirs["total_ns"]) / float(ours["total_ns"])
    yield ("EventList: tree, averages and table of 10 M events", f"{float(ours['total_ns']):.0f} ns an event",
           f"torch's own {float(theirs['total_ns']) / 1000:.1f} us, {ratio:.0f} x; {ours['bytes_per_event']} bytes an event")


def machine():
    with open("/proc/cpuinfo") as cpuinfo:
        model = re.search(r"model name\s*: (.*)", cpuinfo.read())
    return (f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, "
            f"load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("python", help="with PyTorch; empty to leave that part out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    print(f"{machine()}; medians of {options.runs} runs\n")
    parts = [recording(options.folder, options.runs), drain(options.folder, options.runs),
             sustained(options.folder, min(3, options.runs), options.seconds), chrome_trace(options.folder, options.runs),
             table(options.folder, options.runs), otlp_encoding(options.folder, options.runs),
             otlp_way(options.folder, options.runs), cuda_scope(options.folder, options.runs)]
    if options.python:
        parts.append(torch_op(root, options.python, options.runs))
        parts.append(event_list(options.folder, root, options.python))
    if options.markdown:
        print("| What | Figure | Beside it |\n|---|---|---|")
    for part in parts:
        for row in part:
            print("| " + " | ".join(row) + " |" if options.markdown else f"{row[0]:52} {row[1]:>20}   {row[2]}",
                  flush=True)


if __name__ == "__main__":
    main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the measurements and prints a table, and in the end the same as one line of JSON; called by tools/bench.

    python report.py BIN_FOLDER TORCH_PYTHON [--runs N] [--seconds N] [--events N] [--rounds N] [--only PART,...]
                     [--markdown] [--write]

--write also writes bench/RESULTS.md.
"""

import argparse
import os
import shlex
import sys

from reporting import beside_torch, exporters, page, peers, pipeline, recording

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def parts(options, notes):
    """What there is to measure, by name, in the order of the report."""
    folder, runs = options.folder, options.runs
    few = min(3, runs)
    made = {
        "recording": lambda: recording.recording(folder, runs),
        "latency": lambda: recording.latency(folder, few),
        "drain": lambda: recording.drain(folder, runs),
        "sustained": lambda: recording.sustained(folder, few, options.seconds),
        "pipeline": lambda: pipeline.pipeline(folder, few, options.seconds),
        "long_run": lambda: pipeline.long_run(folder, options.events),
        "scaling": lambda: recording.scaling(folder, options.events),
        "session": lambda: recording.session(folder, few),
        "chrome_trace": lambda: exporters.chrome_trace(folder, runs),
        "table": lambda: exporters.table(folder, runs),
        "otlp": lambda: exporters.otlp_encoding(folder, runs),
        "otlp_way": lambda: exporters.otlp_way(folder, runs),
        "cuda": lambda: exporters.cuda_scope(folder, runs),
    }
    if options.python:
        made["torch_op"] = lambda: beside_torch.torch_op(ROOT, options.python, runs)
        made["function_events"] = lambda: beside_torch.function_events(ROOT, folder, options.python, few)
        made["event_list"] = lambda: beside_torch.event_list(ROOT, folder, options.python)
        made["training"] = lambda: beside_torch.training(ROOT, options.python, options.rounds)
    else:
        notes.append("Left out: PyTorch, which is not installed")
    made["lttng"] = lambda: peers.lttng(ROOT, folder, few, notes)
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("python", help="with PyTorch; empty to leave that part out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--events", type=int, default=100_000_000, help="the most that are streamed")
    parser.add_argument("--rounds", type=int, default=15, help="of training, with and without")
    parser.add_argument("--only", default="", help="these parts, separated by commas")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--write", action="store_true", help="also bench/RESULTS.md")
    options = parser.parse_args()

    notes, rows = [], []
    about = page.about_run(ROOT, shlex.join(["./tools/bench", *sys.argv[3:]]), options.runs)
    measured = parts(options, notes)
    only = options.only.split(",") if options.only else list(measured)
    if unknown := [name for name in only if name not in measured]:
        sys.exit(f"no part {', '.join(unknown)}; there are {', '.join(measured)}")
    if options.only:
        notes.append(f"Only a part of the report: {options.only}")
    print(f"{page.machine_text(about['machine'])}; medians of {options.runs} runs\n")
    if options.markdown:
        print(page.MARKDOWN_HEAD)
    for name in only:
        for row in measured[name]():
            rows.append(row)
            print(page.markdown_row(row) if options.markdown else page.text_line(row), flush=True)
    print()
    for note in notes:
        print(note)
    print(page.as_json(rows, {**about, "notes": notes}))
    if options.write:
        with open(f"{ROOT}/bench/RESULTS.md", "w") as file:
            file.write(page.results_page(rows, about, notes))


if __name__ == "__main__":
    main()

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The rows as text, as JSON and as a page."""

import dataclasses
import datetime
import json
import os
import platform
import re
import subprocess

from reporting.aims import aim_of


def machine():
    with open("/proc/cpuinfo") as cpuinfo:
        model = re.search(r"model name\s*: (.*)", cpuinfo.read())
    with open("/proc/meminfo") as meminfo:
        kib = int(re.search(r"MemTotal:\s*(\d+)", meminfo.read()).group(1))
    return {"cpu": model.group(1) if model else platform.machine(), "cores": os.cpu_count(), "memory_gib": round(kib / 2**20),
            "kernel": platform.release(), "load_before": round(os.getloadavg()[0], 1)}


def machine_text(about):
    return (f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}, "
            f"load {about['load_before']} before")


def commit(root):
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout.strip()
    found = git("rev-parse", "--short=12", "HEAD") or "unknown"
    # What is not committed may have been measured, too; the page itself is written afterwards.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!bench/RESULTS.md")
    return found + (" with changes" if changed else "")


def text_line(row):
    aim = aim_of(row)
    end = f"   [{aim.text()}: {aim.outcome(row.measure)[1]}]" if aim else ""
    return f"{row.what:52} {row.figure:>20}   {row.beside}{end}"


def as_json(rows, about):
    def entry(row):
        made = dataclasses.asdict(row)
        aim = aim_of(row)
        if aim:
            met, by = aim.outcome(row.measure)
            made.update(aim=aim.text(), met=met, by=by)
        return made
    return json.dumps({**about, "rows": [entry(row) for row in rows]})


def markdown_row(row):
    aim = aim_of(row)
    cells = [row.what, row.figure, row.beside, aim.text() if aim else "", aim.outcome(row.measure)[1] if aim else ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


MARKDOWN_HEAD = "| What | Figure | Beside it | Aim | |\n|---|---|---|---|---|"


def about_run(root, command, runs):
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "commit": commit(root),
            "machine": machine(), "command": command, "runs": runs}


def results_page(rows, about, notes):
    with_aim = [(row, aim_of(row).outcome(row.measure)[0]) for row in rows if aim_of(row)]
    missed = [row.what for row, met in with_aim if not met]
    lines = [
        "# Results", "",
        f"Written by `{about['command']}`; the same command measures all of it again. Nothing here is typed by hand.", "",
        f"- Date: {about['date']}",
        f"- Commit: {about['commit']}",
        f"- Machine: {machine_text(about['machine'])}",
        f"- Medians of {about['runs']} runs",
        f"- Aims: {len(with_aim) - len(missed)} of {len(with_aim)} met" + (f"; missed: {', '.join(missed)}" if missed else ""),
        *[f"- {note}" for note in notes], "",
        "A figure is held against another one of the same run wherever there is one: machines differ, and may be shared. Times",
        "of threads are processor time where several compete. `max` of a latency is whatever happened on the machine meanwhile.",
        "What a scope executes, instruction by instruction: [scope.md](../tests/instructions/scope.md).", "",
        MARKDOWN_HEAD, *map(markdown_row, rows)]
    return "\n".join(lines) + "\n"

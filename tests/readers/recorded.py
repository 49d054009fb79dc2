# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with recording turned on, and counts what their traces hold. Only Python's standard library."""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "torch"))

import trace_checks  # noqa: E402

# Without what would change how the program records, and with time to stop: disks may stand still.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("FERRET_") and key != "LD_PRELOAD"}
ENVIRONMENT["FERRET_STOP_DEADLINE"] = "50s"


def folder(name):
    return pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ.get("TEST_TMPDIR")))


def run(*command, env=(), stdin=b"", timeout=300):
    """Standard output of a program that must succeed, and may print on standard error only what Ferret lost."""
    result = subprocess.run(list(map(str, command)), env={**ENVIRONMENT, **dict(env)}, input=stdin, timeout=timeout,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    complaints = [line for line in result.stderr.decode(errors="replace").splitlines() if " events, " not in line]
    if result.returncode != 0 or complaints:
        raise AssertionError(f"{command} ended with {result.returncode}: {complaints}")
    return result.stdout


def record(program, path, *arguments, env=(), **how):
    """Runs the program with a Chrome trace as its output; returns what it printed."""
    return run(program, *arguments, env={"FERRET_EXPORT": f"chrome_trace:{path}", **dict(env)}, **how)


def load(path):
    """The trace, which satisfies every check."""
    trace = trace_checks.load(path)
    faults = trace_checks.check(trace)
    assert not faults, f"{path}: {faults[:5]}"
    return trace


class Counts:
    """How many events of each kind a trace holds."""

    def __init__(self, trace):
        phases = collections.Counter(e["ph"] for e in trace.events)
        names = collections.Counter(e["name"] for e in trace.events)
        self.spans = sum(e.get("cat") == "Trace" for e in trace.events)
        self.steps = sum(s.name.startswith("ProfilerStep#") for s in trace.slices)
        self.slices = phases["X"] - self.spans - self.steps
        self.async_pairs = phases["b"]
        self.places_of_loss = names["Ferret: scopes lost"]
        self.instants = phases["i"] - self.places_of_loss - names["Ferret Record"]
        self.counters = phases["C"]
        self.arrows = phases["s"]
        self.delivered = self.slices + self.async_pairs + self.instants + self.counters
        # Viewers show instants as slices without length.
        self.viewer_slices = phases["X"] + phases["b"] + phases["i"]


def account(trace):
    """The args of the event in which the recorder accounts for everything."""
    (event,) = [e for e in trace.events if e["name"] == "Ferret Record"]
    return event["args"]

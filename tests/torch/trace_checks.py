# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What every Chrome trace of Ferret's must satisfy, whatever was recorded. Only Python's standard library.

    python3 trace_checks.py TRACE...       exits 1 and prints what is wrong

As a module: load(path) gives a Trace, check(trace) a list of faults, empty when there are none.
"""
import collections
import gzip
import json
import sys
from decimal import Decimal


def _reject(constant):
    raise ValueError(f"{constant} is not JSON")


def nanoseconds(microseconds):
    """Exact: `ts` and `dur` have at most three decimals, and load() keeps them as Decimal."""
    scaled = microseconds * 1000
    if scaled != int(scaled):
        raise ValueError(f"{microseconds} us is finer than a nanosecond")
    return int(scaled)


class Slice:
    """A complete event (ph X) in integer nanoseconds."""

    __slots__ = ("name", "category", "start", "end", "track", "args", "index")

    def __init__(self, event, index):
        self.name, self.category = event["name"], event.get("cat", "")
        self.start = nanoseconds(event["ts"])
        self.end = self.start + nanoseconds(event["dur"])
        self.track = event["pid"], event["tid"]
        self.args = event.get("args") or {}
        self.index = index

    def __repr__(self):
        return f"{self.name!r} [{self.start}, {self.end}] on {self.track}"


class Trace:
    def __init__(self, document):
        self.document = document if isinstance(document, dict) else {"traceEvents": document}
        self.events = self.document["traceEvents"]
        self.slices = [Slice(e, i) for i, e in enumerate(self.events) if e.get("ph") == "X"]

    def named(self, name):
        return [s for s in self.slices if s.name == name]

    def starting_with(self, prefix):
        return [s for s in self.slices if s.name.startswith(prefix)]


def load(path):
    """Raises ValueError (also for bad UTF-8) or OSError when the file is not a whole, strictly valid trace."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return Trace(json.loads(data.decode("utf-8"), parse_float=Decimal, parse_constant=_reject))


def check_nesting(trace):
    """Slices of one thread lie inside one another or apart, to the nanosecond."""
    faults = []
    tracks = collections.defaultdict(list)
    for s in trace.slices:
        if s.end < s.start or s.start < 0:
            faults.append(f"negative time: {s!r}")
        if s.category != "Trace":  # spans of the recording itself, on a track of their own
            tracks[s.track].append(s)
    for slices in tracks.values():
        slices.sort(key=lambda s: (s.start, -s.end))
        around = []
        for s in slices:
            while around and around[-1].end <= s.start:
                around.pop()
            if around and s.end > around[-1].end:
                faults.append(f"overlap: {s!r} begins inside of {around[-1]!r} and ends after it")
            around.append(s)
    return faults


def arrows(trace):
    """{(cat, name, id): ([tails], [heads])}, each the slices that begin where the arrow's end is."""
    at = collections.defaultdict(list)
    for s in trace.slices:
        at[s.track, s.start].append(s)
    result = collections.defaultdict(lambda: ([], []))
    for e in trace.events:
        if e.get("ph") in ("s", "f"):
            side = result[e.get("cat"), e.get("name"), e["id"]]["sf".index(e["ph"])]
            side.append(at.get(((e["pid"], e["tid"]), nanoseconds(e["ts"])), []))
    return result


def check_arrows(trace):
    faults = []
    for key, (tails, heads) in arrows(trace).items():
        if len(tails) != 1 or not heads:
            faults.append(f"arrow {key} has {len(tails)} tails and {len(heads)} heads")
        if not all(tails + heads):
            faults.append(f"arrow {key} is not at the start of a slice")
        elif tails and any(head[0].start < tails[0][0].start for head in heads):
            faults.append(f"arrow {key} points back in time")
    for e in trace.events:
        if e.get("ph") == "f" and e.get("bp") != "e":
            faults.append(f"arrow {e['id']} ends without \"bp\": \"e\"")
    return faults


def check(trace):
    return check_nesting(trace) + check_arrows(trace)


def main(paths):
    failed = not paths
    for path in paths:
        try:
            trace = load(path)
            faults = check(trace)
        except (OSError, EOFError, ValueError, KeyError) as error:
            trace, faults = None, [f"not a whole, valid trace: {type(error).__name__}: {error}"]
        for fault in faults:
            print(f"{path}: {fault}")
        if trace is not None:
            print(f"{path}: {len(trace.slices)} slices, {len(faults)} faults")
        failed |= bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

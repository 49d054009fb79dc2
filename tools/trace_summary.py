#!/usr/bin/env python3
"""Says what a Chrome trace (.json or .json.gz) holds: trace_summary.py FILE

Reads the file with nothing of Ferret, so it also summarises traces of torch.profiler.
"""
import collections
import gzip
import json
import os
import sys
import zlib
from decimal import Decimal


def load(path):
    """The traceEvents of a trace. Decimal, because microseconds since 1970 with three decimals do not fit a double."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = json.loads(data, parse_float=Decimal)
    return trace["traceEvents"] if isinstance(trace, dict) else trace


def self_times(events):
    """{name: [self nanoseconds, calls]} of the operators; every slice takes its time from the one around it."""
    threads = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X":
            start = int(event["ts"] * 1000)
            threads[event.get("pid"), event.get("tid")].append((start, start + int(event.get("dur", 0) * 1000), event))
    # A trace of something else than PyTorch has no cpu_op: then every slice counts.
    operators_only = any(e.get("cat") == "cpu_op" for slices in threads.values() for _, _, e in slices)
    result = collections.defaultdict(lambda: [0, 0])
    for slices in threads.values():
        slices.sort(key=lambda s: (s[0], -s[1]))
        ends, totals = [], []  # the slices open now: when each ends, and its entry in result
        for start, end, event in slices:
            while ends and ends[-1] <= start:
                ends.pop(), totals.pop()
            if totals:
                totals[-1][0] -= min(end, ends[-1]) - start
            counted = not operators_only or event.get("cat") == "cpu_op"
            total = result[event.get("name", "")] if counted else [0, 0]
            total[0] += end - start
            total[1] += 1
            ends.append(end), totals.append(total)
    return result


def forward_backward_pairs(events):
    """Arrows that have both a tail and a head."""
    ends = {"s": set(), "f": set()}
    for event in events:
        if event.get("cat") == "fwdbwd" and event.get("ph") in ends:
            ends[event["ph"]].add(event.get("id"))
    return len(ends["s"] & ends["f"])


def is_recorded(event):
    """Whether the program recorded it, or asked for it: not what the recorder adds of itself."""
    if event.get("ph") not in ("X", "b", "i", "C") or event.get("cat") == "Trace":
        return False
    name = event.get("name", "")
    return not (is_step(event) or name in ("Ferret Record", "Ferret: scopes lost", "Record Window End"))


def is_step(event):
    return event.get("ph") == "X" and event.get("name", "").startswith("ProfilerStep#")


def losses(events):
    """What the recorder says it lost, as a line."""
    for event in reversed(events):
        if event.get("name") == "Ferret Record":
            lost = (event.get("args") or {}).get("lost") or {}
            lost = {reason: n for reason, n in lost.items() if n}
            return ", ".join(f"{n:,} {reason}" for reason, n in sorted(lost.items())) or "none"
    return "not stated"


def main(path):
    events = [e for e in load(path) if isinstance(e, dict)]
    print(f"events                  {sum(map(is_recorded, events)):,}")
    print(f"steps                   {sum(map(is_step, events)):,}")
    print(f"lost                    {losses(events)}")
    print(f"file                    {os.path.getsize(path):,} bytes")
    print(f"forward-backward pairs  {forward_backward_pairs(events):,}")
    print(f"\n{'self ms':>12} {'calls':>9}  operator")
    top = sorted(self_times(events).items(), key=lambda item: -item[1][0])[:10]
    for name, (nanoseconds, calls) in top:
        print(f"{nanoseconds / 1e6:12,.3f} {calls:9,}  {name}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    try:
        main(sys.argv[1])
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{sys.argv[1]}: not a whole Chrome trace ({type(error).__name__}: {error})")

# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares what Ferret's Chrome trace says of each operator with what torch.profiler's says of the same run.

    python3 details_parity.py FERRET_TRACE KINETO_TRACE ANNOTATION      exits 1 and prints the first differences

Both saw the same process, so the events of a thread are the same ones in the same order, and are compared one to one:
name, category, the thread itself, sequence number, forward thread, arguments, and the event around it.
"""
import collections
import re
import sys

import trace_checks

KEYS = ("Sequence number", "Fwd thread id", "Input Dims", "Input Strides", "Input type", "Concrete Inputs")


def threads_of(trace, annotation):
    """{(pid, tid): [(name, category, name of the event around it, its arguments), …]} while `annotation` is open."""
    (frame,) = [s for s in trace.named(annotation) if s.category == "user_annotation"]
    threads = collections.defaultdict(list)
    for s in trace.slices:
        # Steps are Ferret's own, and spans are those of the recording itself.
        if frame.start <= s.start and s.end <= frame.end and s.category != "Trace" and \
                not s.name.startswith("ProfilerStep#"):
            threads[s.track].append(s)
    return {track: list(_rows(slices)) for track, slices in threads.items()}


def _rows(slices):
    around = []
    for s in sorted(slices, key=lambda s: (s.start, -s.end, s.index)):
        while around and (around[-1].end <= s.start or s.end > around[-1].end):
            around.pop()
        yield s.name, s.category, around[-1].name if around else None, {key: s.args.get(key) for key in KEYS}
        around.append(s)


def compare(ferret_trace, kineto_trace, annotation):
    """(differences, number of events, number of those with arguments)."""
    mine, theirs = threads_of(ferret_trace, annotation), threads_of(kineto_trace, annotation)
    lines = []
    for track in sorted(set(mine) | set(theirs), key=str):
        here, there = mine.get(track, []), theirs.get(track, [])
        if len(here) != len(there):
            lines.append(f"thread {track}: {len(here)} events in Ferret's trace, {len(there)} in torch.profiler's")
        for number, (a, b) in enumerate(zip(here, there)):
            if a != b:
                lines.append(f"thread {track}, event {number}:\n  Ferret         {a}\n  torch.profiler {b}")
    rows = [row for thread in theirs.values() for row in thread]
    return lines, len(rows), sum(1 for row in rows if row[3]["Input Dims"] is not None)


_JOURNAL = re.compile(r"event \d+ parent=\d+ flags=(?P<flags>\d+) name=(?P<name>.*) ns=(?P<start>\d+)\.\..* "
                      r"seq=(?P<number>-?\d+) .* thread=(?P<thread>\d+) fwd_thread=(?P<forward>\d+) .* "
                      r"scope=(?P<scope>\d+) ")


def read_journal(path):
    """What the journal exporter wrote (tests/export/plugins), as parity_programs.py writes what PyTorch says."""
    events = []
    with open(path, encoding="utf-8") as lines:
        for match in filter(None, map(_JOURNAL.match, lines)):
            flags, number = int(match["flags"]), int(match["number"])
            if not flags & 8:  # made by Ferret itself
                events.append([match["name"], int(match["start"]), int(match["thread"]), int(match["forward"]), number,
                               int(match["scope"]), bool(flags & 1)])
    return events


def fields_by_thread(events, annotation):
    """{thread: [(name, forward thread, number, scope, async), …] by start} of what began after the annotation."""
    (since,) = [start for name, start, *_ in events if name == annotation]
    threads = collections.defaultdict(list)
    for name, start, thread, *fields in sorted(events, key=lambda e: e[1]):
        if start >= since:
            threads[thread].append((name, *fields))
    return threads


def main(ferret_path, kineto_path, annotation):
    lines, events, with_arguments = compare(trace_checks.load(ferret_path), trace_checks.load(kineto_path), annotation)
    print(*lines[:20], sep="\n")
    print(f"{annotation}: {events} events, {with_arguments} with arguments, {len(lines)} differences")
    return 1 if lines else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

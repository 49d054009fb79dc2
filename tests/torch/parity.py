# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares Ferret's Chrome trace of a program with torch.profiler's of the same run, within one annotation.

    python3 parity.py FERRET_TRACE KINETO_TRACE ANNOTATION      exits 1 and prints every difference

Equal means identical multisets of events, as (name, category, sequence number, is backward), and of arrows from forward
to backward operators, as (forward name, sequence number, backward name). Times differ: each recorder has its own clock.
"""
import collections
import sys

import trace_checks


class Window:
    """What a trace holds between the begin and the end of an annotation that occurs once, on all threads."""

    def __init__(self, trace, annotation, leave_out=()):
        frames = [s for s in trace.named(annotation) if s.category == "user_annotation"]
        if len(frames) != 1:
            raise ValueError(f"{len(frames)} annotations {annotation!r}, expected one")
        frame = frames[0]
        inside = [s for s in trace.slices if frame.start <= s.start and s.end <= frame.end]
        inside = [s for s in inside if not s.name.startswith(tuple(leave_out)) and s.category != "Trace"]
        self.events = collections.Counter(map(self._event, inside))
        self.arrows = self._arrows(trace, {s.index for s in inside})

    @staticmethod
    def _number(s):
        return s.args.get("Sequence number", -1)

    @staticmethod
    def _is_backward(s):
        return s.args.get("Fwd thread id", 0) > 0

    @classmethod
    def _event(cls, s):
        return s.name, s.category, cls._number(s), cls._is_backward(s)

    @classmethod
    def _arrows(cls, trace, inside):
        result = collections.Counter()
        for (category, _, number), (tails, heads) in trace_checks.arrows(trace).items():
            if category != "fwdbwd":
                continue
            # Slices that begin in the same nanosecond: only those that can bear the arrow.
            tails = [s for end in tails for s in end if cls._number(s) >= 0 and not cls._is_backward(s)]
            heads = [s for end in heads for s in end if cls._number(s) >= 0 and cls._is_backward(s)]
            pairs = [(t, h) for t in tails for h in heads if cls._number(t) == cls._number(h)]
            if not pairs:
                raise ValueError(f"arrow {number} joins nothing: {tails} -> {heads}")
            tail, head = pairs[-1]  # innermost: written last
            if tail.index in inside and head.index in inside:
                result[tail.name, cls._number(tail), head.name] += 1
        return result


def differences(ferret, kineto):
    lines = []
    for what in ("events", "arrows"):
        mine, theirs = getattr(ferret, what), getattr(kineto, what)
        for key in sorted(set(mine) | set(theirs), key=str):
            if mine[key] != theirs[key]:
                lines.append(f"{what[:-1]} {key}: {mine[key]} in Ferret's trace, {theirs[key]} in torch.profiler's")
    return lines


def compare(ferret_trace, kineto_trace, annotation):
    """(differences, number of events, number of arrows). Steps that Ferret derives itself are left out."""
    kineto = Window(kineto_trace, annotation)
    ferret = Window(ferret_trace, annotation, leave_out=("ProfilerStep#",))
    return differences(ferret, kineto), sum(kineto.events.values()), sum(kineto.arrows.values())


def main(ferret_path, kineto_path, annotation):
    lines, events, arrows = compare(trace_checks.load(ferret_path), trace_checks.load(kineto_path), annotation)
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{annotation}: {events} events, {arrows} arrows, {len(lines)} differences")
    return 1 if lines else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

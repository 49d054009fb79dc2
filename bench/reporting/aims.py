# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What a row's measure is to be at most, or at least, and by how much it is."""

import dataclasses


@dataclasses.dataclass
class Aim:
    limit: float
    unit: str
    at_least: bool = False

    def text(self):
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g} {self.unit}"

    def outcome(self, measure):
        """(whether it is met, a text that says by how much)."""
        met = measure >= self.limit if self.at_least else measure <= self.limit
        if self.limit == 0:
            distance = f"{abs(measure):g} {self.unit}"
        else:
            distance = f"{100 * abs(measure - self.limit) / abs(self.limit):.0f} %"
        return met, f"{'met' if met else 'MISSED'} by {distance}"


def at_most(limit, unit):
    return Aim(limit, unit)


def at_least(limit, unit):
    return Aim(limit, unit, at_least=True)


# "Close to its two clock readings; off, one load and one branch; cheaper than any peer; memory stays flat; nothing grows
# worse than linearly", in numbers. The first text that a row's begins with.
AIMS = (
    ("scope, on, in a crash file", at_most(1.05, "x in memory")),
    ("scope, on", at_most(1.05, "x floor")),
    ("op scope, on", at_most(1.15, "x floor")),
    ("scope with a dynamic name", at_most(3, "x floor")),
    ("scope, dropped and counted", at_most(1, "x a recorded one")),
    ("scope, off", at_most(0.5, "ns over an empty loop")),
    ("latency: scope, 16 threads", at_most(1.05, "x one thread")),
    ("drain alone", at_most(26, "ns an event")),
    ("the same, every event linked", at_most(50, "ns an event")),
    ("sustained, paced", at_least(19.9, "M events/s")),
    ("pipeline with the table, paced at 30 M scopes/s: lost", at_most(0, "%")),
    ("pipeline with the table, paced at 30 M scopes/s: a scope", at_most(1.3, "x floor")),
    ("stop of a session", at_most(2, "s")),
    ("table exporter, names not", at_most(50, "ns an event")),
    ("table exporter", at_most(10, "ns an event")),
    ("chrome_trace exporter: text of kernels", at_least(2, "M events/s")),
    ("chrome_trace exporter: text", at_least(3, "x RapidJSON's speed")),
    ("chrome_trace exporter: into a plain file", at_least(5, "M events/s")),
    ("OTLP: a span encoded", at_least(10, "x libprotobuf's speed")),
    ("OTLP: plain spans encoded", at_least(33, "M spans/s")),
    ("PyTorch op: the same with the stack", at_least(1, "x torch.profiler's speed")),
    ("PyTorch op: the same with shapes", at_least(5, "x torch.profiler's speed")),
    ("PyTorch op: recorded, built", at_least(15, "x torch.profiler's speed")),
    ("PyTorch op: recording, over the bare op", at_least(4, "x torch.profiler's speed")),
    ("PyTorch op: over the no-op callback, with", at_most(6, "x floor")),
    ("PyTorch op: over the no-op callback", at_most(2, "x floor")),
    ("FunctionEvents made", at_least(500, "x torch.profiler's speed")),
    ("EventList", at_least(100, "x torch's speed")),
    ("training example, on: wall", at_most(1.01, "x off")),
    ("training example, on: processor", at_most(1.03, "x off")),
    ("LTTng-UST", at_least(3, "x a scope of Ferret's")),
    ("growth with", at_most(1.1, "as exponent; 1 is linear")),
    ("memory grown in scopes", at_most(8, "MiB")),
    ("memory grown over", at_most(1, "MiB")),
)


def aim_of(row):
    if row.measure is None:
        return None
    return next((aim for beginning, aim in AIMS if row.what.startswith(beginning)), None)

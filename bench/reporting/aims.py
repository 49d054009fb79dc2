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
    ("scope, on", at_most(1.10, "x floor")),
    ("op scope, on", at_most(1.15, "x floor")),
    ("scope with a dynamic name", at_most(3, "x floor")),
    ("scope, dropped and counted", at_most(1, "x floor")),
    ("scope, off", at_most(0.5, "ns over an empty loop")),
    ("drain alone", at_most(26, "ns an event")),
    ("the same, every event linked", at_most(50, "ns an event")),
    ("sustained, paced", at_least(19.9, "M events/s")),
    ("table exporter, names not", at_most(50, "ns an event")),
    ("table exporter", at_most(10, "ns an event")),
    ("chrome_trace exporter: BM_Text", at_most(150, "ns an event")),
    ("OTLP: a span encoded", at_least(3, "x libprotobuf's speed")),
    ("PyTorch op: the same with the stack", at_least(1, "x torch.profiler's speed")),
    ("PyTorch op: recorded, built", at_least(10, "x torch.profiler's speed")),
    ("PyTorch op: over the no-op callback, with", at_most(6, "x floor")),
    ("PyTorch op: over the no-op callback", at_most(2, "x floor")),
    ("PyTorch op", at_least(2, "x torch.profiler's speed")),
    ("EventList", at_least(100, "x torch's speed")),
    ("LTTng-UST", at_least(3, "x a scope of Ferret's")),
    ("growth with", at_most(1.1, "as exponent; 1 is linear")),
    ("memory grown", at_most(1, "MiB")),
)


def aim_of(row):
    if row.measure is None:
        return None
    return next((aim for beginning, aim in AIMS if row.what.startswith(beginning)), None)

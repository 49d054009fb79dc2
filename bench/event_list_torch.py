# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""torch's own EventList on the events of event_list.cc: tree, key_averages and table, in nanoseconds an event.

    python event_list_torch.py EVENT_LIST_PROGRAM [--events N] [--program-events N]

Checks first that both print the same table of the same N events. Then the program is timed on many more, because that
is what it is for, and torch on N; the ratio is that of the times per event.
"""

import argparse
import subprocess
import sys
import time

from torch.autograd.profiler_util import EventList, FunctionEvent

OPS = 9
EVENTS_IN_STEP = 1 + 4 * OPS
STEP_NS = 1_000_000


def steps(count):
    """The same events as Steps in event_list.cc, in the same order."""
    def event(event_id, name, start_ns, end_ns):
        return FunctionEvent(id=event_id, name=name, thread=1, start_us=start_ns / 1000, end_us=end_ns / 1000,
                             input_shapes=[], stack=[], overload_name="", flops=0)

    events = []
    step = 0
    while step * EVENTS_IN_STEP < count:
        start = step * STEP_NS
        first = step * EVENTS_IN_STEP + 1
        for op in range(OPS):
            at = start + 100_000 * op + step % 1000
            op_id = first + 1 + 4 * op
            name = f"aten::operator{op}"
            events.append(event(op_id + 1, name + "_first", at + 5_000, at + 31_000 + 100 * op))
            events.append(event(op_id + 3, name + "_inner", at + 50_000, at + 70_123 + 100 * op))
            events.append(event(op_id + 2, name + "_second", at + 40_000, at + 80_000))
            events.append(event(op_id, name, at, at + 90_000))
        events.append(event(first, "ProfilerStep*", start, start + STEP_NS))
        step += 1
    # As torch.profiler does before it makes the list.
    events.sort(key=lambda one: [one.time_range.start, -one.time_range.end])
    return events


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--program-events", type=int, default=10_000_000)
    args = parser.parse_args()

    events = EventList(steps(args.events))
    laps = [time.process_time()]
    events._build_tree()
    laps.append(time.process_time())
    averages = events.key_averages()
    laps.append(time.process_time())
    table = averages.table(sort_by="self_cpu_time_total")
    laps.append(time.process_time())
    ours = subprocess.run([args.program, str(args.events), "--table"], stdout=subprocess.PIPE, check=True, text=True)
    if ours.stdout != table:
        sys.exit(f"not the same table:\n{table}\n{ours.stdout}")

    theirs = (laps[-1] - laps[0]) * 1e9 / len(events)
    parts = [f"{(end - begin) * 1e9 / len(events):.1f}" for begin, end in zip(laps, laps[1:])]
    print(f"torch: events={len(events)} tree_ns={parts[0]} averages_ns={parts[1]} table_ns={parts[2]} "
          f"total_ns={theirs:.1f}")
    line = subprocess.run([args.program, str(args.program_events)], stdout=subprocess.PIPE, check=True,
                          text=True).stdout.strip()
    fields = dict(field.split("=") for field in line.split())
    print(f"ferret: {line}")
    print(f"ratio={theirs / float(fields['total_ns']):.0f}")


if __name__ == "__main__":
    main()

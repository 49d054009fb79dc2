# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The same events in torch's EventList and in ours: same tree, times, memory, stacks, averages, tables.

    python torch_parity_test.py LIST_OF_LINES_PROGRAM
"""

import random
import re
import subprocess
import sys

from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEvent

DEVICES = {"cuda": DeviceType.CUDA}


def random_tree(rng, events, start, end, thread, depth):
    """Events inside [start, end), in the style of a profiler: mostly nested, some cut across."""
    while start < end - 1 and len(events) < 200 * thread:
        first = start + rng.random() * (end - start) / 3
        last = first + rng.random() * (end - first) * rng.choice((0.3, 1.0, 1.0, 1.2))
        first, last = round(first, 3), round(last, 3)
        events.append({"name": f"aten::op{rng.randrange(8)}", "thread": thread, "start_us": first, "end_us": last})
        if depth > 0 and rng.random() < 0.7:
            random_tree(rng, events, first, last, thread, depth - 1)
        start = last


def random_events(rng, use_device):
    events = []
    for thread in (1, 2, 3):
        random_tree(rng, events, 0.0, 3_000_000.0 if thread == 2 else 10_000.0, thread, 5)
    for number, event in enumerate(events):
        event["id"] = number + 1
        event["sequence_nr"] = rng.randrange(50) if rng.random() < 0.5 else -1
        # One node for each thread: torch splits a thread's events wherever the node changes.
        event["node_id"] = 7 if event["thread"] == 3 else -1
        event["stack"] = [f"model.py({number}): f{rng.randrange(3)}", "train.py(1): main"]
        event["input_shapes"] = [[rng.randrange(3), 4]] if rng.random() < 0.5 else []
        event["overload_name"] = rng.choice(("", "Tensor", "out"))
        event["cpu_memory_usage"] = rng.randrange(-5000, 5_000_000)
        event["device_memory_usage"] = rng.randrange(0, 5000) if use_device else 0
        kind = rng.random()
        if kind < 0.1:
            event.update(is_async=True)
        elif kind < 0.2:
            event.update(is_user_annotation=True)
        elif kind < 0.3:
            event.update(scope=1, fwd_thread=rng.choice((1, 2)), sequence_nr=rng.randrange(50),
                         name="XBackward%d" % rng.randrange(3))
        elif kind < 0.5 and use_device:
            # Names of their own: of a removed duplicate torch forgets its parent's kernels, we do not.
            event.update(name=f"launch{number}", kernels=[rng.randrange(1, 9000) / 4 for _ in range(rng.randrange(3))])
        elif kind < 0.6 and use_device:
            event.update(device_type=DEVICES[use_device], name=f"kernel{rng.randrange(3)}", cpu_memory_usage=0,
                         device_memory_usage=0)
    # As torch.profiler hands them over.
    events.sort(key=lambda event: [event["start_us"], -event["end_us"]])
    return events


def torch_list(events, use_device, memory):
    made = []
    for event in events:
        fields = {key: value for key, value in event.items() if key != "kernels"}
        one = FunctionEvent(use_device=use_device, flops=0, **fields)
        for duration in event.get("kernels", []):
            one.append_kernel("kernel", 0, duration)
        made.append(one)
    result = EventList(made, use_device=use_device, profile_memory=memory)
    result._build_tree()
    return result


def run_ours(program, events, use_device, memory):
    lines = [f"{1 if use_device else 0} {int(memory)} 0"]
    for event in events:
        fields = []
        for key, value in event.items():
            if key == "input_shapes":
                value = "|".join("x".join(map(str, shape)) for shape in value)
            elif isinstance(value, list):
                value = "|".join(map(str, value))
            elif isinstance(value, (bool, DeviceType)):
                value = int(value) if isinstance(value, bool) else 1
            fields.append(f"{key}={value}")
        lines.append("\t".join(fields))
    return subprocess.run([program], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, check=True,
                          text=True).stdout


def describe(events):
    lines = []
    for event in events:
        parent = 0 if event.cpu_parent is None else event.cpu_parent.id
        lines.append(f"{event.id} {parent} {event.cpu_time_total:.3f} {event.self_cpu_time_total:.3f} "
                     f"{event.device_time_total:.3f} {event.self_device_time_total:.3f} "
                     f"{event.self_cpu_memory_usage} {event.self_device_memory_usage} {'|'.join(event.stack)}")
    return "\n".join(lines) + "\n"


def tables(events):
    yield "", events.key_averages().table()
    yield "count", events.key_averages().table(sort_by="count", time_unit="ms")
    yield "", events.key_averages(group_by_input_shapes=True).table()
    yield "cpu_memory_usage", events.key_averages(group_by_input_shapes=True, group_by_overload_name=True).table(
        sort_by="cpu_memory_usage", time_unit="us")
    yield "", events.key_averages(group_by_stack_n=2).table(time_unit="s")


def cells(text):
    """Values only: torch lets a header of more than 12 characters push what is right of it out of its column."""
    return [re.split(r" +", line.strip()) for line in text.splitlines() if not line.startswith("--")]


def same(ours, theirs):
    """Equal, or times and shares that differ by one in the last digit: torch adds floats, we add nanoseconds."""
    if ours == theirs:
        return True
    number = re.compile(r"(-?\d+)\.(\d+)(s|ms|us|%|)")
    a, b = number.fullmatch(ours), number.fullmatch(theirs)
    return (a is not None and b is not None and a[3] == b[3] and len(a[2]) == len(b[2]) and
            abs(int(a[1] + a[2]) - int(b[1] + b[2])) <= 1)


def check(what, ours, theirs):
    if len(ours) != len(theirs):
        sys.exit(f"{what}: {len(ours)} lines, torch has {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if len(a) != len(b) or not all(map(same, a, b)):
            sys.exit(f"{what}, line {number}:\nours:   {a}\ntorch:  {b}")


def main():
    program = sys.argv[1]
    compared = 0
    for seed in range(30):
        rng = random.Random(seed)
        use_device = "cuda" if seed % 2 else None
        memory = seed % 3 == 0
        events = random_events(rng, use_device)
        theirs = torch_list(events, use_device, memory)
        ours = run_ours(program, events, use_device, memory).split("#### ")
        check(f"seed {seed}, events", cells(ours[0]), cells(describe(theirs)))
        for number, (sort_by, table) in enumerate(tables(theirs)):
            title, _, own = ours[1 + number].partition("\n")
            assert title == sort_by, title
            if not use_device and number < 3:  # with "us" forced, torch's figures push one another aside
                check(f"seed {seed}, table {number}, rules", own.splitlines()[0:1], table.splitlines()[0:1])
            check(f"seed {seed}, table {number}", cells(own), cells(table))
            compared += 1
        total = theirs.total_average()
        expected = (f"{total.count} {total.cpu_time_total:.3f} {total.self_cpu_time_total:.3f} "
                    f"{total.device_time_total:.3f} {total.self_device_time_total:.3f}")
        check(f"seed {seed}, total", cells(ours[-1].partition("\n")[2]), cells(expected))
        assert len(theirs) > 100 and any(event.cpu_parent for event in theirs)
    assert compared == 150
    print("PASSED")


if __name__ == "__main__":
    main()

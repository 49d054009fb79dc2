# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What torch.profiler takes to make FunctionEvents of what it has recorded, in nanoseconds an event.

    python function_events_torch.py [--ops N]
"""

import argparse
import time

import torch
from torch.profiler import ProfilerActivity, profile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ops", type=int, default=20_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    x, y = torch.zeros(4), torch.ones(4)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(options.ops):
            x.add_(y)
    start = time.process_time_ns()
    events = recorded.events()
    spent = time.process_time_ns() - start
    print(f"events={len(events)} ns={spent / len(events):.1f}")


if __name__ == "__main__":
    main()

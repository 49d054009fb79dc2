# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Programs for details_test.py.

    python3 details_programs.py NAME ARGUMENT...
"""
import gc
import json
import sys
import threading
import weakref

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


def references(_):
    """Tensors are gone as soon as the program lets go of them."""
    dead = []
    x = torch.randn(1000)
    weak = weakref.ref(x, dead.append)
    with record_function("uses"):
        (x + 1).sum()
        torch.cat([x, x])
    del x
    print(json.dumps({"dead": weak() is None and len(dead) == 1}))


def symbols(_):
    """Sizes that are symbols; PyTorch traces the function with them."""
    compiled = torch.compile(lambda x: (x @ x.t()).sum(), backend="eager", dynamic=True)
    with record_function("symbols"):
        print(compiled(torch.ones(4, 3)).item(), compiled(torch.ones(5, 3)).item())
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    shapes = ShapeEnv()
    with FakeTensorMode(shape_env=shapes):
        torch.empty(shapes.create_unbacked_symint(), 3)
    print("done")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x + 1).relu()


def decorator(function):
    return lambda *arguments: function(*arguments)


@decorator
def decorated(x):
    return x.mul(2)


def generated(x):
    yield x.add(3)


def naïve_名(x):
    return x.sub(1)


def stacks(path):
    """Under torch.profiler; what it says of the operators, by start, goes to `path`: [[name, [frame, …]], …]."""
    model, x = Block(), torch.randn(2, 3)

    def train():
        with record_function("annotation"):
            model(x).sum().backward()
        decorated(x)
        naïve_名(x)
        list(generated(x))
        sorted([3, 1, 2], key=lambda i: x.div(i).sum().item())
        [x.exp() for _ in range(2)]

    config = torch._C._profiler._ExperimentalConfig(verbose=True)
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, experimental_config=config) as profiler:
        with record_function("stacks"):
            train()
    with open(path, "w", encoding="utf-8") as out:
        json.dump([[e.name, e.stack] for e in profiler.events() if not e.is_python_function], out)


def stacks_on_threads(_):
    """Each with its own, and one of PyTorch's that runs no Python."""
    def first():
        for _ in range(200):
            torch.ones(3).sin()

    def second():
        for _ in range(200):
            torch.ones(3).cos()

    threads = [threading.Thread(target=f) for f in (first, second, first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def recursion(depth):
        return torch.ones(3).tan() if depth == 0 else recursion(depth - 1)

    recursion(300)


def forgets_functions(_):
    """Functions that come and go, and whose memory is used again by others."""
    for i in range(2000):
        scope = {"torch": torch, "x": torch.ones(1)}
        # Names of one length that nobody else has: their memory, too, is used again, by the next ones.
        exec(compile(f"def f{i:04}():\n    with torch.profiler.record_function('in f{i:04} of m{i:04}'):\n"
                     f"        pass\n", f"/nowhere/m{i:04}.py", "exec"), scope)
        scope[f"f{i:04}"]()
        del scope
        if i % 100 == 0:
            gc.collect()


def memory(path):
    """One thread, under torch.profiler with profile_memory, which writes its trace to `path`."""
    def train():
        model, x = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8)), torch.randn(4, 8)
        for _ in range(3):
            model(x).sum().backward()

    train()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        with record_function("memory"):
            train()
    profiler.export_chrome_trace(path)


def allocates_on_threads(_):
    def allocate(numbers):
        for _ in range(100):
            torch.empty(numbers)

    for numbers in (1000, 2000, 3000):
        thread = threading.Thread(target=allocate, args=(numbers,))
        thread.start()
        thread.join()


if __name__ == "__main__":
    globals()[sys.argv[1]](*(sys.argv[2:] or [None]))

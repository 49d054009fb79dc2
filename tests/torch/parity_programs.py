# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Small trainings, each run under torch.profiler inside of an annotation "parity:NAME".

    python3 parity_programs.py FOLDER NAME...      writes FOLDER/NAME.json, torch.profiler's trace of each
"""
import pathlib
import runpy
import sys
import threading
import warnings

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def mlp(width=8):
    return nn.Sequential(nn.Linear(width, 2 * width), nn.Tanh(), nn.Linear(2 * width, width))


@program
def charlm():
    sys.argv = ["train_charlm.py", "--steps", "12"]
    path = pathlib.Path(__file__).resolve().parents[2] / "examples" / "train_charlm.py"
    runpy.run_path(str(path), run_name="__main__")


@program
def lstm():
    model, head = nn.LSTM(6, 12, num_layers=2, batch_first=True, dropout=0.1), nn.Linear(12, 3)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
    for _ in range(3):
        output, _ = model(torch.randn(4, 9, 6))
        loss = nn.functional.cross_entropy(head(output[:, -1]), torch.randint(3, (4,)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@program
def convolution():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten())
    for _ in range(2):
        model(torch.randn(2, 3, 10, 10)).square().mean().backward()
    with torch.no_grad():
        model(torch.randn(2, 3, 10, 10))
    with torch.inference_mode():
        model.eval()(torch.randn(2, 3, 10, 10))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with record_function("cube's backward"):
            return 3 * x * x * gradient


@program
def custom_function():
    x = torch.randn(5, requires_grad=True)
    for _ in range(2):
        (Cube.apply(Cube.apply(x)) * x).sum().backward()


@program
def checkpoint_reentrant():
    model, x = mlp(), torch.randn(4, 8, requires_grad=True)
    for _ in range(2):
        checkpoint(model, checkpoint(model, x, use_reentrant=True), use_reentrant=True).sum().backward()


@program
def checkpoint_without_reentrance():
    model, x = mlp(), torch.randn(4, 8, requires_grad=True)
    for _ in range(2):
        checkpoint(model, checkpoint(model, x, use_reentrant=False), use_reentrant=False).sum().backward()


@program
def double_backward():
    model, x = mlp(), torch.randn(4, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
    ((gradient.norm(dim=1) - 1) ** 2).mean().backward()


@program
def retain_graph():
    x = torch.randn(6, requires_grad=True)
    y = (x.exp() * x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()


@program
def optimizers():
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad):
        for kind in ({"foreach": True}, {"foreach": False}):
            model = mlp()
            optimizer = make(model.parameters(), lr=0.01, **kind)
            for _ in range(2):
                optimizer.zero_grad(set_to_none=False)
                model(torch.randn(2, 8)).sum().backward()
                optimizer.step()
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()


@program
def three_threads():
    def train(seed):
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(20):
            optimizer.zero_grad()
            with record_function(f"thread {seed}"):
                model(torch.randn(4, 8)).square().sum().backward()
            optimizer.step()

    threads = [threading.Thread(target=train, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@program
def graph_across_threads():
    """Forward on one thread, backward on another."""
    model, made = mlp(), []
    thread = threading.Thread(target=lambda: made.append(model(torch.randn(4, 8)).sum()))
    thread.start()
    thread.join()
    made[0].backward()


@program
def script_and_transforms():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(mlp())
        for _ in range(3):
            scripted(torch.randn(4, 8)).sum().backward()
    torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(torch.randn(3, 4))
    torch.func.jacrev(lambda x: x.square())(torch.randn(3))


@program
def odd_names():
    """Accessors that PyTorch shows to no observer, and annotations that are called like them."""
    x = torch.randn(3, requires_grad=True)
    y = x * 2
    for op in (torch.ops.aten.is_leaf, torch.ops.aten.output_nr, torch.ops.aten._version, torch.ops.aten.size):
        op(y)
    for name in ("aten::is_leaf", "aten::output_nr", "aten::_version", "profiler::_record_function_exit", "x", "",
                 "ProfilerStep", "a name of more than two hundred and fifty-five characters: " + 250 * "long ",
                 "autograd::engine::evaluate_function: Mine", "Optimizer.step#mine"):
        with record_function(name):
            y.sum()
    for i in range(300):
        with record_function(f"annotation {i}"):
            pass


def run(name, folder):
    torch.manual_seed(0)
    everything = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with profile(activities=[ProfilerActivity.CPU], experimental_config=everything) as profiler:
        with record_function(f"parity:{name}"):
            PROGRAMS[name]()
    profiler.export_chrome_trace(str(pathlib.Path(folder) / f"{name}.json"))


if __name__ == "__main__":
    out, *names = sys.argv[1:]
    for each in names:
        run(each, out)

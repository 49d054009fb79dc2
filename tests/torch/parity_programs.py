# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Small trainings, each run under torch.profiler inside of an annotation "parity:NAME".

    python3 parity_programs.py [--shapes] FOLDER NAME...

writes FOLDER/NAME.json, torch.profiler's trace of each; with the arguments of operators if --shapes is given, and then
FOLDER/NAME.events as well, what the trace does not say: [[name, start, thread, forward thread, number, scope, async], …].
"""
import json
import pathlib
import runpy
import sys
import threading
import warnings

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
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


@program
def unusual_arguments():
    """Of every kind that operators take."""
    x = torch.randn(2, 3, requires_grad=True)
    everything = [
        nn.functional.gelu(x, approximate="tanh"),
        x.add(1, alpha=2.5),
        x.sum(dim=[0, 1]),
        x.detach().reshape([1] * 40 + [6]),
        torch.stack([x] * 40),
        torch.cat([x] * 30),
        torch.cat([x] * 31),
        x[torch.tensor([0, 1])],
        x[:, None, torch.tensor([0, 2])],
        x.to(torch.bfloat16),
        x.to(torch.float64).to(torch.float16),
        x.clamp(min=float("-inf")),
        x.clamp(max=1e-30),
        x * float("nan"),
        torch.einsum("ij,ij->i", x, x),
        nn.functional.interpolate(x[None, None], scale_factor=[1.5, 1.5]),
        x.masked_fill(torch.ones(2, 3, dtype=torch.bool), -1e30),
        x.t().contiguous(),
        x.as_strided((2, 2), (0, 1)),
        torch.empty(0, 3, dtype=torch.int16),
        torch.zeros(2, dtype=torch.complex64) * torch.ones(2),
        torch.arange(5, dtype=torch.uint8).to(torch.int8).to(torch.int32),
        torch.full((2,), 2**62),
        nn.functional.pad(x, [1, 2, 0, 0]),
        torch.histc(x.detach(), bins=4),
        torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"),
        torch.empty_like(x, memory_format=torch.preserve_format),
    ]
    torch._foreach_add([t for t in everything if torch.is_tensor(t) and t.is_floating_point()], 1.0)
    x.exp().sum().backward()


@program
def unusual_tensors():
    """Whose sizes are no plain integers, or are asked for in unusual ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.eye(3)
        x.to_sparse().coalesce().to_dense()
        x.to_sparse_csr().matmul(x)
        parts = [torch.randn(2, 3), torch.randn(4, 3)]
        for layout in (torch.strided, torch.jagged):
            nested = torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)
            (nested * 2).sin()
        torch.func.vmap(lambda a: (a @ a).sum())(torch.randn(2, 3, 3))
        torch.func.grad(lambda a: a.sin().sum())(x)
        torch.func.functionalize(lambda a: a.add(1).add_(2))(x)
        with FakeTensorMode() as mode:
            mode.from_tensor(x).matmul(mode.from_tensor(x))
        torch.empty(3, device="meta").add(1)
        (Recounted(x) + 1).sum()
    for _ in range(5):
        torch.ones(3).add_(1)


class Recounted(torch.Tensor):
    """A class that answers for its sizes itself."""

    @staticmethod
    def __new__(cls, inner):
        wrapper = torch.Tensor._make_wrapper_subclass(cls, inner.size(), dispatch_sizes_strides_policy="sizes",
                                                      dtype=inner.dtype)
        wrapper.inner = inner
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def plain(value):
            return value.inner if isinstance(value, cls) else value

        if function is torch.ops.aten.sym_size.default:
            return plain(args[0]).size()
        if function is torch.ops.aten.sym_stride.default:
            return plain(args[0]).stride()
        return function(*map(plain, args), **(kwargs or {}))


def run(name, folder, shapes):
    torch.manual_seed(0)
    everything = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=shapes, with_flops=shapes,
                 experimental_config=everything) as profiler:
        with record_function(f"parity:{name}"):
            PROGRAMS[name]()
    profiler.export_chrome_trace(str(pathlib.Path(folder) / f"{name}.json"))
    if shapes:
        events = [[e.name(), e.start_ns(), e.start_thread_id(), e.fwd_thread_id(), e.sequence_nr(), e.scope(), e.is_async()]
                  for e in profiler.profiler.kineto_results.events()]
        (pathlib.Path(folder) / f"{name}.events").write_text(json.dumps(events), encoding="utf-8")


if __name__ == "__main__":
    with_shapes = sys.argv[1] == "--shapes"
    out, *names = sys.argv[2 if with_shapes else 1:]
    for each in names:
        run(each, out, with_shapes)

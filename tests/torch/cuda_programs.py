# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs on a CUDA that stands in: python3 cuda_programs.py NAME STAND_IN DRIVER

Each prints one line of JSON."""
import ctypes
import json
import os
import sys
import threading

# Before PyTorch, as a PyTorch with CUDA would have it.
stand_in = ctypes.CDLL(sys.argv[2], ctypes.RTLD_GLOBAL)
stand_in.stand_in_stream.restype = ctypes.c_void_p
stand_in.stand_in_use_stream.argtypes = [ctypes.c_void_p]
stand_in.stand_in_asked.restype = ctypes.c_uint64
stand_in.stand_in_events_created.restype = ctypes.c_uint64
if stand_in.stand_in_begin(os.fsencode(sys.argv[3])) != 0:
    sys.exit("no fake driver")

import torch
from torch.profiler import record_function

LEGACY = 1


def runtime():
    """Ferret's, which is in the process under `ferret run`."""
    library = ctypes.CDLL("libferret.so", os.RTLD_NOLOAD | os.RTLD_LAZY)
    library.ferret_device_timed.restype = library.ferret_device_lost.restype = ctypes.c_uint64
    library.ferret_cuda_prepare.argtypes = [ctypes.c_void_p]
    return library


def prepare(ferret, stream):
    """Waits for the events of the stream's context; each call waits a while."""
    for _ in range(600):
        if ferret.ferret_cuda_prepare(stream):
            return
    sys.exit("there are no events")


def whole_steps(ferret, step, wanted=3):
    """Runs steps until so many had none of their scopes refused, which is so once there are events enough; their
    numbers."""
    whole = []
    for number in range(500):
        before = ferret.ferret_device_lost(None)
        with record_function(f"step {number}"):
            step()
        if ferret.ferret_device_lost(None) == before:
            whole.append(number)
        if len(whole) == wanted:
            break
    return whole


def train():
    """A small MLP."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(4, 8), torch.randn(4, 1)
    model(x).sum().backward()  # makes the gradients

    def step():
        with record_function("forward"):
            loss = torch.nn.functional.mse_loss(model(x.view(2, 2, 8).view(4, 8)), y)
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    ferret = runtime()
    asked = stand_in.stand_in_asked()
    if os.environ["FERRET_CUDA"] == "scopes":
        for number in range(3):
            with record_function(f"step {number}"):
                step()
        return {"asked": stand_in.stand_in_asked(), "events": stand_in.stand_in_events_created(), "whole": [0, 1, 2]}
    prepare(ferret, stand_in.stand_in_stream())
    return {"whole": whole_steps(ferret, step), "asked": stand_in.stand_in_asked() - asked}


def default_stream():
    """PyTorch says null of the default stream."""
    prepare(runtime(), LEGACY)
    stand_in.stand_in_use_stream(None)
    with record_function("on the default stream"):
        torch.ones(4).add(1)
    return {}


def threads():
    """Only the first of two other threads uses CUDA."""
    ferret = runtime()
    prepare(ferret, stand_in.stand_in_stream())
    stand_in.stand_in_leave_context()

    def work(name, uses_cuda):
        if uses_cuda:
            stand_in.stand_in_enter_context()
        with record_function(name):
            torch.ones(4).add(1)

    for name, uses_cuda in (("with a context", True), ("without a context", False)):
        thread = threading.Thread(target=work, args=(name, uses_cuda))
        thread.start()
        thread.join()
    return {}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
